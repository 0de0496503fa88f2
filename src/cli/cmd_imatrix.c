/* hone imatrix: how much each input of each matrix of a model matters, for `quantize`. */
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/made.h"
#include "cli/open_model.h"
#include "cli/progress.h"
#include "hone/eval.h"

#include <string.h>

typedef struct imatrix_args {
    hn_sink out;
    int64_t chunk, chunks;
    hn_machine_args machine;
    hn_list ignore;
} imatrix_args;

static const hn_option options[] = {
    HN_OUT(imatrix_args, out, "out", "OUT.gguf", "required"),
    HN_INT(imatrix_args, chunk, "chunk", "N", 2, 1048576, "tokens run together; default 512, or the model's context where that is less"),
    HN_INT(imatrix_args, chunks, "chunks", "N", 1, INT32_MAX, "at most so many; default: all"),
    HN_DEVICE_OPTIONS(imatrix_args),
    HN_IGNORE_OPTION(imatrix_args),
    HN_OPTION_END,
};

static hn_status run_model(const imatrix_args *args, const hn_opened *opened, const char *file, FILE *out)
{
    hn_heap heap;
    hn_ids ids;
    const char *slash = strrchr(file, '/');
    const hn_lm_imatrix_options o = { .size = sizeof o, .chunk = args->chunk, .max_chunks = args->chunks,
                                      .dataset = slash ? slash + 1 : file,
                                      .overwrite = args->out.over == HN_OVER_OLD };
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_ids_of_file(opened->lm, &heap, file, &ids));
    hn_progress_of(opened->engine);
    const hn_status status = hn_lm_write_imatrix(opened->lm, ids.at, ids.n, args->out.path, &o);
    hn_progress_end();
    hn_free(&heap, ids.at);
    return hn_made(status, opened->engine, args->out.path, out);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const imatrix_args *args = parsed;
    hn_opened opened;
    HN_REQUIRE(args->out.path, HN_ERR_ARGUMENT, "expected --out OUT.gguf");
    HN_TRY(hn_opened_open(&opened, HN_OPEN_ALL, operands[0], &args->machine, &args->ignore, NULL));
    const hn_status status = run_model(args, &opened, operands[1], out);
    hn_opened_close(&opened);
    return status;
}

const hn_command hn_cmd_imatrix = {
    .name = "imatrix",
    .operands = "MODEL TEXT_FILE",
    .summary = "measure which inputs of a model's matrices matter",
    .example = "imatrix m.gguf text.txt --out i.gguf",
    .options = options,
    .args_size = sizeof(imatrix_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
