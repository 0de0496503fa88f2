/* A run as it stands, in this order, each way:
 *
 *     write   basis unchanged (who calls asks that) | devices' tensors to the host | all parts | digest | its name
 *     read    digest of the file | basis, by line | counts | each tensor's name, type, shape || parts | devices
 *
 * A file has its name when it is whole and durable, so the newest name is a state that once was. Left of the
 * double line nothing of the learner is touched: what is refused leaves it as it was. To the right only a device
 * can fail, or a file that is cut while it is read, and then the run ends.
 *
 * It has all that a later step depends on, and that is little: tensors, the optimiser's states, how many updates
 * there were (moments are corrected by it) and which step is next. Data and random numbers are functions of seed
 * and step, so no order of examples and no generator's state is kept. Doubles are written in hexadecimal and come
 * back bit for bit. A number is taken only as it would be written, so there is one file for one state. */
#include "train/checkpoint.h"

#include "base/sha256.h"
#include "io/safetensors.h"
#include "io/seal.h"
#include "io/weights_writer.h"
#include "base/host.h"
#include "base/number.h"
#include "models/fingerprint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Trained tensors, which the host has, then states, which the devices have. */
typedef struct part {
    const char *name;
    hn_type type;
    void *data;           /* of a trained tensor */
    const hn_leaf *state; /* of a state */
} part;

static part part_at(const hn_learner *l, int i)
{
    const hn_tuning *t = hn_learner_tuning(l);
    if (i < t->n_tensors)
        return (part){ t->tensors[i].name, t->tensors[i].weight.type, hn_tuning_data(t, i), NULL };
    const hn_leaf *state = hn_learner_state(l, i - t->n_tensors);
    return state ? (part){ state->name, state->type, NULL, state } : (part){ 0 };
}

static int count_parts(const hn_learner *l)
{
    int n = 0;
    while (part_at(l, n).name)
        n++;
    return n;
}

static hn_status put(hn_weights_writer *writer, const hn_learner *l, int i)
{
    const part p = part_at(l, i);
    const size_t bytes = hn_type_bytes(&p.type);
    uint8_t piece[64 * 1024];
    if (p.data)
        return hn_weights_writer_put(writer, (size_t)i, 0, p.data, bytes);
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < sizeof piece ? bytes - at : sizeof piece;
        HN_TRY(hn_learner_read_state(l, p.state, at, piece, n));
        HN_TRY(hn_weights_writer_put(writer, (size_t)i, at, piece, n));
    }
    return HN_OK;
}

static void digest_part(hn_sha256 *sha, const char *name, const void *data, size_t bytes)
{
    hn_sha256_add(sha, name, strlen(name) + 1);
    hn_sha256_add(sha, data, bytes);
}

/* ---- keys ---- */

/* X(key, field of hn_run_state): whole numbers, then doubles as they are, bit for bit. */
#define WHOLE_LIST(X)                                                                          \
    X("step", step) X("examples", examples) X("tokens", tokens) X("supervised", supervised)     \
    X("best_step", best_step) X("n_worse", n_worse)
#define DOUBLE_LIST(X) X("best_loss", best_loss) X("last_loss", last_loss)

static hn_status set_whole(hn_meta *meta, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    return hn_meta_set_text(meta, key, text);
}

static hn_status set_double(hn_meta *meta, const char *key, double value)
{
    char text[40];
    hn_text_print(text, sizeof text, "%a", value);
    return hn_meta_set_text(meta, key, text);
}

static hn_status write_keys(const hn_learner *l, const hn_run_state *s, const hn_run_basis *basis,
                            hn_meta *meta)
{
    HN_TRY(hn_meta_set_text(meta, "kind", "hone checkpoint 2"));
    HN_TRY(hn_meta_set_text(meta, "digest", HN_SEAL_BLANK));
    HN_TRY(set_whole(meta, "updates", hn_learner_count(l)));
#define SET(key, field) HN_TRY(set_whole(meta, key, s->field));
    WHOLE_LIST(SET)
#undef SET
#define SET(key, field) HN_TRY(set_double(meta, key, s->field));
    DOUBLE_LIST(SET)
#undef SET
    HN_TRY(hn_meta_set_text(meta, "base", basis->base));
    HN_TRY(hn_meta_set_text(meta, "config", basis->config.text));
    return hn_meta_set_text(meta, "data", basis->data.text);
}

static hn_status get_text(const hn_meta *meta, const char *key, char *out, size_t room)
{
    hn_span span;
    HN_TRY(hn_meta_want_string(meta, key, &span));
    HN_REQUIRE(span.bytes < room, HN_ERR_FORMAT, "key %s is too long", key);
    memcpy(out, span.data, span.bytes);
    out[span.bytes] = 0;
    return HN_OK;
}

/* As they are written, and no other way. */
static hn_status get_whole(const hn_meta *meta, const char *key, int64_t *out)
{
    char text[40], again[40];
    HN_TRY(get_text(meta, key, text, sizeof text));
    errno = 0;
    *out = strtoll(text, NULL, 10);
    snprintf(again, sizeof again, "%" PRId64, *out);
    HN_REQUIRE(!errno && !strcmp(text, again), HN_ERR_FORMAT, "key %s: '%s' is no whole number", key, text);
    return HN_OK;
}

static hn_status get_double(const hn_meta *meta, const char *key, double *out)
{
    char text[48], again[48];
    HN_TRY(get_text(meta, key, text, sizeof text));
    const bool is_number = hn_number_parse(text, out);
    hn_text_print(again, sizeof again, "%a", *out);
    HN_REQUIRE(is_number && !strcmp(text, again), HN_ERR_FORMAT, "key %s: '%s' is no number", key, text);
    return HN_OK;
}

static hn_status read_version(const hn_meta *meta, int *version)
{
    char kind[40];
    HN_TRY(get_text(meta, "kind", kind, sizeof kind));
    *version = !strcmp(kind, "hone checkpoint 1") ? 1 : 2;
    HN_REQUIRE(*version == 1 || !strcmp(kind, "hone checkpoint 2"), HN_ERR_FORMAT,
               "'%s': expected a hone checkpoint 1 or 2", kind);
    return HN_OK;
}

static hn_status read_keys(const hn_meta *meta, hn_run_state *s, int64_t *updates)
{
    HN_TRY(get_whole(meta, "updates", updates));
#define GET(key, field) HN_TRY(get_whole(meta, key, &s->field));
    WHOLE_LIST(GET)
#undef GET
#define GET(key, field) HN_TRY(get_double(meta, key, &s->field));
    DOUBLE_LIST(GET)
#undef GET
    HN_REQUIRE(*updates >= 0 && s->step >= 0 && s->examples >= 0 && s->tokens >= 0 && s->supervised >= 0 &&
                   s->best_step >= -1 && s->n_worse >= 0,
               HN_ERR_FORMAT, "a count is negative");
    return HN_OK;
}

/* ---- files ---- */

hn_status hn_checkpoint_write(const hn_learner *l, const hn_run_state *state, const hn_run_basis *basis,
                              const char *path)
{
    const hn_tuning *t = hn_learner_tuning(l);
    const int n = count_parts(l);
    hn_weights_writer *writer = NULL;
    hn_meta meta = hn_meta_on(t->heap, path);
    hn_weight_entry *entries = hn_alloc_array(t->heap, HN_TAG_FILE, (size_t)n, sizeof *entries);
    hn_status status = entries ? HN_OK : HN_ERR_MEMORY;
    for (int i = 0; i < n && status == HN_OK; i++) {
        const part p = part_at(l, i);
        entries[i] = (hn_weight_entry){ .name = p.name, .type = p.type };
    }
    if (status == HN_OK)
        status = write_keys(l, state, basis, &meta);
    if (status == HN_OK)
        status = hn_safetensors_create(t->heap, hn_sink_own(path), &meta, entries, (size_t)n, &writer);
    if (status == HN_OK)
        status = hn_tuning_pull(t);
    for (int i = 0; i < n && status == HN_OK; i++)
        status = put(writer, l, i);
    if (status == HN_OK)
        status = hn_weights_writer_finish(writer);
    else
        hn_weights_writer_abandon(writer);
    hn_free(t->heap, entries);
    hn_meta_free(&meta);
    return status;
}

static const hn_weight_entry *find(const hn_safetensors *file, const char *name)
{
    for (size_t i = 0; i < file->n_tensors; i++)
        if (!strcmp(file->tensors[i].name, name))
            return &file->tensors[i];
    return NULL;
}

static hn_status check_part(const hn_safetensors *file, const char *name, const hn_type *type)
{
    const hn_weight_entry *e = find(file, name);
    HN_REQUIRE(e, HN_ERR_FORMAT, "tensor %s is missing", name);
    HN_REQUIRE(e->type.dtype == type->dtype && hn_same_shape(&e->type, type), HN_ERR_SHAPE,
               "tensor %s has another type or shape than in this run", name);
    return HN_OK;
}

/* Nothing of the learner is touched before all of the file was found right. */
static hn_status check_parts(const hn_learner *l, const hn_safetensors *file, int n)
{
    HN_REQUIRE(file->n_tensors == (size_t)n, HN_ERR_FORMAT, "%zu tensors: this run has %d",
               file->n_tensors, n);
    for (int i = 0; i < n; i++) {
        const part p = part_at(l, i);
        HN_TRY(check_part(file, p.name, &p.type));
    }
    return HN_OK;
}

static hn_status check_same(const char *what, const hn_meta *meta, const char *key, const char *expected)
{
    char found[65];
    HN_TRY(get_text(meta, key, found, sizeof found));
    HN_REQUIRE(!strcmp(found, expected), HN_ERR_ARGUMENT,
               "made with another %s: %s, now %.64s", what, found, expected);
    return HN_OK;
}

/* Version 1: its digest is of the step and the tensors, its basis three digests. */
static hn_status check_old(const hn_learner *l, const hn_safetensors *file, int n, int64_t step,
                           const hn_run_basis *basis)
{
    hn_sha256 sha;
    uint8_t found[32];
    char text[65];
    HN_TRY(hn_model_fingerprint(basis->model, found));
    hn_sha256_text(found, text);
    HN_TRY(check_same("base", &file->meta, "base", text));
    HN_TRY(check_same("configuration", &file->meta, "config", basis->config_sha));
    HN_TRY(check_same("data file", &file->meta, "data", basis->data_sha));
    hn_sha256_begin(&sha);
    hn_sha256_add(&sha, &step, sizeof step);
    for (int i = 0; i < n; i++) {
        const part p = part_at(l, i);
        digest_part(&sha, p.name, find(file, p.name)->data, hn_type_bytes(&p.type));
    }
    hn_sha256_end(&sha, found);
    hn_sha256_text(found, text);
    return check_same("digest of its tensors", &file->meta, "digest", text);
}

static hn_status check_lines(const hn_meta *meta, const char *key, const hn_str *now)
{
    hn_span was;
    HN_TRY(hn_meta_want_string(meta, key, &was));
    return hn_run_lines_same(was.data, was.bytes, now->text);
}

static hn_status check_basis(const hn_safetensors *file, const hn_run_basis *basis)
{
    HN_TRY(check_lines(&file->meta, "config", &basis->config));
    HN_TRY(check_lines(&file->meta, "data", &basis->data));
    return check_same("base", &file->meta, "base", basis->base);
}

static hn_status check_seal(const hn_safetensors *file)
{
    hn_span digits;
    HN_TRY(hn_meta_want_string(&file->meta, "digest", &digits));
    HN_REQUIRE(digits.bytes == 64, HN_ERR_FORMAT, "key digest: expected 64 digits, found %zu", digits.bytes);
    return hn_seal_check(file->map.data, file->map.bytes, digits.data);
}

static hn_status read_file(hn_learner *l, const hn_safetensors *file, const hn_run_basis *basis,
                           hn_run_state *out, bool *is_old)
{
    int64_t updates;
    int version;
    const int n = count_parts(l);
    HN_TRY(read_version(&file->meta, &version));
    *is_old = version == 1;
    if (!*is_old) {
        HN_TRY(check_seal(file));
        HN_TRY(check_basis(file, basis));
    }
    HN_TRY(read_keys(&file->meta, out, &updates));
    HN_TRY(check_parts(l, file, n));
    if (*is_old)
        HN_TRY(check_old(l, file, n, out->step, basis));
    for (int i = 0; i < n; i++) {
        const part p = part_at(l, i);
        const void *from = find(file, p.name)->data;
        if (p.data)
            memcpy(p.data, from, hn_type_bytes(&p.type));
        else
            HN_TRY(hn_learner_write_state(l, p.state, from));
    }
    hn_learner_set_count(l, updates);
    return hn_tuning_push(hn_learner_tuning(l));
}

static hn_status read_trained(const hn_tuning *t, const hn_safetensors *file, const hn_run_basis *basis, hn_run_state *out)
{
    int64_t updates;
    int version;
    HN_TRY(read_version(&file->meta, &version));
    HN_REQUIRE(version > 1, HN_ERR_UNSUPPORTED, "is of version 1: no adapter is made of it");
    HN_TRY(check_seal(file));
    HN_TRY(check_basis(file, basis));
    HN_TRY(read_keys(&file->meta, out, &updates));
    for (int i = 0; i < t->n_tensors; i++)
        HN_TRY(check_part(file, t->tensors[i].name, &t->tensors[i].weight.type));
    for (int i = 0; i < t->n_tensors; i++)
        memcpy(hn_tuning_data(t, i), find(file, t->tensors[i].name)->data, hn_type_bytes(&t->tensors[i].weight.type));
    return hn_tuning_push(t);
}

hn_status hn_checkpoint_read_trained(const hn_tuning *t, const char *path, const hn_run_basis *basis, hn_run_state *out)
{
    hn_safetensors file;
    hn_status status = hn_safetensors_open(t->heap, path, &file);
    if (status == HN_OK)
        status = read_trained(t, &file, basis, out);
    if (status == HN_OK)
        status = hn_map_check(t->heap);
    hn_safetensors_close(&file);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "checkpoint %s: ", path);
}

hn_status hn_checkpoint_read(hn_learner *l, const char *path, const hn_run_basis *basis,
                             hn_run_state *out, bool *is_old)
{
    hn_safetensors file;
    hn_heap *heap = hn_learner_tuning(l)->heap;
    hn_status status = hn_safetensors_open(heap, path, &file);
    if (status == HN_OK)
        status = read_file(l, &file, basis, out, is_old);
    if (status == HN_OK)
        status = hn_map_check(heap);
    hn_safetensors_close(&file);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "checkpoint %s: ", path);
}
