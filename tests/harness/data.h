/* data.h: a tokenizer with a token a byte, a chat format, and files of examples made on the
 * spot, for tests of what training sees. */
#ifndef TESTS_HARNESS_DATA_H
#define TESTS_HARNESS_DATA_H

#include "base/os/files.h"
#include "base/os/folders.h"
#include "convert/byte_tokenizer.h"
#include "data/preflight.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct data_bench {
    hn_heap heap;
    hn_meta meta;
    hn_tokenizer *tok;
    hn_chat_format *chat;
    char dir[64];
} data_bench;

/* ChatML with {% generation %} blocks; <|im_end|> ends a turn. */
static inline void data_bench_open(data_bench *b)
{
    hn_heap_init(&b->heap, NULL);
    b->meta = hn_meta_on(&b->heap, "bytes");
    CHECK_OK(hn_byte_tokenizer(&b->meta, HN_BYTE_TOKENS));
    CHECK_OK(hn_tokenizer_from_meta(&b->heap, &b->meta, &b->tok));
    CHECK_OK(hn_chat_format_new(&b->heap, "bytes", &b->chat));
    CHECK_OK(hn_chat_format_add_meta(b->chat, &b->meta));
    snprintf(b->dir, sizeof b->dir, "%.40s/hone-data-XXXXXX", hn_os_folder_for_temporary());
    CHECK(hn_os_folder_make_temporary(b->dir));
}

static inline void data_bench_close(data_bench *b)
{
    hn_chat_format_free(b->chat);
    hn_tokenizer_free(b->tok);
    hn_meta_free(&b->meta);
    hn_os_folder_remove(b->dir);
    CHECK_INT(0, atomic_load(&b->heap.live_blocks));
}

static inline void data_bench_template(data_bench *b, const char *source)
{
    CHECK_OK(hn_chat_format_add(b->chat, "default", source, strlen(source)));
}

static inline void data_bench_write(data_bench *b, const char *name, const char *text,
                                    char path[128])
{
    snprintf(path, 128, "%s/%s", b->dir, name);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(text, 1, strlen(text), file) == strlen(text) && !fclose(file));
}

/* A data set of one file; `options` may be NULL, its files are not looked at. */
static inline hn_status data_bench_load(data_bench *b, const char *text,
                                        const hn_dataset_options *options, hn_dataset **out)
{
    char path[128];
    const char first = text[strspn(text, " \t\r\n")];
    data_bench_write(b, first == '{' ? "d.jsonl" : first == '[' ? "d.json" : "d.txt", text, path);
    const hn_data_file file = { .path = path,
                                .format = options && options->files ? options->files[0].format
                                                                    : NULL };
    hn_dataset_options o = options ? *options : (hn_dataset_options){ 0 };
    o.files = &file;
    o.n_files = 1;
    o.rule.tok = b->tok;
    o.rule.chat = b->chat;
    const hn_status status = hn_dataset_open(out, &b->heap, &o);
    hn_os_remove(path);
    return status;
}

/* The text of a sample, {+supervised tokens+}, <|specials|> as they are. */
static inline void data_bench_mark(const data_bench *b, const hn_sample *s, hn_str *out)
{
    bool on = false;
    hn_str_clear(out);
    for (size_t t = 0; t < s->n; t++) {
        if ((s->weights[t] > 0) != on)
            hn_str_add(out, on ? "+}" : "{+");
        on = s->weights[t] > 0;
        CHECK_OK(hn_tokenizer_decode(b->tok, s->ids + t, 1, false, out));
    }
    hn_str_add(out, on ? "+}" : "");
}

/* Example i of the text, as it is marked; or the failure. */
static inline void data_bench_shows(data_bench *b, const char *text,
                                    const hn_dataset_options *options, uint64_t i, int part,
                                    const char *want)
{
    hn_dataset *d = NULL;
    hn_example e = hn_example_on(&b->heap);
    hn_str marked = hn_str_on(&b->heap);
    if (CHECK_OK(data_bench_load(b, text, options, &d)) &&
        CHECK_OK(hn_dataset_read(d, i, &e))) {
        CHECK(part < e.n_parts);
        data_bench_mark(b, &e.part[part], &marked);
        CHECK_TEXT(want, marked.text);
    }
    hn_str_free(&marked);
    hn_example_free(&e);
    hn_dataset_close(d);
}

/* Opening, reading or judging the text fails with these words. */
static inline void data_bench_refuses(data_bench *b, const char *text,
                                      const hn_dataset_options *options, const char *words)
{
    hn_dataset *d = NULL;
    hn_preflight report;
    hn_status status = data_bench_load(b, text, options, &d);
    if (status == HN_OK)
        status = hn_preflight_run(d, &report, NULL, NULL);
    if (status == HN_OK)
        status = hn_preflight_verdict(&report, d);
    CHECK_THAT(status != HN_OK && strstr(hn_error_message(), words),
               "expected '%s', found '%s'", words,
               status == HN_OK ? "success" : hn_error_message());
    hn_dataset_close(d);
}

#endif
