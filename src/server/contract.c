/* Others' adapters have few of these words or none: what a file does not say is null, and nothing is made up for it. */
#include "server/contract.h"

#include <stdlib.h>
#include <string.h>

/* Too long a text is none of ours. */
static void take_text(const hn_lm_item *item, char *to, size_t room)
{
    if (item->bytes < room && !memchr(item->text, 0, item->bytes)) {
        memcpy(to, item->text, item->bytes);
        to[item->bytes] = 0;
    }
}

/* What follows "NAME = " in lines of settings. */
static void take_setting(const hn_lm_item *lines, const char *name, char *to, size_t room)
{
    const char *at = lines->text, *end = at + lines->bytes;
    const size_t n = strlen(name);
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        if ((size_t)(stop - at) > n + 3 && !memcmp(at, name, n) && !memcmp(at + n, " = ", 3)) {
            const hn_lm_item value = { .text = at + n + 3, .bytes = (size_t)(stop - at) - n - 3 };
            take_text(&value, to, room);
        }
        at = stop + 1;
    }
}

static void take_settings(hn_contract *c, const hn_lm_item *lines)
{
    char rank[24] = "";
    take_setting(lines, "targets", c->targets, sizeof c->targets);
    take_setting(lines, "rank", rank, sizeof rank);
    c->rank = strtoll(rank, NULL, 10);
}

typedef struct reading {
    hn_contract *to;
    hn_lm_file *file;
} reading;

/* False: there is no such key of this kind. */
static bool find(const reading *r, const char *name, hn_lm_kind kind, hn_lm_item *out)
{
    hn_lm_key key;
    const size_t at = hn_lm_file_find(r->file, name);
    return at < hn_lm_file_about(r->file)->n_keys && hn_lm_file_key(r->file, at, &key, sizeof key) == HN_OK && key.kind == kind &&
           !key.is_array && hn_lm_file_item(r->file, at, 0, out, sizeof *out) == HN_OK;
}

static void read_all(const reading *r)
{
    hn_contract *c = r->to;
    hn_lm_item item;
    const struct {
        const char *key;
        char *to;
        size_t room;
    } texts[] = { { "hone.adapter.base.sha256", c->base, sizeof c->base },
                  { "hone.adapter.tokenizer.sha256", c->tokenizer, sizeof c->tokenizer },
                  { "hone.adapter.template.sha256", c->template, sizeof c->template },
                  { "hone.train.data.sha256", c->data, sizeof c->data },
                  { "hone.adapter.numerics", c->numerics, sizeof c->numerics } };
    const struct {
        const char *key;
        int64_t *to;
    } counts[] = { { "hone.train.steps", &c->steps }, { "hone.train.examples", &c->examples }, { "hone.train.tokens", &c->tokens } };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (find(r, texts[i].key, HN_LM_TEXT, &item))
            take_text(&item, texts[i].to, texts[i].room);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (find(r, counts[i].key, HN_LM_INT, &item))
            *counts[i].to = item.integer;
    c->has_last = find(r, "hone.train.last_loss", HN_LM_REAL, &item);
    c->last_loss = c->has_last ? item.real : 0;
    c->has_held = find(r, "hone.train.held_loss", HN_LM_REAL, &item);
    c->held_loss = c->has_held ? item.real : 0;
    if (find(r, "hone.train.config", HN_LM_TEXT, &item))
        take_settings(c, &item);
}

hn_status hn_contract_read(hn_contract *c, hn_engine *engine, const char *path)
{
    reading r = { .to = c };
    const hn_status status = hn_lm_file_open(&r.file, engine, path, NULL, 0);
    if (status == HN_OK)
        read_all(&r);
    hn_lm_file_close(r.file);
    return status;
}

/* ---- told ---- */

static void text(hn_json_writer *w, const char *key, const char *value) { hn_json_put_text(w, key, *value ? value : NULL); }

static void count(hn_json_writer *w, const char *key, int64_t value)
{
    hn_json_key(w, key);
    value > 0 ? hn_json_add_int(w, value) : hn_json_add_null(w);
}

static void number(hn_json_writer *w, const char *key, double value, bool is_there)
{
    hn_json_key(w, key);
    is_there ? hn_json_add_double(w, value) : hn_json_add_null(w);
}

void hn_contract_tell(const hn_contract *c, const char *digest, double scale, hn_json_writer *w)
{
    hn_json_begin_object(w);
    text(w, "sha256", digest);
    number(w, "scale", scale, true);
    text(w, "base", c->base);
    text(w, "tokenizer", c->tokenizer);
    text(w, "template", c->template);
    text(w, "numerics", c->numerics);
    hn_json_put_bool(w, "is_tried", c->trial.was_tried != 0);
    number(w, "kl", c->trial.kl, c->trial.was_tried != 0);
    number(w, "budget", c->trial.budget, c->trial.was_tried != 0);
    text(w, "note", c->trial.note);
    text(w, "overridden", c->trial.overridden);
    text(w, "data", c->data);
    text(w, "targets", c->targets);
    count(w, "rank", c->rank);
    count(w, "steps", c->steps);
    count(w, "examples", c->examples);
    count(w, "tokens", c->tokens);
    number(w, "last_loss", c->last_loss, c->has_last);
    number(w, "held_loss", c->held_loss, c->has_held);
    hn_json_key(w, "certificate");
    hn_adapter_proof_tell(&c->proof, w);
    text(w, "certificate_refused", c->proof.why_not);
    hn_json_end_object(w);
}
