/* The parts of a proof put together: data read as a training run would, devices of one thread, of several, and of
 * weaker instructions, to compare bits with. */
#include "cli/prove_model.h"

#include "base/sha256.h"
#include "cli/cache_folder.h"
#include "cli/progress.h"
#include "models/identity.h"
#include "prove/answer_proof.h"
#include "prove/env.h"
#include "train/input.h"
#include "train/run_told.h"

/* The first examples as the data has them: more tokens than a proof will take. */
static hn_status read_batch(const hn_train_input *in, hn_batch *out)
{
    hn_example example = hn_example_on(in->heap);
    hn_status status = HN_OK;
    const hn_dataset *d = in->data.dataset;
    for (uint64_t i = 0; i < d->n && out->n_tokens < 256 && status == HN_OK; i++) {
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
static hn_status open_devices(hn_heap *heap, int threads, int *n, hn_device **devices)
{
    for (int i = 0; i <= threads && *n < HN_MAX_DEVICES; i++) {
        hn_device *one[HN_MAX_DEVICES];
        int opened;
        const hn_device_options o = { .n_threads = i };
        HN_TRY(hn_devices_open(heap, "cpu", &o, &opened, one));
        devices[(*n)++] = one[0];
    }
    return HN_OK;
}

static hn_status prove(const hn_prove_model_args *args, hn_train_input *in, hn_report *report,
                       hn_str *subject)
{
    enum { RANK = 8 };
    hn_device *devices[HN_MAX_DEVICES], *levels[HN_N_LEVELS + 1];
    hn_batch batch = hn_batch_on(in->heap);
    hn_str slice = hn_str_on(in->heap);
    hn_tune_targets targets = { 0 };
    const hn_tune_settings plain = { .how = HN_TUNE_LORA, .rank = args->rank ? args->rank : RANK };
    hn_model_proof_options o = { .seed = (uint64_t)args->seed, .directions = (int)args->directions,
                                 .full = args->full, .heap = in->heap, .run = { 0, devices, HN_NUMERICS_F32 },
                                 .levels = levels, .progress = hn_progress };
    hn_status status = hn_numerics_parse(args->numerics, &o.run.numerics);
    if (status == HN_OK && hn_answers_only(o.run.numerics) && (args->targets || args->rank || args->directions))
        status = hn_fail(HN_ERR_ARGUMENT, "--targets, --rank, --directions: nothing is trained in %s",
                         hn_numerics_name(o.run.numerics));
    if (status == HN_OK)
        status = read_batch(in, &batch);
    if (status == HN_OK && args->targets) {
        status = hn_tune_targets_parse(in->heap, args->targets, &plain, &targets);
        o.targets = &targets;
    }
    if (status == HN_OK)
        status = open_devices(in->heap, args->threads ? (int)args->threads : 3, &o.run.n_devices, devices);
    if (status == HN_OK)
        status = hn_prove_levels_open(in->heap, levels, &o.n_levels);
    hn_progress_begin();
    if (status == HN_OK)
        status = hn_model_prove(in->model, &batch, &o, report, &slice);
    hn_progress_end();
    describe(in, &slice, o.run.numerics, subject);
    hn_devices_close(o.n_levels, levels);
    hn_devices_close(o.run.n_devices, devices);
    hn_tune_targets_free(in->heap, &targets);
    hn_str_free(&slice);
    hn_batch_free(&batch);
    return status == HN_OK ? hn_str_status(subject) : status;
}

static bool watch(void *context, uint64_t done, uint64_t all)
{
    return hn_progress(context, (double)done / (double)all, "reading examples");
}

/* The bar ends before anything is refused. */
static void found(void *context, const hn_preflight *report, const hn_dataset *dataset)
{
    (void)context, (void)report, (void)dataset;
    hn_progress_end();
}

static hn_status open_input(const hn_prove_model_args *args, const char *model, hn_run_told *told, hn_train_input *in)
{
    const hn_train_look look = { .watch = watch, .found = found };
    *told = hn_run_told_nothing();
    for (int i = 0; i < args->settings.n; i++)
        HN_TRY(hn_run_told_set(told, args->settings.at[i].of->name, args->settings.at[i].value));
    const hn_data_choice choice = hn_run_told_choice(told);
    hn_progress_begin();
    const hn_status status = hn_train_input_open(in, model, &choice, args->files.at, args->files.n, &look);
    hn_progress_end();
    HN_TRY(status);
    hn_model_keep_identity(in->model, hn_cache_folder());
    return HN_OK;
}

hn_status hn_prove_model(const hn_prove_model_args *args, hn_heap *heap, const char *model,
                         hn_report *report, hn_str *subject)
{
    hn_train_input in = { .heap = heap };
    hn_run_told *told = hn_alloc(heap, HN_TAG_TEXT, sizeof *told);
    hn_status status = told ? open_input(args, model, told, &in) : HN_ERR_MEMORY;
    if (status == HN_OK)
        status = prove(args, &in, report, subject);
    hn_train_input_close(&in);
    hn_free(heap, told);
    return status;
}
