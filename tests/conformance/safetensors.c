/* safetensors, clause by clause: single files from headers written here, sharded directories,
 * writing what was read, and damaged copies. */
#include "io/safetensors.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/rng.h"
#include "io/hf_dir.h"
#include "io/weights_writer.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = 4096 };

static hn_heap heap;
static char dir[] = "/tmp/hone-safetensors-XXXXXX";
static uint8_t bytes[ROOM];
static size_t n_bytes;

/* The header, and `data` bytes 1, 2, 3 ... after it. */
static void make(const char *header, size_t data)
{
    const size_t n = strlen(header);
    hn_store_64(bytes, n);
    memcpy(bytes + 8, header, n);
    for (size_t i = 0; i < data; i++)
        bytes[8 + n + i] = (uint8_t)(i + 1);
    n_bytes = 8 + n + data;
}

static void refused(hn_status code, const char *words)
{
    hn_safetensors file = { 0 };
    CHECK_FAILS(hn_safetensors_parse(&heap, "x.safetensors", bytes, n_bytes, &file), code,
                words);
    CHECK_THAT(strstr(hn_error_message(), "x.safetensors") != NULL, "no file in: %s",
               hn_error_message());
    hn_safetensors_close(&file);
}

/* "{NAME: {dtype, shape, data_offsets: [begin, end]}}, ranges cover the buffer exactly" */
static void check_good(void)
{
    hn_safetensors file = { 0 };
    check_group("good");
    make("{\"__metadata__\":{\"format\":\"pt\"},"
         "\"b\":{\"dtype\":\"BF16\",\"shape\":[3],\"data_offsets\":[24,30]},"
         "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
         "\"scalar\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[30,32]},"
         "\"none\":{\"dtype\":\"F32\",\"shape\":[0,4],\"data_offsets\":[32,32]},"
         "\"f8\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[32,36]}}   ",
         36);
    if (CHECK_OK(hn_safetensors_parse(&heap, "x", bytes, n_bytes, &file))) {
        hn_span format;
        CHECK_INT(5, (int64_t)file.n_tensors);
        CHECK_TEXT("a", file.tensors[0].name); /* in the order of their data */
        CHECK_INT(24, (int64_t)file.tensors[0].bytes);
        CHECK_INT(1, file.tensors[0].data[0]);
        CHECK_INT(25, file.tensors[1].data[0]);
        CHECK_INT(0, file.tensors[2].type.rank);
        CHECK_TEXT("none", file.tensors[3].name);
        CHECK_INT(HN_N_DTYPES, file.tensors[3].type.dtype);
        CHECK_TEXT("F8_E4M3", file.tensors[4].encoding);
        CHECK_INT(HN_N_DTYPES, file.tensors[4].type.dtype);
        CHECK_OK(hn_meta_string(&file.meta, "format", &format));
        CHECK_INT(2, (int64_t)format.bytes);
    }
    hn_safetensors_close(&file);
    hn_safetensors_close(&file);
    make("{}", 0);
    CHECK_OK(hn_safetensors_parse(&heap, "x", bytes, n_bytes, &file));
    CHECK_INT(0, (int64_t)file.n_tensors);
    hn_safetensors_close(&file);
}

static void check_bad(void)
{
#define T(name, dtype, shape, begin, end)                                                      \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin      \
    "," #end "]}"
    static const struct {
        const char *header, *words;
        size_t data;
        hn_status code;
    } bad[] = {
        { "{" T("a", "F32", "[2]", 0, 8) "," T("b", "F32", "[2]", 4, 12) "}",
          "tensor b: begins at byte 4 of the data: expected 8", 12, HN_ERR_FORMAT },
        { "{" T("a", "F32", "[2]", 0, 8) "," T("b", "F32", "[2]", 12, 20) "}",
          "tensor b: begins at byte 12 of the data: expected 8", 20, HN_ERR_FORMAT },
        { "{" T("a", "F32", "[2]", 4, 12) "}", "expected 0", 12, HN_ERR_FORMAT },
        { "{" T("a", "F32", "[2]", 0, 8) "}", "3 bytes are left over", 11, HN_ERR_FORMAT },
        { "{" T("a", "F32", "[2]", 0, 8) "}", "cut off: tensor a: 3 bytes past", 5,
          HN_ERR_FORMAT },
        { "{" T("a", "F32", "[3]", 0, 8) "}", "tensor a: 8 bytes: its type and shape need 12",
          8, HN_ERR_FORMAT },
        { "{" T("a", "F16", "[2]", 0, 8) "}", "its type and shape need 4", 8, HN_ERR_FORMAT },
        { "{" T("a", "F32", "[2]", 8, 0) "}", "tensor a: data_offsets [8, 0]", 8,
          HN_ERR_FORMAT },
        { "{" T("a", "F32", "[2]", -1, 7) "}", "tensor a: data_offsets", 8, HN_ERR_FORMAT },
        { "{" T("a", "F32", "[-2]", 0, 8) "}", "tensor a: dimension 1", 8, HN_ERR_FORMAT },
        { "{" T("a", "F32", "[1.5]", 0, 8) "}", "tensor a: dimension 1", 8, HN_ERR_FORMAT },
        { "{" T("a", "F32", "[4611686018427387904,4]", 0, 8) "}", "its dimensions overflow", 8,
          HN_ERR_FORMAT },
        { "{" T("a", "F32", "[1,1,1,1,1,2]", 0, 8) "}", "tensor a: 6 dimensions", 8,
          HN_ERR_UNSUPPORTED },
        { "{" T("a", "Q4", "[2]", 0, 8) "}", "tensor a: element type Q4 is not known", 8,
          HN_ERR_UNSUPPORTED },
        { "{" T("a", "U8", "[1]", 0, 1) "," T("a", "U8", "[1]", 1, 2) "}",
          "key \"a\" is given twice", 2, HN_ERR_FORMAT },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", "tensor a: data_offsets", 1,
          HN_ERR_FORMAT },
        { "{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", "tensor a: dtype", 1,
          HN_ERR_FORMAT },
        { "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", "tensor a: expected a shape", 1,
          HN_ERR_FORMAT },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"scale\":2}}", "tensor a: field scale: expected dtype", 1,
          HN_ERR_UNSUPPORTED },
        { "{\"a\":[]}", "tensor a: expected an object", 0, HN_ERR_FORMAT },
        { "{\"\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", "name is empty", 1,
          HN_ERR_FORMAT },
        { "{\"__metadata__\":{\"n\":1}}", "__metadata__: key n: expected a string", 0,
          HN_ERR_FORMAT },
        { "{\"a\":", "x.safetensors", 0, HN_ERR_FORMAT },
        { "[1,2,3]", "its header is no JSON object", 0, HN_ERR_FORMAT },
        { "<!DOCTYPE html>", "not a safetensors file", 0, HN_ERR_FORMAT },
    };
#undef T
    check_group("bad");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        make(bad[i].header, bad[i].data);
        refused(bad[i].code, bad[i].words);
    }
    make("{}", 0);
    hn_store_64(bytes, (uint64_t)1 << 40);
    refused(HN_ERR_FORMAT, "not a safetensors file: a header of");
    hn_store_64(bytes, 1000);
    refused(HN_ERR_FORMAT, "cut off: the header ends");
    n_bytes = 5;
    refused(HN_ERR_FORMAT, "cut off: 5 bytes");
    n_bytes = 0;
    refused(HN_ERR_FORMAT, "cut off: 0 bytes");
}

static const char *path_of(const char *name)
{
    static char path[4][256];
    static int i;
    i = (i + 1) % 4;
    snprintf(path[i], sizeof path[i], "%s/%s", dir, name);
    return path[i];
}

static void write_text(const char *name, const char *text)
{
    const hn_span span = { text, strlen(text) };
    CHECK_OK(hn_file_write(hn_sink_own(path_of(name)), &span, 1));
}

static void write_shard_of(const char *name, const char *tensor, const char *empty)
{
    char header[300], more[120] = "";
    if (empty)
        snprintf(more, sizeof more, ",\"%s\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}", empty);
    snprintf(header, sizeof header,
             "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}%s}", tensor, more);
    make(header, 8);
    const hn_span span = { bytes, n_bytes };
    CHECK_OK(hn_file_write(hn_sink_own(path_of(name)), &span, 1));
}

static void write_shard(const char *name, const char *tensor) { write_shard_of(name, tensor, NULL); }

static void dir_fails(hn_status code, const char *words)
{
    hn_hf_dir *hf;
    CHECK_FAILS(hn_hf_dir_open(&heap, dir, HN_HF_WEIGHTS, &hf), code, words);
    CHECK(hf == NULL);
}

static void check_dirs(void)
{
    hn_hf_dir *hf;
    check_group("directories");
    dir_fails(HN_ERR_FORMAT, "no config.json");
    write_text("config.json", "[]");
    dir_fails(HN_ERR_FORMAT, "config.json: expected an object");
    write_text("config.json", "{\"architectures\":[\"LlamaForCausalLM\"]");
    dir_fails(HN_ERR_FORMAT, "config.json");
    write_text("config.json", "{\"architectures\":[\"LlamaForCausalLM\"]}");
    dir_fails(HN_ERR_IO, "model.safetensors: No such file");
    write_shard("model.safetensors", "whole");
    if (CHECK_OK(hn_hf_dir_open(&heap, dir, HN_HF_WEIGHTS, &hf))) {
        CHECK_INT(1, (int64_t)hf->weights.n);
        hn_hf_dir_close(hf);
    }
    write_shard("m-1.safetensors", "a");
    write_shard("m-2.safetensors", "b");
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"m-1.safetensors\",\"b\":\"m-2.safetensors\"}}");
    dir_fails(HN_ERR_FORMAT, "model.safetensors and model.safetensors.index.json, which does not name it"); /* two models */
    write_text("model.safetensors.index.json", "{\"weight_map\":{\"a\":\"m-1.safetensors\",\"whole\":\"model.safetensors\"}}");
    if (CHECK_OK(hn_hf_dir_open(&heap, dir, HN_HF_WEIGHTS, &hf))) {
        CHECK_INT(2, hf->n_parts);
        hn_hf_dir_close(hf);
    }
    unlink(path_of("model.safetensors"));
    write_text("model.safetensors.index.json",
               "{\"metadata\":{\"total_size\":8},\"weight_map\":{\"a\":\"m-1.safetensors\",\"b\":\"m-2.safetensors\"}}");
    if (CHECK_OK(hn_hf_dir_open(&heap, dir, HN_HF_WEIGHTS, &hf))) {
        CHECK_INT(2, hf->n_parts);
        CHECK(hn_weights_find(&hf->weights, "a") && !hn_weights_find(&hf->weights, "whole"));
        hn_hf_dir_close(hf);
    }
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"m-2.safetensors\",\"b\":\"m-1.safetensors\"}}");
    dir_fails(HN_ERR_FORMAT, "tensor a: not in m-2.safetensors, where the index says it is");
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"m-1.safetensors\",\"c\":\"m-2.safetensors\"}}");
    dir_fails(HN_ERR_FORMAT, "tensor c: not in m-2.safetensors");
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"m-1.safetensors\",\"b\":\"m-3.safetensors\"}}");
    dir_fails(HN_ERR_IO, "m-3.safetensors: No such file");
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"../m-1.safetensors\"}}");
    dir_fails(HN_ERR_FORMAT, "lies outside of the directory");
    write_text("model.safetensors.index.json", "{\"weight_map\":{\"a\":1}}");
    dir_fails(HN_ERR_FORMAT, "a: expected a string");
    write_text("model.safetensors.index.json", "{}");
    dir_fails(HN_ERR_FORMAT, "expected an object weight_map");
    write_text("model.safetensors.index.json", "{\"weight_map\":{\"a\":\"m-1.safetensors\"},\"then\":{}}");
    dir_fails(HN_ERR_UNSUPPORTED, "index.json: key then: expected metadata and weight_map alone");
    write_text("model.safetensors", ""); /* its place, whoever reads it */
    write_text("model.safetensors.index.json", "{\"weight_map\":{\"a\":\"m-1.safetensors\"}}");
    dir_fails(HN_ERR_FORMAT, "which does not name it");
    unlink(path_of("model.safetensors"));
    write_shard_of("m-1.safetensors", "a", "b");
    dir_fails(HN_ERR_FORMAT, "tensor b: in m-1.safetensors, and the index does not name it");
    write_shard("m-1.safetensors", "a");
    write_shard("m-2.safetensors", "a");
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"m-1.safetensors\",\"b\":\"m-2.safetensors\"}}");
    dir_fails(HN_ERR_FORMAT, "tensor a comes twice");
    CHECK_FAILS(hn_hf_dir_open(&heap, path_of("config.json"), 0, &hf), HN_ERR_FORMAT,
                "no config.json");
}

/* Written again, a file holds the same tensors; written a third time, it is the same bytes. */
static void check_round_trip(void)
{
    hn_safetensors file = { 0 };
    hn_weights_writer *writer;
    void *text[2] = { NULL, NULL };
    size_t size[2] = { 0, 0 };
    check_group("writer");
    make("{\"__metadata__\":{\"format\":\"pt\",\"k\":\"caf\\u00e9\"},"
         "\"f\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
         "\"bool\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[8,11]},"
         "\"f8\":{\"dtype\":\"F8_E5M2\",\"shape\":[1,4],\"data_offsets\":[11,15]},"
         "\"s\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[15,16]},"
         "\"i\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[16,24]}}",
         24);
    const hn_span span = { bytes, n_bytes };
    CHECK_OK(hn_file_write(hn_sink_own(path_of("0")), &span, 1));
    for (int i = 0; i < 2; i++) {
        char from[2] = { (char)('0' + i), 0 }, to[2] = { (char)('1' + i), 0 };
        if (!CHECK_OK(hn_safetensors_open(&heap, path_of(from), &file)) ||
            !CHECK_OK(hn_safetensors_create(&heap, hn_sink_own(path_of(to)), &file.meta, file.tensors,
                                            file.n_tensors, &writer)))
            return;
        CHECK_INT(5, (int64_t)file.n_tensors);
        CHECK_TEXT("BOOL", file.tensors[1].encoding);
        CHECK_TEXT("F8_E5M2", file.tensors[2].encoding);
        for (size_t t = 0, at = 1; t < file.n_tensors; at += (size_t)file.tensors[t++].bytes) {
            CHECK_INT((int64_t)at, file.tensors[t].data[0]);
            CHECK_OK(hn_weights_writer_put(writer, t, 0, file.tensors[t].data,
                                           (size_t)file.tensors[t].bytes));
        }
        CHECK_OK(hn_weights_writer_finish(writer));
        hn_safetensors_close(&file);
        CHECK_OK(hn_file_read(&heap, path_of(to), ROOM, &text[i], &size[i]));
        CHECK(size[i] > 8 && hn_load_64(text[i]) % 8 == 0);
    }
    CHECK(size[0] == size[1] && !memcmp(text[0], text[1], size[0]));
    hn_free(&heap, text[0]);
    hn_free(&heap, text[1]);
    hn_weight_entry e = { .name = "t" };
    const int64_t dim[] = { 32 };
    CHECK_OK(hn_type_make(&e.type, HN_TYPE_q8_0, 1, dim));
    CHECK_FAILS(hn_safetensors_create(&heap, hn_sink_own(path_of("q")), NULL, &e, 1, &writer),
                HN_ERR_UNSUPPORTED, "tensor t: safetensors has no type for q8_0");
}

static bool survives(const uint8_t *data, size_t n)
{
    hn_heap own;
    hn_safetensors file = { 0 };
    hn_heap_init(&own, NULL);
    own.limit_bytes = (1 << 20) + 256 * n;
    uint8_t *exact = malloc(n ? n : 1);
    memcpy(exact, data, n);
    const hn_status status = hn_safetensors_parse(&own, "damaged", exact, n, &file);
    uint64_t sum = 0, covered = 0;
    for (size_t i = 0; status == HN_OK && i < file.n_tensors; i++) {
        for (uint64_t k = 0; k < file.tensors[i].bytes; k++)
            sum += file.tensors[i].data[k];
        covered += file.tensors[i].bytes;
    }
    if (status == HN_OK) /* a damaged __metadata__ is no tensor: it fails, or is one in name */
        CHECK(file.n_tensors == 5 && covered == 24 && sum > 0);
    else
        CHECK_THAT(strstr(hn_error_message(), "damaged: ") && status != HN_ERR_MEMORY, "%s",
                   hn_error_message());
    hn_safetensors_close(&file);
    CHECK_INT(0, own.live_blocks);
    free(exact);
    return status == HN_OK;
}

static void check_damage(void)
{
    const hn_rng_key key = hn_rng_seed(check_seed());
    void *data;
    size_t n;
    int64_t n_read = 0;
    check_group("damage");
    if (!CHECK_OK(hn_file_read(&heap, path_of("1"), ROOM, &data, &n)))
        return;
    uint8_t *copy = data;
    CHECK(survives(copy, n));
    for (uint32_t i = 0; i < 1000; i++) {
        const size_t left = hn_rng_below(key, i, (uint32_t)n);
        CHECK(!survives(copy, left));
        CHECK_THAT(strstr(hn_error_message(), "cut off") != NULL, "%zu bytes: %s", left,
                   hn_error_message());
    }
    for (uint32_t i = 0; i < 10000; i++) {
        const uint32_t bit = hn_rng_below(key, 1000 + i, (uint32_t)(8 * n));
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
        n_read += survives(copy, n);
        copy[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    printf("of 10000 files with a flipped bit %lld were read\n", (long long)n_read);
    hn_free(&heap, data);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK(mkdtemp(dir) != NULL)) {
        check_good();
        check_bad();
        check_dirs();
        check_round_trip();
        check_damage();
    }
    CHECK_INT(0, heap.live_blocks);
    char command[300];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    CHECK(system(command) == 0);
    return check_close();
}
