/* hone imatrix: how much each input of each matrix of a model matters, for `quantize`. */
#include "base/file.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "infer/imatrix.h"
#include "models/open_tokenizer.h"

#include <string.h>

typedef struct imatrix_args {
    hn_sink out;
    int64_t chunk, chunks;
    hn_machine_args machine;
    hn_list ignore;
} imatrix_args;

static const hn_option options[] = {
    HN_OUT(imatrix_args, out, "out", "OUT.gguf", "required"),
    HN_INT(imatrix_args, chunk, "chunk", "N", 2, 1048576, "tokens run together; default 512"),
    HN_INT(imatrix_args, chunks, "chunks", "N", 1, INT32_MAX, "at most so many; default: all"),
    HN_DEVICE_OPTIONS(imatrix_args),
    HN_IGNORE_OPTION(imatrix_args),
    HN_OPTION_END,
};

static const imatrix_args defaults = { .chunk = 512 };

enum { MOST_BYTES = 1 << 30 };

static hn_status run_model(const imatrix_args *args, hn_heap *heap, const hn_model *model,
                           const hn_tokenizer *tok, const hn_encoding *text, const char *name)
{
    hn_machine machine;
    const char *slash = strrchr(name, '/');
    const hn_imatrix_options o = {
        .chunk = args->chunk,
        .max_chunks = args->chunks,
        .bos = hn_tokenizer_adds_bos(tok) ? hn_tokenizer_special(tok, HN_SPECIAL_BOS) : -1,
        .dataset = slash ? slash + 1 : name,
        .progress = hn_progress,
    };
    HN_TRY(hn_machine_open(&machine, heap, &args->machine));
    hn_progress_begin();
    const hn_status status =
        hn_imatrix_write(heap, model, machine.run, text->ids, text->n, args->out, &o);
    hn_progress_end();
    hn_machine_close(&machine);
    return status;
}

static hn_status run_text(const imatrix_args *args, hn_heap *heap, char **operands,
                          const hn_tokenizer *tok)
{
    void *text;
    size_t bytes;
    hn_model *model = NULL;
    hn_encoding encoding = { 0 };
    HN_TRY(hn_file_read(heap, operands[1], MOST_BYTES, &text, &bytes));
    hn_status status = hn_tokenizer_encode(tok, text, bytes, &(hn_encode_options){ .add_bos = HN_NO, .add_eos = HN_NO },
                                           &encoding);
    hn_free(heap, text);
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    if (status == HN_OK)
        status = hn_model_open(heap, operands[0], &ignored, &model);
    if (status == HN_OK)
        status = run_model(args, heap, model, tok, &encoding, operands[1]);
    hn_model_close(model);
    hn_encoding_free(&encoding);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const imatrix_args *args = parsed;
    hn_heap heap;
    hn_tokenizer *tok;
    HN_REQUIRE(args->out.path, HN_ERR_ARGUMENT, "expected --out OUT.gguf");
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_open_tokenizer(&heap, operands[0], &tok));
    const hn_status status = run_text(args, &heap, operands, tok);
    hn_tokenizer_free(tok);
    return hn_made(status, &heap, args->out.path, out);
}

const hn_command hn_cmd_imatrix = {
    .name = "imatrix",
    .operands = "MODEL TEXT_FILE",
    .summary = "measure which inputs of a model's matrices matter",
    .example = "imatrix m.gguf text.txt --out i.gguf",
    .options = options,
    .defaults = &defaults,
    .args_size = sizeof(imatrix_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
