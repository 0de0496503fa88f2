/* Files of examples, for hosts: opened, read one by one, and checked. */
#include "engine/examples.h"

#include "base/sha256.h"
#include "engine/lm.h"
#include "models/identity.h"

#include <string.h>

/* ---- opening ---- */

static void take_files(hn_examples *e)
{
    const hn_dataset *d = e->in.data.dataset;
    for (int i = 0; i < d->n_files; i++) {
        const hn_data_source *s = &d->files[i].source;
        e->files[i] = (hn_examples_file){
            .path = s->path, .n = s->n, .weight = d->files[i].weight, .is_held = d->files[i].is_held,
            .format = s->layout == HN_LAYOUT_PARAGRAPHS ? "paragraphs of text" : hn_data_format_name(s->format),
        };
        hn_sha256_text(s->digest, e->files[i].sha256);
    }
}

hn_status hn_examples_find(hn_examples *e)
{
    e->choice = hn_run_told_choice(e->told);
    e->in.run = e->engine->run;
    HN_TRY(hn_train_input_find(&e->in, e->told->model, &e->choice, e->told->files, e->told->n_files));
    take_files(e);
    return HN_OK;
}

hn_status hn_examples_make(hn_examples **out, hn_engine *engine, hn_run_told *told, hn_run_file *file)
{
    hn_heap *heap = &engine->heap;
    hn_examples *e = hn_alloc(heap, HN_TAG_STATE, sizeof *e);
    *out = NULL;
    if (!e) {
        if (file)
            hn_run_file_close(file);
        hn_free(heap, file);
        hn_free(heap, told);
        return HN_ERR_MEMORY;
    }
    e->engine = engine;
    e->told = told;
    e->file = file;
    e->kept.heap = e->in.heap = heap;
    e->example = hn_example_on(heap);
    *out = e;
    return HN_OK;
}

static hn_status take_spec(hn_examples *e, const hn_examples_spec *s)
{
    const char *const *data, *const *settings;
    HN_REQUIRE(s->model, HN_ERR_ARGUMENT, "hn_examples_spec.model: expected a path, found NULL");
    HN_TRY(hn_take_list("hn_examples_spec.data", s->data, s->n_data, HN_MAX_DATA_FILES));
    HN_TRY(hn_take_list("hn_examples_spec.settings", s->settings, s->n_settings, HN_MAX_SETTINGS));
    HN_TRY(hn_kept_list(&e->kept, s->data, s->n_data, &data));
    HN_TRY(hn_kept_list(&e->kept, s->settings, s->n_settings, &settings));
    HN_TRY(hn_kept_text(&e->kept, s->digests, &e->digests));
    HN_TRY(hn_kept_text(&e->kept, s->model, &e->told->model));
    for (int32_t i = 0; i < s->n_data; i++)
        HN_TRY(hn_run_told_set(e->told, "data", data[i]));
    return hn_take_data_settings("hn_examples_spec.settings", settings, s->n_settings, e->told);
}

hn_status hn_examples_open(hn_examples **out, hn_engine *engine, const hn_examples_spec *spec)
{
    HN_ENTER();
    hn_examples_spec s;
    hn_examples *e;
    HN_REQUIRE(out && engine && spec, HN_ERR_ARGUMENT, "hn_examples_open: expected out, engine and spec, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(engine));
    HN_TRY(hn_take_struct("hn_examples_spec", spec, sizeof s, &s));
    HN_TELLS(engine);
    hn_run_told *told = hn_alloc(&engine->heap, HN_TAG_TEXT, sizeof *told);
    if (!told)
        return HN_ERR_MEMORY;
    *told = hn_run_told_nothing();
    HN_TRY(hn_examples_make(&e, engine, told, NULL));
    hn_status status = take_spec(e, &s);
    if (status == HN_OK)
        status = hn_examples_find(e);
    if (status == HN_OK)
        *out = e;
    else
        hn_examples_close(e);
    return hn_work_done(status, "finding examples");
}

void hn_examples_close(hn_examples *e)
{
    HN_ENTER();
    if (!e)
        return;
    hn_heap *heap = &e->engine->heap;
    hn_example_free(&e->example);
    hn_train_input_close(&e->in);
    hn_kept_free(&e->kept);
    if (e->file)
        hn_run_file_close(e->file);
    hn_free(heap, e->file);
    hn_free(heap, e->told);
    hn_free(heap, e);
}

/* ---- what there is ---- */

hn_examples_kind hn_examples_kind_of(const hn_examples *e)
{
    HN_ENTER();
    static const hn_examples_kind kinds[] = { [HN_SINGLES] = HN_EXAMPLES_SINGLE, [HN_PAIRS] = HN_EXAMPLES_PAIR,
                                              [HN_LABELLED] = HN_EXAMPLES_LABELLED };
    return e ? kinds[hn_goal_examples_of(e->in.data.dataset)] : HN_EXAMPLES_SINGLE;
}

uint64_t hn_examples_count(const hn_examples *e)
{
    HN_ENTER();
    return e ? e->in.data.dataset->n : 0;
}

const hn_examples_file *hn_examples_get_file(const hn_examples *e, size_t i)
{
    HN_ENTER();
    return e && i < (size_t)e->in.data.dataset->n_files ? &e->files[i] : NULL;
}

/* ---- one of them ---- */

_Static_assert((int)HN_EXAMPLES_NOBODY == HN_ROLE_NONE && (int)HN_EXAMPLES_SYSTEM == HN_ROLE_SYSTEM &&
                   (int)HN_EXAMPLES_USER == HN_ROLE_USER && (int)HN_EXAMPLES_ASSISTANT == HN_ROLE_ASSISTANT &&
                   (int)HN_EXAMPLES_TOOL == HN_ROLE_TOOL && (int)HN_EXAMPLES_PROMPT == HN_ROLE_PROMPT &&
                   (int)HN_EXAMPLES_TEXT == HN_ROLE_TEXT && HN_N_TOKEN_ROLES == HN_EXAMPLES_TEXT + 1,
               "roles are given out as they are");

const char *hn_examples_role_name(hn_examples_role role)
{
    HN_ENTER();
    return (unsigned)role < HN_N_TOKEN_ROLES ? hn_token_role_name((hn_token_role)role) : "";
}

static hn_examples_sequence view(const hn_sample *s)
{
    return (hn_examples_sequence){ .n = s->n, .ids = s->ids, .weights = s->weights, .roles = s->roles, .begin = s->begin,
                                   .end = s->end, .text = s->text.text, .bytes = s->text.length,
                                   .n_supervised = s->n_supervised, .n_cut = s->n_cut,
                                   .n_straddling = s->n_straddling };
}

hn_status hn_examples_read(hn_examples *e, uint64_t i, hn_examples_place *to, size_t size)
{
    HN_ENTER();
    HN_GIVES(hn_examples_place, out, to, size);
    HN_REQUIRE(e && to, HN_ERR_ARGUMENT, "hn_examples_read: expected examples and out, found NULL");
    HN_TRY(hn_engine_check(e->engine));
    hn_dataset *d = e->in.data.dataset;
    e->n_sequences = 0;
    d->rule.wants_roles = true; /* which are for showing alone, and cost a rendering a message */
    const hn_status status = hn_dataset_read(d, i, &e->example);
    d->rule.wants_roles = false;
    HN_TRY(status);
    const hn_dataset_file *file = hn_dataset_file_of(d, i);
    e->n_sequences = (size_t)e->example.n_parts;
    for (size_t k = 0; k < e->n_sequences; k++)
        e->sequences[k] = view(&e->example.part[k]);
    *out = (hn_examples_place){ file->source.path, hn_data_source_line(&file->source, (size_t)(i - file->first)),
                                e->n_sequences };
    return HN_OK;
}

const hn_examples_sequence *hn_examples_get_sequence(const hn_examples *e, size_t i)
{
    HN_ENTER();
    return e && i < e->n_sequences ? &e->sequences[i] : NULL;
}

const char *hn_examples_get_token(const hn_examples *e, size_t sequence, size_t t, size_t *bytes)
{
    HN_ENTER();
    const hn_examples_sequence *s = e && sequence < e->n_sequences ? &e->sequences[sequence] : NULL;
    if (bytes)
        *bytes = 0;
    if (!s || t >= s->n)
        return NULL;
    const hn_span text = s->end[t] > s->begin[t] ? (hn_span){ s->text + s->begin[t], s->end[t] - s->begin[t] }
                                                 : hn_tokenizer_piece(e->in.data.tok, s->ids[t]);
    if (bytes)
        *bytes = text.bytes;
    return text.data;
}

/* ---- all of them ---- */

static bool watch(void *examples, uint64_t done, uint64_t all)
{
    (void)examples;
    return hn_work_tell(done, all, "reading examples") == HN_OK;
}

static void found(void *examples, const hn_preflight *report, const hn_dataset *dataset)
{
    (void)report, (void)dataset;
    hn_examples_take_counts(examples);
}

static hn_status check(hn_examples *e)
{
    const hn_train_look look = { .context = e, .watch = watch, .found = found };
    HN_TRY(hn_engine_check(e->engine));
    hn_engine_tells(e->engine);
    return e->is_counted ? hn_preflight_verdict(&e->in.preflight, e->in.data.dataset)
                         : hn_train_input_check(&e->in, &look);
}

hn_status hn_examples_check(hn_examples *e)
{
    HN_ENTER();
    HN_REQUIRE(e, HN_ERR_ARGUMENT, "hn_examples_check: expected examples, found NULL");
    return hn_work_done(check(e), "reading examples");
}

hn_status hn_examples_want_model(hn_examples *e)
{
    hn_engine_tells(e->engine);
    const double read = e->is_counted ? 0 : 0.4;
    const hn_work_part first = hn_work_part_begin(0, read);
    HN_TRY(hn_work_part_end(&first, check(e)));
    if (e->in.model)
        return HN_OK;
    hn_str_clear(&e->in.data_text); /* of an attempt that failed */
    const hn_work_part second = hn_work_part_begin(read, read + 0.1);
    const hn_status status = hn_work_part_end(&second, hn_train_input_open_model(&e->in, e->told->model, &e->choice));
    if (status == HN_OK) {
        hn_model_keep_identity(e->in.model, e->digests);
        return HN_OK;
    }
    hn_model_close(e->in.model); /* one that does not go with the tokenizer is none */
    e->in.model = NULL;
    return status;
}
