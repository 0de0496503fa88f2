#include "cli/train_options.h"

#include "cli/cache_folder.h"
#include "cli/progress.h"
#include "models/identity.h"

static bool watch(void *context, uint64_t done, uint64_t all)
{
    (void)context;
    return hn_progress(NULL, (double)done / (double)all, "reading examples");
}

/* The bar ends before anything is printed, or refused. */
static void found(void *context, const hn_preflight *report, const hn_dataset *dataset)
{
    hn_progress_end();
    if (context)
        hn_preflight_print(report, dataset, context);
}

hn_status hn_train_args_open(hn_train_input *in, const char *model, const hn_data_args *data,
                             const hn_list *files, int threads, FILE *shows)
{
    const hn_data_choice choice = hn_data_args_choice(data);
    const hn_train_look look = { .context = shows, .watch = watch, .found = found };
    const hn_device_options open = { .n_threads = threads };
    hn_progress_begin();
    const hn_status status =
        hn_train_input_open(in, model, &choice, files->at, files->n, &look);
    hn_progress_end();
    HN_TRY(status);
    hn_model_keep_identity(in->model, hn_cache_folder());
    return hn_devices_open(in->heap, "cpu", &open, &in->n_devices, in->devices);
}
