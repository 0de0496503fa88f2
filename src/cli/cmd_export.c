/* hone export: an adapter for others: PEFT, or llama.cpp. */
#include "cli/ignore_option.h"
#include "cli/command.h"
#include "cli/machine_options.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "cli/template_options.h"
#include "convert/adapter_export.h"

typedef struct export_args {
    const char *base;
    hn_template_choice template;
    hn_sink peft, gguf;
    hn_machine_args machine;
    bool apart;
    hn_list ignore;
} export_args;

static const hn_option options[] = {
    HN_OUT_FOLDER(export_args, peft, "peft", "DIR", "where adapter_config.json and the weights go"),
    HN_OUT(export_args, gguf, "gguf", "FILE", "a file that llama.cpp loads"),
    HN_FLAG(export_args, apart, "apart", "a module an expert, as before Transformers 5"),
    HN_TEMPLATE_OPTIONS(export_args, template, "this chat template", ", if it was trained with it and does not carry it"),
    HN_TEXT(export_args, base, "base", "MODEL", "a GGUF file or directory that it is for"),
    HN_THREADS_OPTION(export_args),
    HN_IGNORE_OPTION(export_args),
    HN_OPTION_END,
};

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const export_args *args = parsed;
    hn_heap heap;
    hn_pool *pool;
    HN_REQUIRE(!args->peft.path != !args->gguf.path, HN_ERR_ARGUMENT,
               "expected one of --peft DIR and --gguf FILE: where to write");
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    hn_heap_init(&heap, NULL);
    HN_REQUIRE(!args->gguf.path || !args->apart, HN_ERR_ARGUMENT, "--apart is for --peft");
    HN_REQUIRE(args->gguf.path || args->base, HN_ERR_ARGUMENT,
               "expected --base MODEL: what the adapter is for");
    HN_TRY(hn_machine_pool(&args->machine, &heap, &pool));
    hn_watch watch = { .progress = hn_progress };
    hn_progress_begin();
    const hn_status status =
        args->gguf.path ? hn_adapter_export_gguf(&heap, pool, operands[0], &ignored, args->base, &args->template, args->gguf)
                   : hn_adapter_export(&heap, pool, operands[0], &ignored, args->base, &args->template, args->peft, args->apart,
                                       &watch);
    hn_progress_end();
    hn_pool_free(pool);
    if (status != HN_OK)
        return status;
    return args->gguf.path ? hn_made_gguf(&heap, args->gguf.path, out) : hn_made_folder(args->peft.path, out);
}

const hn_command hn_cmd_export = {
    .name = "export",
    .operands = "ADAPTER.gguf",
    .summary = "write an adapter for PEFT or llama.cpp",
    .example = "export run/adapter.gguf --peft peft --base m.gguf",
    .options = options,
    .args_size = sizeof(export_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
