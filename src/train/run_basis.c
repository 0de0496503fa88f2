/* Two forms of the same thing, and why there are two:
 *
 *     lines     every option that counts, each file's digest    compared by key, both ways; what differs is named
 *     digests   of an older text of the same                    of checkpoints of version 1, and of data in adapters
 *
 * The digests' text stays as it was first made, to the byte: an option that came later is not in it while it has
 * its default. Lines have all. A key's place among them means nothing, so that options can be put in another
 * order. What a word stands for is in the basis where that may change: numerics as their definition and not as
 * their name.
 *
 * The base's identity is of every byte of its numbers, and takes long: it is settled before it is compared or
 * written, not when a run is opened. That model and data are still what was opened is asked before each checkpoint
 * and before the result: first their stamps, and of what was written to since, the digest. So nothing names bytes
 * that it was not made of. */
#include "train/run_basis.h"

#include "base/map_file.h"
#include "base/sha256.h"
#include "models/identity.h"
#include "train/run_told.h"

#include <stdio.h>
#include <string.h>

enum { MOST_KEY = 200 };

static void digest_text(const hn_str *text, char out[65])
{
    hn_sha256 sha;
    uint8_t digest[32];
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, text->text, text->length);
    hn_sha256_end(&sha, digest);
    hn_sha256_text(digest, out);
}

static void add_files(const hn_dataset *d, hn_str *out)
{
    char file[65];
    for (int i = 0; i < d->n_files; i++) {
        hn_sha256_text(d->files[i].source.digest, file);
        hn_str_print(out, "data file %d = SHA-256 %s\n", i + 1, file);
        hn_str_print(out, "weight of data file %d = %.17g\n", i + 1, d->files[i].weight);
        hn_str_print(out, "data file %d is held out = %d\n", i + 1, d->files[i].is_held);
    }
}

hn_status hn_run_basis_make(hn_run_basis *b, hn_heap *heap, const hn_train_config *config,
                            const hn_run_basis_of *of)
{
    hn_str all = hn_str_on(heap);
    hn_train_config defined = *config; /* what a mode means is of the basis, and not its name alone */
    hn_numerics numerics;
    *b = (hn_run_basis){ .config = hn_str_on(heap), .data = hn_str_on(heap), .model = of->model };
    HN_TRY(hn_train_config_numerics(config, &numerics));
    defined.numerics = hn_numerics_definition(numerics);
    hn_train_config_text(&defined, &all);
    digest_text(&all, b->config_sha);
    hn_str_clear(&all);
    hn_train_config_lines(&defined, &b->config);
    add_files(of->dataset, &b->data);
    hn_str_print(&b->data, "%stokenizer = SHA-256 %s\n", of->data_text, of->tokenizer);
    hn_str_print(&b->data, "chat template = SHA-256 %s\n", of->template);
    for (int i = 0; i < of->dataset->n_files; i++) {
        char file[65];
        const hn_dataset_file *f = &of->dataset->files[i];
        hn_sha256_text(f->source.digest, file);
        hn_str_print(&all, "%s %.17g %d\n", file, f->weight, f->is_held);
    }
    hn_str_print(&all, "%s\n%s\n%s\n", of->data_text, of->tokenizer, of->template);
    digest_text(&all, b->data_sha);
    hn_status status = hn_str_status(&all);
    hn_str_free(&all);
    if (status == HN_OK)
        status = hn_str_status(&b->config);
    return status == HN_OK ? hn_str_status(&b->data) : status;
}

void hn_run_basis_free(hn_run_basis *b)
{
    if (!b->model)
        return;
    hn_str_free(&b->config);
    hn_str_free(&b->data);
    b->model = NULL;
}

hn_status hn_run_basis_settle(hn_run_basis *b)
{
    return b->base[0] ? HN_OK : hn_model_identity(b->model, b->base);
}

/* ---- line by line ---- */

typedef struct line {
    const char *key, *value; /* value NULL: there is none */
    size_t key_bytes, value_bytes;
} line;

static const char *read_line(const char *at, const char *end, line *out)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const char *last = newline ? newline : end, *equals = at;
    while (equals + 3 <= last && memcmp(equals, " = ", 3) != 0)
        equals++;
    const bool has_value = equals + 3 <= last;
    *out = (line){ .key = at, .key_bytes = (size_t)((has_value ? equals : last) - at),
                   .value = has_value ? equals + 3 : NULL,
                   .value_bytes = has_value ? (size_t)(last - equals) - 3 : 0 };
    return newline ? newline + 1 : end;
}

static bool find_line(const char *at, const char *end, const line *want, line *out)
{
    while (at < end) {
        at = read_line(at, end, out);
        if (out->key_bytes == want->key_bytes && !memcmp(out->key, want->key, want->key_bytes))
            return true;
    }
    return false;
}

/* As a user gives it: an option with its dashes. */
static void write_key(const line *l, char out[MOST_KEY])
{
    static const struct {
        const char *line, *option;
    } renamed[] = { { HN_RUN_LINE_FIELD " ", "--ignore-field " }, { HN_RUN_LINE_KEY " ", "--ignore " } };
    const char *dashes = hn_run_told_names(l->key, l->key_bytes) ? "--" : "";
    size_t from = 0;
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
        const size_t n = strlen(renamed[i].line);
        if (l->key_bytes > n && !memcmp(l->key, renamed[i].line, n))
            dashes = renamed[i].option, from = n;
    }
    snprintf(out, MOST_KEY, "%s%.*s", dashes, (int)(l->key_bytes - from), l->key + from);
}

static int width(const line *l)
{
    return l->value_bytes < 100 ? (int)l->value_bytes : 100;
}

hn_status hn_run_lines_same(const char *was, size_t was_bytes, const char *now)
{
    line a, b;
    char key[MOST_KEY];
    const char *was_end = was + was_bytes, *now_end = now + strlen(now);
    for (const char *at = was; at < was_end;) {
        at = read_line(at, was_end, &a);
        write_key(&a, key);
        HN_REQUIRE(find_line(now, now_end, &a, &b), HN_ERR_ARGUMENT,
                   "made with %s%s%.*s, which is not so now", key, a.value ? " " : "", width(&a),
                   a.value ? a.value : "");
        HN_REQUIRE(a.value_bytes == b.value_bytes && !memcmp(a.value ? a.value : "", b.value ? b.value : "",
                                                              a.value_bytes),
                   HN_ERR_ARGUMENT, "made with another %s: it was %.*s, now it is %.*s", key,
                   a.value_bytes ? width(&a) : 7, a.value_bytes ? a.value : "nothing",
                   b.value_bytes ? width(&b) : 7, b.value_bytes ? b.value : "nothing");
    }
    for (const char *at = now; at < now_end;) {
        at = read_line(at, now_end, &b);
        write_key(&b, key);
        HN_REQUIRE(find_line(was, was_end, &b, &a), HN_ERR_ARGUMENT,
                   "made without %s%s%.*s, which is asked for now", key, b.value ? " " : "", width(&b),
                   b.value ? b.value : "");
    }
    return HN_OK;
}

/* ---- while it runs ---- */

static hn_status data_unchanged(const hn_dataset *d)
{
    for (int i = 0; i < d->n_files; i++) {
        const hn_data_source *s = &d->files[i].source;
        const hn_file_stamp then = hn_map_file_stamp(&s->map), now = hn_map_file_restamp(&s->map);
        hn_sha256 sha;
        uint8_t digest[32];
        if (hn_same_stamp(&then, &now))
            continue;
        hn_sha256_begin(&sha);
        hn_sha256_add(&sha, s->map.data, s->map.bytes);
        hn_sha256_end(&sha, digest);
        HN_REQUIRE(!memcmp(digest, s->digest, 32), HN_ERR_IO,
                   "%s: was written to while it was used: what was made of it is of neither file", s->path);
    }
    return HN_OK;
}

hn_status hn_run_basis_unchanged(hn_run_basis *b, const hn_dataset *dataset)
{
    HN_TRY(hn_run_basis_settle(b));
    HN_TRY(hn_model_unchanged(b->model));
    return data_unchanged(dataset);
}
