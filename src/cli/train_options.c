#include "cli/train_options.h"

#include "cli/cache_folder.h"
#include "cli/machine.h"
#include "cli/progress.h"
#include "models/identity.h"

#include <string.h>

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
                             const hn_list *files, const hn_machine_args *args, FILE *shows)
{
    const hn_data_choice choice = hn_data_args_choice(data);
    const hn_train_look look = { .context = shows, .watch = watch, .found = found };
    hn_machine machine;
    hn_progress_begin();
    const hn_status status =
        hn_train_input_open(in, model, &choice, files->at, files->n, &look);
    hn_progress_end();
    HN_TRY(status);
    hn_model_keep_identity(in->model, hn_cache_folder());
    HN_TRY(hn_machine_open(&machine, in->heap, args)); /* closed with the input */
    in->n_devices = machine.run.n_devices;
    memcpy(in->devices, machine.devices, sizeof in->devices);
    in->run = machine.run;
    in->run.devices = in->devices;
    return HN_OK;
}
