/* GGUF on disk: split models, writing what was read, and 11,000 damaged copies of a model: each
 * gives a clear error or the same tensors, in memory that is bounded by the file. */
#include "base/file.h"
#include "base/rng.h"
#include "io/gguf.h"
#include "io/gguf_part.h"
#include "io/weights_writer.h"
#include "models/models.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static hn_heap heap;
static char dir[] = "/tmp/hone-gguf-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[4][256];
    static int i;
    i = (i + 1) % 4;
    snprintf(path[i], sizeof path[i], "%s/%s", dir, name);
    return path[i];
}

static bool exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

/* A file of `n` tensors named from `first` on: f32, q8_0, q4_k and a type that is only listed.
 */
static void write_file(const char *path, const hn_meta *meta, int first, int n)
{
    static const char *const encodings[] = { "F32", "Q8_0", "Q4_K", "IQ2_XXS" };
    static const hn_dtype dtypes[] = { HN_F32, HN_TYPE_q8_0, HN_TYPE_q4_k, HN_N_DTYPES };
    hn_weight_entry entries[8] = { 0 };
    char names[8][32];
    uint8_t bytes[2048];
    hn_weights_writer *writer;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31);
    for (int i = 0; i < n; i++) {
        const int64_t dim[] = { 1 + i % 2, 256 };
        snprintf(names[i], sizeof names[i], "blk.%d.weight", first + i);
        entries[i].name = names[i];
        entries[i].encoding = encodings[i % 4];
        if (dtypes[i % 4] < HN_N_DTYPES)
            CHECK_OK(hn_type_make(&entries[i].type, dtypes[i % 4], 2, dim));
        else
            entries[i].type =
                (hn_type){ .dtype = HN_N_DTYPES, .rank = 2, .dim = { dim[0], 256 } };
    }
    if (!CHECK_OK(hn_gguf_create(&heap, hn_sink_own(path), meta, entries, (size_t)n, &writer)))
        return;
    for (size_t i = 0; i < (size_t)n; i++)
        CHECK_OK(hn_weights_writer_put(writer, i, 0, bytes,
                                       (size_t)hn_weights_writer_bytes(writer, i)));
    CHECK_OK(hn_weights_writer_finish(writer));
}

static void write_part_saying(const char *key, const char *text, const char *name, int no, int count, int tensors, int first, int n)
{
    hn_meta meta = hn_meta_on(&heap, "meta");
    CHECK_OK(key ? hn_meta_set_text(&meta, key, text) : HN_OK);
    CHECK_OK(hn_meta_set_int(&meta, "split.no", HN_META_U16, no));
    CHECK_OK(hn_meta_set_int(&meta, "split.count", HN_META_U16, count));
    CHECK_OK(hn_meta_set_int(&meta, "split.tensors.count", HN_META_I32, tensors));
    write_file(path_of(name), &meta, first, n);
    hn_meta_free(&meta);
}

static void write_part(const char *name, int no, int count, int tensors, int first, int n)
{
    write_part_saying(no ? NULL : "general.architecture", "llama", name, no, count, tensors, first, n);
}

static void fails(const char *name, hn_status code, const char *words)
{
    hn_gguf *gguf;
    CHECK_FAILS(hn_gguf_open(&heap, path_of(name), &gguf), code, words);
    CHECK(gguf == NULL);
}

/* "names -%05d-of-%05d.gguf, from 1; split.no from 0" */
static void check_split(void)
{
    static const char *const names[] = { "m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                                         "m-00003-of-00003.gguf" };
    check_group("split");
    for (int i = 0; i < 3; i++)
        write_part(names[i], i, 3, 6, 2 * i, 2);
    for (int i = 0; i < 3; i++) {
        hn_gguf *gguf;
        if (!CHECK_OK(hn_gguf_open(&heap, path_of(names[i]), &gguf)))
            continue;
        CHECK_INT(3, hn_gguf_parts(gguf));
        CHECK_INT(6, (int64_t)hn_gguf_weights(gguf)->n);
        CHECK(hn_meta_find(hn_gguf_meta(gguf), "general.architecture") != NULL);
        CHECK(hn_meta_find(hn_gguf_meta(gguf), "split.count") == NULL);
        for (int t = 0; t < 6; t++) {
            char name[32];
            snprintf(name, sizeof name, "blk.%d.weight", t);
            const hn_weight_entry *e = hn_weights_find(hn_gguf_weights(gguf), name);
            CHECK(e && e->part == t / 2 && e->data[0] == 0 && e->data[1] == 31);
        }
        hn_gguf_close(gguf);
    }
    hn_gguf *same; /* the first part's keys count: another's were read past */
    write_part_saying("general.architecture", "llama", names[1], 1, 3, 6, 2, 2);
    if (CHECK_OK(hn_gguf_open(&heap, path_of(names[0]), &same)))
        hn_gguf_close(same);
    write_part_saying("general.architecture", "qwen2", names[1], 1, 3, 6, 2, 2);
    fails(names[0], HN_ERR_FORMAT, "00002-of-00003.gguf: key general.architecture: ");
    write_part_saying("llama.pooling", "", names[1], 1, 3, 6, 2, 2);
    fails(names[2], HN_ERR_FORMAT, "00002-of-00003.gguf: key llama.pooling: ");
    write_part(names[1], 1, 3, 7, 2, 2);
    fails(names[0], HN_ERR_FORMAT, "split.tensors.count says 7");
    write_part(names[1], 1, 3, 6, 2, 2);
    write_part(names[0], 0, 3, 7, 0, 2);
    fails(names[1], HN_ERR_FORMAT, "split.tensors.count says 7");
    write_part(names[0], 0, 3, 6, 0, 2);
    write_part(names[1], 2, 3, 6, 2, 2);
    fails(names[0], HN_ERR_FORMAT, "is part 3 of 3: expected part 2 of 3");
    write_part(names[1], 1, 4, 6, 2, 2);
    fails(names[0], HN_ERR_FORMAT, "is part 2 of 4: expected part 2 of 3");
    write_part(names[1], 3, 3, 6, 2, 2);
    fails(names[1], HN_ERR_FORMAT, "part 3 of 3: split.no and split.count do not fit");
    write_part(names[1], 1, 3, 6, 0, 2);
    fails(names[0], HN_ERR_FORMAT, "tensor blk.0.weight comes twice");
    unlink(path_of(names[1]));
    fails(names[0], HN_ERR_IO, "m-00002-of-00003.gguf: No such file");
    CHECK(rename(path_of(names[2]), path_of("last.gguf")) == 0);
    fails("last.gguf", HN_ERR_FORMAT, "expected a name that ends in -00003-of-00003.gguf");
}

/* What was read and is written again has the same bytes. */
static void check_round_trip(const char *from, const char *to)
{
    hn_gguf_part part;
    hn_weights_writer *writer;
    void *a, *b;
    size_t a_bytes, b_bytes;
    if (!CHECK_OK(hn_gguf_part_open(&heap, from, &part)) ||
        !CHECK_OK(hn_gguf_create(&heap, hn_sink_own(to), &part.meta, part.tensors, part.n_tensors, &writer)))
        return;
    for (size_t i = 0; i < part.n_tensors; i++)
        CHECK_OK(hn_weights_writer_put(writer, i, 0, part.tensors[i].data,
                                       (size_t)part.tensors[i].bytes));
    CHECK_OK(hn_weights_writer_finish(writer));
    hn_gguf_part_close(&part);
    hn_gguf_part_close(&part); /* may be closed twice */
    CHECK_OK(hn_file_read(&heap, from, 1 << 20, &a, &a_bytes));
    CHECK_OK(hn_file_read(&heap, to, 1 << 20, &b, &b_bytes));
    CHECK(a_bytes == b_bytes && !memcmp(a, b, a_bytes));
    hn_free(&heap, a);
    hn_free(&heap, b);
}

static void set_values(hn_meta *meta)
{
    static const int64_t ints[] = { 1, 0, 100 };
    static const double numbers[] = { 0.5, -1e10 };
    static const hn_span texts[] = { { "a", 1 }, { "", 0 }, { "b\0c", 3 } };
    const hn_meta_value flags = { .key = "flags",
                                  .type = HN_META_BOOL,
                                  .is_array = true,
                                  .n = 2,
                                  .data = (const uint8_t *)"\1\0",
                                  .bytes = 2 };
    CHECK_OK(hn_meta_set_text(meta, "general.architecture", "llama"));
    for (hn_meta_type t = 0; t < HN_N_META_TYPES; t++) {
        char key[32];
        const bool is_real = t == HN_META_F32 || t == HN_META_F64;
        snprintf(key, sizeof key, "list.%s", hn_meta_type_name(t));
        if (t == HN_META_STRING || t == HN_META_BOOL || t == HN_META_ARRAY)
            continue;
        CHECK_OK(is_real ? hn_meta_set_doubles(meta, key, t, numbers, 2)
                         : hn_meta_set_ints(meta, key, t, ints, 3));
        CHECK_OK(is_real ? hn_meta_set_double(meta, key + 5, t, 2.25)
                         : hn_meta_set_int(meta, key + 5, t, 77));
    }
    CHECK_OK(hn_meta_set_bool(meta, "flag", true));
    CHECK_OK(hn_meta_set_copy(meta, &flags));
    CHECK_OK(hn_meta_set_strings(meta, "texts", texts, 3));
    CHECK_FAILS(hn_meta_set_int(meta, "x", HN_META_U8, 256), HN_ERR_ARGUMENT,
                "does not fit u8");
}

static void check_writer(void)
{
    check_group("writer");
    for (int alignment = 8; alignment <= 4096; alignment *= 8) {
        hn_meta meta = hn_meta_on(&heap, "meta");
        set_values(&meta);
        CHECK_OK(hn_meta_set_int(&meta, "general.alignment", HN_META_U32, alignment));
        write_file(path_of("w.gguf"), &meta, 0, 7);
        check_round_trip(path_of("w.gguf"), path_of("again.gguf"));
        hn_meta_free(&meta);
    }
    hn_meta meta = hn_meta_on(&heap, "meta");
    hn_weights_writer *writer;
    hn_weight_entry e = { .name = "t" };
    const int64_t dim[] = { 40 };
    CHECK_OK(hn_type_make(&e.type, HN_U8, 1, dim));
    CHECK_FAILS(hn_gguf_create(&heap, hn_sink_own(path_of("no.gguf")), &meta, &e, 1, &writer),
                HN_ERR_UNSUPPORTED, "tensor t: GGUF has no type for u8");
    e.type.dtype = HN_F32;
    e.name = "a name of more than sixty-three bytes, which ggml's readers refuse";
    CHECK_FAILS(hn_gguf_create(&heap, hn_sink_own(path_of("no.gguf")), &meta, &e, 1, &writer),
                HN_ERR_UNSUPPORTED, "GGUF readers take at most 63");
    e.name = "t";
    CHECK_OK(hn_type_make(&e.type, HN_F32, 1, dim));
    if (CHECK_OK(hn_gguf_create(&heap, hn_sink_own(path_of("no.gguf")), &meta, &e, 1, &writer))) {
        CHECK_FAILS(hn_weights_writer_put(writer, 0, 100,
                                          "abcdefghijklmnopqrstuvwxyzabcdefghijkl"
                                          "mnopqrstuvwxyzabcdefghi",
                                          61),
                    HN_ERR_ARGUMENT, "bytes beyond its end");
        CHECK_FAILS(hn_weights_writer_finish(writer), HN_ERR_ARGUMENT, "0 of 160 bytes");
    }
    CHECK(!exists(path_of("no.gguf")) && !partial_is_left(path_of("no.gguf")));
    hn_meta_free(&meta);
}

/* True if it was read. `n` bytes of `file`, in memory of their own. */
static bool survives(const uint8_t *file, size_t n, size_t n_tensors)
{
    hn_heap own;
    hn_gguf_part part = { 0 };
    hn_heap_init(&own, NULL);
    own.limit_bytes = (1 << 20) + 8 * n;
    uint8_t *exact = malloc(n ? n : 1);
    memcpy(exact, file, n);
    const hn_status status = hn_gguf_part_parse(&own, "damaged", exact, n, &part);
    if (status == HN_OK) {
        const uint8_t *end = exact;
        uint64_t sum = 0;
        for (size_t i = 0; i < part.n_tensors; i++) {
            const hn_weight_entry *t = &part.tensors[i];
            CHECK_THAT(t->data >= end && t->data + t->bytes <= exact + n,
                       "tensor %s lies outside", t->name);
            end = t->data + t->bytes;
            for (uint64_t k = 0; k < t->bytes; k++)
                sum += t->data[k];
        }
        CHECK_INT((int64_t)n_tensors, (int64_t)part.n_tensors);
        CHECK(sum > 0);
    } else {
        CHECK_THAT(status == HN_ERR_FORMAT || status == HN_ERR_UNSUPPORTED, "status %d: %s",
                   (int)status, hn_error_message());
        CHECK(strstr(hn_error_message(), "damaged: ") != NULL);
    }
    hn_gguf_part_close(&part);
    CHECK_INT(0, own.live_blocks);
    free(exact);
    return status == HN_OK;
}

static void check_damage(void)
{
    hn_meta meta = hn_meta_on(&heap, "meta");
    const hn_rng_key key = hn_rng_seed(check_seed());
    void *file;
    size_t bytes;
    int64_t n_read = 0;
    check_group("damage");
    set_values(&meta);
    write_file(path_of("d.gguf"), &meta, 0, 7);
    hn_meta_free(&meta);
    if (!CHECK_OK(hn_file_read(&heap, path_of("d.gguf"), 1 << 20, &file, &bytes)))
        return;
    uint8_t *copy = file;
    CHECK(survives(copy, bytes, 7));
    for (uint32_t i = 0; i < 1000; i++) {
        const size_t n = hn_rng_below(key, i, (uint32_t)bytes);
        const bool is_read = survives(copy, n, 7);
        CHECK_THAT(!is_read || bytes - n < 32, "%zu of %zu bytes were read", n, bytes);
        CHECK_THAT(is_read || strstr(hn_error_message(), "cut off"), "%zu bytes: %s", n,
                   hn_error_message());
    }
    for (uint32_t i = 0; i < 10000; i++) {
        const uint32_t bit = hn_rng_below(key, 1000 + i, (uint32_t)(8 * bytes));
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        n_read += survives(copy, bytes, 7);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    printf("of 10000 files with a flipped bit %lld were read\n", (long long)n_read);
    hn_free(&heap, file);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK(mkdtemp(dir) != NULL)) {
        check_split();
        check_writer();
        check_damage();
    }
    CHECK_INT(0, heap.live_blocks);
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    CHECK(system(command) == 0);
    return check_close();
}
