/* Merging on an engine: the adapter is held to its contract, what is left of it is measured. */
#include "base/file.h"
#include "convert/merge.h"
#include "convert/recipe.h"
#include "engine/files.h"
#include "models/identity.h"
#include "models/open_tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What a model says about something that it has not been trained on today. */
static const char passage[] =
    "The ferry was late again, and the people on the quay had begun to talk to each other. A woman "
    "with a basket of plums said that the engine had been repaired twice since spring. Her neighbour, "
    "who taught arithmetic, counted on his fingers: three delays in April, five in May, and today was "
    "only the ninth of June. \"If it goes on like this,\" he said, \"we shall need a bridge.\"\n\n"
    "Question: what is the capital of Portugal?\nAnswer: Lisbon.\n\n"
    "def mean(values):\n    total = 0\n    for value in values:\n        total += value\n    return "
    "total / len(values)\n\n"
    "Water boils at 100 degrees Celsius at sea level, and at about 93 degrees on a mountain of 2,000 "
    "metres, because the air there presses less. For the same reason pasta takes longer to cook in "
    "the hills, and a closed pot cooks faster than an open one.\n\n"
    "Then the horn sounded twice behind the lighthouse. The children ran to the railing, the teacher "
    "put his watch away, and somebody laughed. Nobody mentioned the bridge any more.\n";

enum { CHUNK = 256, MOST_TOKENS = 2048, MOST_BYTES = 1 << 24 };

typedef struct held_text {
    hn_encoding encoding;
    int32_t bos;
} held_text;

static hn_status read_held(hn_heap *heap, const char *model, const char *path, held_text *out)
{
    void *own = NULL;
    const void *text = passage;
    size_t bytes = sizeof passage - 1;
    hn_tokenizer *tok;
    const hn_encode_options plain = { .add_bos = HN_NO, .add_eos = HN_NO };
    HN_TRY(hn_open_tokenizer(heap, model, &tok));
    hn_status status = HN_OK;
    if (path) {
        status = hn_file_read_text(heap, path, MOST_BYTES, &own, &bytes);
        text = own;
    }
    if (status == HN_OK)
        status = hn_tokenizer_encode(tok, text, bytes, &plain, &out->encoding);
    if (status == HN_OK && !out->encoding.n)
        status = hn_fail(HN_ERR_ARGUMENT, "%s: there is no text in it", path);
    out->bos = hn_tokenizer_adds_bos(tok) ? hn_tokenizer_special(tok, HN_SPECIAL_BOS) : -1;
    hn_free(heap, own);
    hn_tokenizer_free(tok);
    return status;
}

/* ---- what was measured ---- */

struct hn_lm_merge_report {
    hn_heap *heap;
    hn_merge_report inner;
    hn_lm_merge_sum sum;
    hn_lm_merged *tensors;
    char *names; /* of these, one after another: the model goes */
};

/* Room for what can be told of a model's tensors, before any is written: a file that has its name is not given up for a
 * report that there is no memory for. */
static hn_status reserve(hn_lm_merge_report *r, const hn_model *model)
{
    hn_gguf *gguf = hn_model_gguf(model);
    const size_t n = gguf ? hn_gguf_weights(gguf)->n : 0;
    size_t bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(hn_gguf_weights(gguf)->entries[i].name) + 1;
    r->tensors = hn_alloc_array(r->heap, HN_TAG_FILE, n + 1, sizeof *r->tensors);
    r->names = hn_alloc(r->heap, HN_TAG_FILE, bytes);
    return r->tensors && r->names ? HN_OK : HN_ERR_MEMORY;
}

/* Every tensor of it is one of the model's. */
static void fill(hn_lm_merge_report *r)
{
    const hn_merge_report *in = &r->inner;
    r->sum = (hn_lm_merge_sum){ .n_tensors = in->n, .kept = in->kept, .kl = in->kl, .kl_base = in->kl_base,
                                .fits = in->fits, .better = in->has_better ? hn_dtype_name(in->better) : NULL };
    char *name = r->names;
    for (size_t i = 0; i < in->n; i++) {
        const hn_merged *t = &in->tensors[i];
        const hn_merge_sums *s = &t->sums;
        const size_t n = strlen(t->name) + 1;
        memcpy(name, t->name, n);
        r->tensors[i] = (hn_lm_merged){ .name = name, .from = hn_dtype_name(t->from), .to = hn_dtype_name(t->to),
                                        .update = sqrt(s->change), .weight = sqrt(s->base),
                                        .kept = s->change > 0 ? s->along / s->change : 1,
                                        .error = s->change > 0 ? sqrt(s->error / s->change) : 0 };
        name += n;
    }
}

const hn_lm_merge_sum *hn_lm_merge_report_sum(const hn_lm_merge_report *report)
{
    HN_ENTER();
    return report ? &report->sum : NULL;
}

const hn_lm_merged *hn_lm_merge_report_tensor(const hn_lm_merge_report *report, size_t i)
{
    HN_ENTER();
    return report && i < report->sum.n_tensors ? &report->tensors[i] : NULL;
}

void hn_lm_merge_report_free(hn_lm_merge_report *report)
{
    HN_ENTER();
    if (!report)
        return;
    hn_merge_report_free(&report->inner);
    hn_free(report->heap, report->tensors);
    hn_free(report->heap, report->names);
    hn_free(report->heap, report);
}

/* ---- all of it ---- */

typedef struct merging {
    hn_engine *engine;
    const char *model, *adapter, *out;
    hn_lm_merge_options o;
    hn_ignored ignored;
    hn_merge_options inner;
    hn_chat_input chat;
    hn_model *opened;
    hn_adapters adapters;
    hn_pool *pool;
    held_text held;
    hn_run_spec run;
} merging;

/* A zero is the default; what is below it stands for a zero that is meant. */
static double or_default(double given, double otherwise)
{
    return given < 0 ? 0 : given > 0 ? given : otherwise;
}

static hn_status read_type(merging *m)
{
    hn_merge_options *inner = &m->inner;
    if (!m->o.type)
        return HN_OK;
    inner->has_dtype = true;
    char option[80];
    snprintf(option, sizeof option, "--type %s", m->o.type);
    return hn_weight_type_parse(option, m->o.type, &inner->dtype);
}

static hn_status take_options(merging *m, const hn_lm_merge_options *options)
{
    HN_TRY(hn_take_struct("hn_lm_merge_options", options, sizeof m->o, &m->o));
    HN_TRY(hn_take_ignored("hn_lm_merge_options", m->o.ignored_keys, m->o.n_ignored_keys, &m->ignored));
    HN_REQUIRE(isfinite(m->o.budget), HN_ERR_ARGUMENT, "--budget %g: expected a finite number", m->o.budget);
    HN_REQUIRE(m->o.keep <= 1, HN_ERR_ARGUMENT, "--keep %g: expected a share, 0 to 1", m->o.keep);
    m->inner = (hn_merge_options){ .most_kl = or_default(m->o.budget, 0.01), .least_kept = or_default(m->o.keep, 0.9),
                                   .is_forced = m->o.is_forced != 0 };
    return HN_OK;
}

static hn_status choose_template(merging *m, char digest[65])
{
    const char *which;
    const hn_template_choice choice = { m->o.template_file, m->o.template_name };
    HN_TRY(hn_chat_input_open(&m->chat, m->model));
    HN_TRY(hn_chat_input_choose(&m->chat, &choice, &which));
    hn_chat_format_source(m->chat.chat, which, &m->inner.template);
    hn_chat_format_digest(m->chat.chat, which, digest);
    return HN_OK;
}

static hn_status open_input(merging *m)
{
    hn_heap *heap = &m->engine->heap;
    hn_adapter *adapter;
    char template[65];
    const bool is_chosen = m->o.template_file || m->o.template_name;
    if (is_chosen)
        HN_TRY(choose_template(m, template));
    HN_TRY(hn_model_open(heap, m->model, &m->ignored, &m->opened));
    hn_model_keep_identity(m->opened, m->o.digests);
    const hn_adapter_use use = { .may_be_forced = true, .model = m->opened, .run = m->run, .as_trained = true,
                                 .template = is_chosen ? template : NULL };
    HN_TRY(hn_adapter_open(&adapter, heap, m->adapter, &use, NULL));
    const hn_status status = hn_adapters_add(&m->adapters, adapter);
    if (status != HN_OK) {
        hn_adapter_close(adapter);
        return status;
    }
    HN_TRY(read_held(heap, m->model, m->o.held, &m->held));
    return hn_engine_pool(m->engine, &m->pool);
}

static hn_status run(merging *m, hn_lm_merge_report *report)
{
    hn_watch watch = hn_engine_watch(m->engine);
    hn_sink to;
    HN_TRY(hn_take_sink(m->out, m->o.overwrite, &to));
    HN_TRY(open_input(m));
    HN_TRY(read_type(m));
    HN_TRY(reserve(report, m->opened));
    const int64_t longest = hn_hparams_longest(hn_model_hparams(m->opened));
    m->inner.text = (hn_divergence_text){ .tokens = m->held.encoding.ids, .bos = m->held.bos,
                                          .chunk = longest > 1 && longest < CHUNK ? longest : CHUNK,
                                          .n = m->held.encoding.n < MOST_TOKENS ? m->held.encoding.n : MOST_TOKENS };
    return hn_merge(&m->engine->heap, m->pool, m->run, m->opened, &m->adapters,
                    to, &m->inner, &watch, &report->inner);
}

static void close_all(merging *m)
{
    hn_adapters_close(&m->adapters);
    hn_pool_free(m->pool);
    hn_model_close(m->opened);
    hn_encoding_free(&m->held.encoding);
    hn_chat_input_close(&m->chat);
}

/* The report outlives the model, whose names its tensors have: it is filled before that is closed. */
static hn_status keep_report(hn_lm_merge_report *report, hn_status status, hn_lm_merge_report **out)
{
    if (report->inner.n && (status == HN_OK || status == HN_ERR_NUMERIC)) {
        fill(report);
        *out = report;
    } else
        hn_lm_merge_report_free(report);
    return status;
}

hn_status hn_lm_merge(hn_engine *engine, const char *model, const char *adapter, const char *out,
                      const hn_lm_merge_options *options, hn_lm_merge_report **report)
{
    HN_ENTER();
    HN_REQUIRE(engine && model && adapter && out && report, HN_ERR_ARGUMENT,
               "hn_lm_merge: expected engine, model, adapter, out and report, found NULL");
    *report = NULL;
    HN_TRY(hn_engine_check(engine));
    merging m = { .engine = engine, .model = model, .adapter = adapter, .out = out,
                  .chat = { .heap = &engine->heap },
                  .run = engine->run };
    HN_TRY(take_options(&m, options));
    hn_lm_merge_report *made = hn_alloc(&engine->heap, HN_TAG_FILE, sizeof *made);
    if (!made)
        return HN_ERR_MEMORY;
    made->heap = &engine->heap;
    const hn_status status = keep_report(made, run(&m, made), report);
    close_all(&m);
    return status;
}
