/* hone export: a LoRA in GGUF as a PEFT adapter. */
#include "cli/command.h"
#include "cli/progress.h"
#include "convert/adapter_export.h"

typedef struct export_args {
    const char *base, *peft;
    int64_t threads;
} export_args;

static const hn_option options[] = {
    HN_TEXT(export_args, peft, "peft", "DIR", "where adapter_config.json and the weights go"),
    HN_TEXT(export_args, base, "base", "MODEL", "a GGUF file or directory that it is for"),
    HN_INT(export_args, threads, "threads", "N", 1, 256, "default: one a processor"),
    HN_OPTION_END,
};

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands, (void)out;
    const export_args *args = parsed;
    HN_REQUIRE(args->peft, HN_ERR_ARGUMENT, "expected --peft DIR: where to write");
    HN_REQUIRE(args->base, HN_ERR_ARGUMENT, "expected --base MODEL: what the adapter is for");
    hn_heap heap;
    hn_pool *pool;
    hn_heap_init(&heap, NULL);
    HN_TRY(hn_pool_new(&heap, (int)args->threads, &pool));
    hn_watch watch = { .progress = hn_progress };
    hn_progress_begin();
    const hn_status status =
        hn_adapter_export(&heap, pool, operands[0], args->base, args->peft, &watch);
    hn_progress_end();
    hn_pool_free(pool);
    return status;
}

const hn_command hn_cmd_export = {
    .name = "export",
    .operands = "ADAPTER.gguf",
    .summary = "write a LoRA in GGUF as a PEFT adapter",
    .options = options,
    .args_size = sizeof(export_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
