/* The certificate of a model and of examples. */
#include "base/sha256.h"
#include "engine/examples.h"
#include "engine/lm.h"
#include "engine/prove.h"
#include "prove/answer_proof.h"

enum { MOST_THREADS = 8, USUAL_THREADS = 3, MOST_DIRECTIONS = 1000, USUAL_RANK = 8, MOST_RANK = 65536, ENOUGH_TOKENS = 256 };

/* The first examples as the data has them: more tokens than a proof will take. */
static hn_status read_batch(const hn_train_input *in, hn_batch *out)
{
    hn_example example = hn_example_on(in->heap);
    hn_status status = HN_OK;
    const hn_dataset *d = in->data.dataset;
    for (uint64_t i = 0; i < d->n && out->n_tokens < ENOUGH_TOKENS && status == HN_OK; i++) {
        if (d->fates[i] != HN_FATE_TRAINED)
            continue;
        status = hn_dataset_read(d, i, &example);
        if (status == HN_OK)
            status = hn_batch_add(out, &example);
    }
    hn_example_free(&example);
    return status;
}

static void describe(const hn_train_input *in, const hn_str *slice, hn_numerics numerics, hn_str *subject)
{
    const hn_dataset *d = in->data.dataset;
    hn_str_print(subject, "%s in %s: %s; data", hn_model_path(in->model), hn_numerics_name(numerics), slice->text);
    for (int i = 0; i < d->n_files; i++) {
        char digest[65];
        hn_sha256_text(d->files[i].source.digest, digest);
        hn_str_print(subject, " %s (%.16s...)", d->files[i].source.path, digest);
    }
}

/* Devices of 1 to `threads` threads; the first has as many as there are processors. */
static hn_status open_devices(hn_heap *heap, int threads, hn_isa allowed, int *n, hn_device **devices)
{
    hn_isa host;
    hn_isa_text best;
    HN_TRY(hn_prove_levels(heap, allowed, &host));
    hn_isa_name(host, &best);
    for (int i = 0; i <= threads && *n < HN_MAX_DEVICES; i++) {
        const hn_device_options o = { .n_threads = i, .isa = best.at };
        HN_TRY(hn_device_open(&devices[*n], heap, i, &o));
        ++*n;
    }
    return HN_OK;
}

/* On each of the engine's devices of another backend, as it was on the processor: derivatives, plans and cuts are its own. */
static hn_status prove_on_others(const hn_examples *e, const hn_batch *batch, const hn_model_proof_options *first, hn_certificate *c)
{
    hn_status status = HN_OK;
    for (int i = 0; i < c->n_others && status == HN_OK; i++) {
        hn_model_proof_options on = *first;
        hn_str slice = hn_str_on(c->heap);
        on.run.n_devices = 1;
        on.run.devices = &c->others[i];
        on.n_levels = on.n_others = 0;
        c->report.on = c->others[i]->name;
        status = hn_model_prove(e->in.model, batch, &on, &c->report, &slice);
        c->report.on = NULL;
        hn_str_free(&slice);
    }
    return status;
}

/* `o` has been checked. */
static hn_status prove(hn_examples *e, const hn_examples_prove_options *o, hn_numerics numerics, hn_certificate *c)
{
    hn_heap *heap = &e->engine->heap;
    hn_device *devices[HN_MAX_DEVICES], *levels[HN_N_LEVELS + 1], *others[HN_MAX_DEVICES];
    hn_batch batch = hn_batch_on(heap);
    hn_str slice = hn_str_on(heap);
    hn_tune_targets targets = { 0 };
    const hn_tune_settings plain = { .how = HN_TUNE_LORA, .rank = o->rank ? o->rank : USUAL_RANK };
    const hn_run_options ends = { .cancel = hn_engine_cancelled(e->engine) };
    hn_model_proof_options inner = { .seed = c->seed, .directions = (int)o->directions, .full = o->is_full != 0, .heap = heap,
                                     .run = { 0, devices, numerics }, .levels = levels, .others = others, .ends = &ends,
                                     .progress = hn_engine_tell, .progress_context = e->engine };
    for (int i = 0; i < c->n_others; i++)
        if (c->others[i]->backend->gives_cpu_bits)
            others[inner.n_others++] = c->others[i];
    hn_status status = read_batch(&e->in, &batch);
    if (status == HN_OK && (o->targets || o->rank)) {
        status = hn_tune_targets_parse(heap, o->targets ? o->targets : "all", &plain, &targets);
        inner.targets = &targets;
    }
    if (status == HN_OK)
        status = open_devices(heap, o->n_threads ? o->n_threads : USUAL_THREADS, e->engine->isa, &inner.run.n_devices, devices);
    if (status == HN_OK)
        status = hn_prove_levels_open(heap, e->engine->isa, levels, &inner.n_levels);
    if (status == HN_OK)
        status = hn_model_prove(e->in.model, &batch, &inner, &c->report, &slice);
    if (status == HN_OK)
        status = prove_on_others(e, &batch, &inner, c);
    describe(&e->in, &slice, numerics, &c->subject);
    hn_certificate_tell_others(c);
    hn_devices_close(inner.n_levels, levels);
    hn_devices_close(inner.run.n_devices, devices);
    hn_tune_targets_free(heap, &targets);
    hn_str_free(&slice);
    hn_batch_free(&batch);
    return status;
}

static hn_status check_options(const hn_examples_prove_options *o, hn_numerics *numerics)
{
    HN_TRY(hn_inner_numerics("hn_examples_prove_options.numerics", o->numerics, numerics));
    HN_REQUIRE(o->rank >= 0 && o->rank <= MOST_RANK, HN_ERR_ARGUMENT,
               "hn_examples_prove_options.rank is %lld: expected 1 to %d, or 0", (long long)o->rank, MOST_RANK);
    HN_REQUIRE(o->directions >= 0 && o->directions <= MOST_DIRECTIONS, HN_ERR_ARGUMENT,
               "hn_examples_prove_options.directions is %lld: expected 1 to %d, or 0", (long long)o->directions,
               MOST_DIRECTIONS);
    HN_REQUIRE(o->n_threads == 0 || (o->n_threads >= 2 && o->n_threads <= MOST_THREADS), HN_ERR_ARGUMENT,
               "hn_examples_prove_options.n_threads is %d: expected 2 to %d, or 0", (int)o->n_threads, MOST_THREADS);
    HN_REQUIRE(!hn_answers_only(*numerics) || !(o->targets || o->rank || o->directions), HN_ERR_ARGUMENT,
               "--targets, --rank, --directions: nothing is trained in %s", hn_numerics_name(*numerics));
    return HN_OK;
}

hn_status hn_examples_prove(hn_examples *e, const hn_examples_prove_options *options, hn_certificate **out)
{
    HN_ENTER();
    hn_examples_prove_options o;
    hn_numerics numerics;
    hn_certificate *c;
    HN_REQUIRE(e && out, HN_ERR_ARGUMENT, "hn_examples_prove: expected examples and out, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(e->engine));
    HN_TRY(hn_take_struct("hn_examples_prove_options", options, sizeof o, &o));
    HN_TRY(check_options(&o, &numerics));
    HN_TRY(hn_certificate_begin(&c, e->engine, o.seed, o.on_check, o.context));
    hn_status status = hn_examples_want_model(e);
    if (status == HN_OK && o.result)
        status = hn_sha256_file(o.result, c->result);
    if (status == HN_OK)
        status = prove(e, &o, numerics, c);
    return hn_certificate_end(c, status, out);
}
