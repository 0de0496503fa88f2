/* GGUF's layout, clause by clause, from bytes put together here: what is right is read to the
 * last byte, what is wrong is refused by name, and what is cut off says so. */
#include "tests/conformance/gguf_bytes.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

static hn_heap heap;
static gguf_bytes b;

static void refused(hn_status code, const char *words)
{
    hn_gguf_part part;
    CHECK_FAILS(gguf_parse(&heap, &b, b.n, &part), code, words);
    CHECK_THAT(strstr(hn_error_message(), "x.gguf") != NULL, "no file in: %s",
               hn_error_message());
    gguf_drop(&part);
}

static bool accepted(hn_gguf_part *part) { return CHECK_OK(gguf_parse(&heap, &b, b.n, part)); }

/* "version: u32; 2 and 3 have one layout" */
static void check_versions(void)
{
    check_group("versions");
    for (uint32_t version = 2; version <= 3; version++) {
        hn_gguf_part part;
        gguf_begin(&b, version, 1, 1);
        gguf_int(&b, "k", HN_META_U32, 7);
        gguf_tensor(&b, "t", 4, 0, 0, 0);
        gguf_pad(&b, 32);
        gguf_fill(&b, 16);
        int64_t value = 0;
        if (accepted(&part)) {
            CHECK_INT(version, part.version);
            CHECK_OK(hn_meta_int(&part.meta, "k", 0, &value));
            CHECK_INT(7, value);
            CHECK_INT(1, (int64_t)part.n_tensors);
            CHECK_INT(16, (int64_t)part.tensors[0].bytes);
            CHECK_INT(1, part.tensors[0].data[0]);
            CHECK_INT(16, part.tensors[0].data[15]);
        }
        gguf_drop(&part);
    }
    gguf_begin(&b, 1, 0, 0);
    refused(HN_ERR_UNSUPPORTED, "GGUF version 1: expected 2 or 3");
    gguf_begin(&b, 4, 0, 0);
    refused(HN_ERR_UNSUPPORTED, "GGUF version 4");
    gguf_begin(&b, 0, 0, 0);
    refused(HN_ERR_UNSUPPORTED, "GGUF version 0");
    gguf_begin(&b, 0x03000000, 0, 0);
    refused(HN_ERR_UNSUPPORTED, "big-endian");
}

/* What is downloaded by mistake, in words. */
static void check_magic(void)
{
    static const struct {
        const char *begin, *words;
    } known[] = {
        { "<!DOCTYPE html><html>", "an HTML page" },
        { "<html>", "an HTML page" },
        { "version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer" },
        { "PK\x03\x04zip", "a zip or PyTorch archive" },
        { "\x1f\x8b\x08", "a gzip archive" },
        { "ggmlxxxx", "an old GGML file" },
        { "tjggxxxx", "an old GGJT file" },
        { "XXXXYYYY", "begins 58 58 58 58" },
        { "GG", "cut off: 2 bytes" },
        { "", "cut off: 0 bytes" },
    };
    check_group("magic");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        b.n = 0;
        for (const char *c = known[i].begin; *c; c++)
            gguf_put(&b, (uint8_t)*c, 1);
        refused(HN_ERR_FORMAT, known[i].words);
    }
}

static void check_scalars(void)
{
    static const struct {
        hn_meta_type type;
        uint64_t bits;
        int64_t value;
    } ints[] = {
        { HN_META_U8, 0xff, 255 },
        { HN_META_I8, 0x80, -128 },
        { HN_META_U16, 0xffff, 65535 },
        { HN_META_I16, 0x8000, -32768 },
        { HN_META_U32, 0xffffffff, 4294967295 },
        { HN_META_I32, 0x80000000, -2147483648LL },
        { HN_META_U64, INT64_MAX, INT64_MAX },
        { HN_META_I64, (uint64_t)INT64_MIN, INT64_MIN },
    };
    hn_gguf_part part;
    check_group("values");
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        int64_t value = 0;
        gguf_begin(&b, 3, 0, 1);
        gguf_int(&b, "k", ints[i].type, ints[i].bits);
        if (accepted(&part) && CHECK_OK(hn_meta_int(&part.meta, "k", 0, &value)))
            CHECK_INT(ints[i].value, value);
        gguf_drop(&part);
    }
    double number = 0;
    bool flag = false;
    hn_span text;
    int64_t whole;
    gguf_begin(&b, 3, 0, 5);
    gguf_int(&b, "f", HN_META_F32, 0x3fc00000);
    gguf_int(&b, "d", HN_META_F64, 0xc000000000000000);
    gguf_int(&b, "b", HN_META_BOOL, 1);
    gguf_key(&b, "s", HN_META_STRING);
    gguf_text(&b, "caf\xc3\xa9");
    gguf_int(&b, "big", HN_META_U64, UINT64_MAX);
    if (accepted(&part)) {
        CHECK(hn_meta_double(&part.meta, "f", 0, &number) == HN_OK && number == 1.5);
        CHECK(hn_meta_double(&part.meta, "d", 0, &number) == HN_OK && number == -2);
        CHECK(hn_meta_bool(&part.meta, "b", false, &flag) == HN_OK && flag);
        CHECK(hn_meta_string(&part.meta, "s", &text) == HN_OK && text.bytes == 5);
        CHECK_FAILS(hn_meta_int(&part.meta, "big", 0, &whole), HN_ERR_FORMAT, "key big");
        CHECK_FAILS(hn_meta_int(&part.meta, "b", 0, &whole), HN_ERR_FORMAT,
                    "expected an integer");
        CHECK_FAILS(hn_meta_want_int(&part.meta, "none", &whole), HN_ERR_FORMAT,
                    "key none is missing");
    }
    gguf_drop(&part);
}

/* "array: u32 item type, u64 count, items" */
static void check_arrays(void)
{
    hn_gguf_part part;
    check_group("arrays");
    for (hn_meta_type type = 0; type < HN_N_META_TYPES; type++) {
        if (type == HN_META_ARRAY)
            continue;
        gguf_begin(&b, 3, 0, 2);
        gguf_array(&b, "a", type, 3);
        for (int i = 0; i < 3; i++) {
            if (type == HN_META_STRING)
                gguf_text(&b, i == 1 ? "" : "xy");
            else
                gguf_put(&b, i == 1, (int)hn_meta_type_bytes(type));
        }
        gguf_array(&b, "none", type, 0);
        const hn_meta_value *value;
        if (accepted(&part) && CHECK_OK(hn_meta_array(&part.meta, "a", type, &value)) &&
            CHECK(value && value->n == 3)) {
            size_t at = 0;
            if (type == HN_META_STRING)
                for (int i = 0; i < 3; i++)
                    CHECK_INT(i == 1 ? 0 : 2, (int64_t)hn_meta_next_string(value, &at).bytes);
            else if (type != HN_META_BOOL && type != HN_META_F32 && type != HN_META_F64)
                CHECK_INT(1, hn_meta_item_int(value, 1));
            CHECK_OK(hn_meta_array(&part.meta, "none", type, &value));
            CHECK(value && value->n == 0);
        }
        gguf_drop(&part);
    }
    gguf_begin(&b, 3, 0, 1);
    gguf_array(&b, "deep", HN_META_ARRAY, 1);
    gguf_fill(&b, 32);
    refused(HN_ERR_UNSUPPORTED, "key deep: an array of arrays");
    gguf_begin(&b, 3, 0, 1);
    gguf_array(&b, "huge", HN_META_U64, UINT64_MAX / 4);
    gguf_fill(&b, 64);
    refused(HN_ERR_FORMAT, "key huge");
    gguf_begin(&b, 3, 0, 1);
    gguf_array(&b, "texts", HN_META_STRING, UINT64_MAX);
    gguf_text(&b, "one");
    refused(HN_ERR_FORMAT, "key texts: string 2");
}

static void check_bad_keys(void)
{
    check_group("keys");
    gguf_begin(&b, 3, 0, 2);
    gguf_int(&b, "k", HN_META_U8, 1);
    gguf_int(&b, "k", HN_META_U8, 1);
    refused(HN_ERR_FORMAT, "key k comes twice");
    gguf_begin(&b, 3, 0, 1);
    gguf_int(&b, "flag", HN_META_BOOL, 2);
    refused(HN_ERR_FORMAT, "key flag: a bool of value 2");
    gguf_begin(&b, 3, 0, 1);
    gguf_array(&b, "flags", HN_META_BOOL, 2);
    gguf_put(&b, 0x301, 2);
    refused(HN_ERR_FORMAT, "key flags: a bool of value 3");
    gguf_begin(&b, 3, 0, 1);
    gguf_key(&b, "odd", HN_N_META_TYPES);
    gguf_fill(&b, 16);
    refused(HN_ERR_FORMAT, "key odd: unknown value type 13");
    gguf_begin(&b, 3, 0, 1);
    gguf_int(&b, "", HN_META_U8, 1);
    refused(HN_ERR_FORMAT, "a key at byte 24 has 0 bytes");
    gguf_begin(&b, 3, 0, 1);
    gguf_int(&b, "a\nb", HN_META_U8, 1);
    refused(HN_ERR_FORMAT, "not printable UTF-8");
    gguf_begin(&b, 3, 0, 1);
    gguf_int(&b, "a\xff", HN_META_U8, 1);
    refused(HN_ERR_FORMAT, "not printable UTF-8");
    gguf_begin(&b, 3, 0, UINT64_MAX);
    refused(HN_ERR_FORMAT, "keys: expected at most");
    gguf_begin(&b, 3, UINT64_MAX, 0);
    refused(HN_ERR_FORMAT, "tensors: expected at most");
    gguf_begin(&b, 3, 1000, 0);
    refused(HN_ERR_FORMAT, "cut off, or damaged: 1000 tensors");
    gguf_begin(&b, 3, 0, 0);
    gguf_fill(&b, 9);
    refused(HN_ERR_FORMAT, "1 bytes are left over after the keys");
}

/* "general.alignment, default 32, a power of two"; the last tensor's padding may be missing */
static void check_alignment(void)
{
    static const uint32_t good[] = { 8, 16, 32, 64, 4096 };
    static const uint32_t bad[] = { 0, 1, 2, 3, 4, 33, 1 << 21 };
    hn_gguf_part part;
    check_group("alignment");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        for (int padded = 0; padded < 2; padded++) {
            const size_t a = good[i], second = (6 + a - 1) / a * a;
            gguf_begin(&b, 3, 2, 1);
            gguf_int(&b, "general.alignment", HN_META_U32, a);
            gguf_tensor(&b, "one", 3, 0, 1, 0);
            gguf_tensor(&b, "two", 5, 0, 1, second);
            gguf_pad(&b, a);
            const size_t data = b.n;
            gguf_fill(&b, second + 10);
            if (padded)
                gguf_pad(&b, a);
            if (accepted(&part)) {
                CHECK_INT(6, (int64_t)part.tensors[0].bytes);
                CHECK_INT((int64_t)second, part.tensors[1].data - part.tensors[0].data);
                CHECK_INT((uint8_t)(second + 1), part.tensors[1].data[0]);
                CHECK(!memcmp(part.tensors[0].data, b.data + data, 6));
            }
            gguf_drop(&part);
            if (!padded)
                continue;
            gguf_put(&b, 0, 1);
            refused(HN_ERR_FORMAT, "1 bytes are left over after tensor two");
        }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gguf_begin(&b, 3, 0, 1);
        gguf_int(&b, "general.alignment", HN_META_U32, bad[i]);
        refused(HN_ERR_FORMAT, "expected a power of two");
    }
}

static void one_tensor(uint64_t n, uint64_t m, uint32_t type, size_t bytes)
{
    gguf_begin(&b, 3, 1, 0);
    gguf_tensor(&b, "t", n, m, type, 0);
    gguf_pad(&b, 32);
    gguf_fill(&b, bytes);
}

static void check_tensors(void)
{
    hn_gguf_part part;
    check_group("tensors");
    gguf_begin(&b, 3, 2, 0);
    gguf_tensor(&b, "one", 8, 0, 0, 32);
    gguf_tensor(&b, "two", 8, 0, 0, 0);
    gguf_pad(&b, 32);
    gguf_fill(&b, 64);
    refused(HN_ERR_FORMAT, "tensor one: at byte 32 of the data: expected 0");
    one_tensor(0, 0, 0, 0);
    refused(HN_ERR_FORMAT, "tensor t: a dimension of 0");
    one_tensor(33, 0, 8, 64);
    refused(HN_ERR_FORMAT, "tensor t: rows of 33 are no multiple of Q8_0's blocks of 32");
    one_tensor(UINT64_C(1) << 62, UINT64_C(1) << 62, 0, 64);
    refused(HN_ERR_FORMAT, "tensor t");
    one_tensor(UINT64_MAX, 0, 0, 64);
    refused(HN_ERR_FORMAT, "tensor t: a dimension of");
    one_tensor(4, 0, 31, 64);
    refused(HN_ERR_UNSUPPORTED, "tensor t: type 31 (Q4_0_4_4) is not supported");
    one_tensor(4, 0, 99, 64);
    refused(HN_ERR_UNSUPPORTED, "tensor t: type 99 is not supported");
    one_tensor(1000, 0, 0, 64);
    refused(HN_ERR_FORMAT, "cut off: tensor t: 3936 bytes past the end of the file");
    for (uint32_t rank = 0; rank <= 5; rank += 5) {
        gguf_begin(&b, 3, 1, 0);
        gguf_text(&b, "t");
        gguf_put(&b, rank, 4);
        gguf_fill(&b, 80);
        refused(HN_ERR_FORMAT, "dimensions: expected 1 to 4");
    }
    /* listed, though hone cannot compute with it */
    one_tensor(256, 2, 16, 132);
    if (accepted(&part)) {
        hn_weights all = { .name = "x.gguf", .entries = part.tensors, .n = 1 };
        const hn_weight_entry *found;
        CHECK_TEXT("IQ2_XXS", part.tensors[0].encoding);
        CHECK_INT(132, (int64_t)part.tensors[0].bytes);
        CHECK_INT(2, part.tensors[0].type.dim[0]);
        CHECK_INT(256, part.tensors[0].type.dim[1]);
        CHECK_OK(hn_weights_index(&heap, &all));
        CHECK_FAILS(hn_weights_want(&all, "t", &found), HN_ERR_UNSUPPORTED,
                    "tensor t: type IQ2_XXS is not supported");
        CHECK_FAILS(hn_weights_want(&all, "u", &found), HN_ERR_FORMAT, "tensor u is missing");
        hn_free(&heap, all.index);
    }
    gguf_drop(&part);
    gguf_begin(&b, 3, 2, 0);
    gguf_tensor(&b, "t", 8, 0, 0, 0);
    gguf_tensor(&b, "t", 8, 0, 0, 32);
    gguf_pad(&b, 32);
    gguf_fill(&b, 64);
    if (accepted(&part)) {
        hn_weights all = { .name = "x.gguf", .entries = part.tensors, .n = 2 };
        CHECK_FAILS(hn_weights_index(&heap, &all), HN_ERR_FORMAT, "tensor t comes twice");
        hn_free(&heap, all.index);
    }
    gguf_drop(&part);
}

/* Every beginning of a right file is told to be cut off, not to be wrong. */
static void check_cut_off(void)
{
    hn_gguf_part part;
    check_group("cut off");
    gguf_begin(&b, 3, 2, 3);
    gguf_int(&b, "general.alignment", HN_META_U32, 64);
    gguf_array(&b, "texts", HN_META_STRING, 2);
    gguf_text(&b, "one");
    gguf_text(&b, "two");
    gguf_array(&b, "numbers", HN_META_I16, 5);
    gguf_fill(&b, 10);
    gguf_tensor(&b, "first", 40, 0, 0, 0);
    gguf_tensor(&b, "second", 32, 3, 8, 192);
    gguf_pad(&b, 64);
    gguf_fill(&b, 192 + 102);
    if (accepted(&part))
        CHECK_INT(2, (int64_t)part.n_tensors);
    gguf_drop(&part);
    for (size_t n = 0; n < b.n; n++) {
        CHECK_FAILS(gguf_parse(&heap, &b, n, &part), HN_ERR_FORMAT, "cut off");
        gguf_drop(&part);
    }
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    check_versions();
    check_magic();
    check_scalars();
    check_arrays();
    check_bad_keys();
    check_alignment();
    check_tensors();
    check_cut_off();
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
