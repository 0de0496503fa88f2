/* hone export: an adapter for others: PEFT, or llama.cpp. */
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "cli/made.h"
#include "cli/progress.h"
#include "cli/template_options.h"
#include "hone/adapter.h"

typedef struct export_args {
    const char *base;
    hn_template_args template;
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

static const hn_option_rule rules[] = {
    { "template|template-name|ignore", HN_ONLY_WITH, "base", NULL },
    { NULL, 0, NULL, NULL },
};

static hn_status export(const export_args *args, hn_engine *engine, const char *adapter, FILE *out)
{
    const hn_sink to = args->gguf.path ? args->gguf : args->peft;
    const hn_lm_export_options o = {
        .size = sizeof o, .base = args->base, .template_file = args->template.file,
        .template_name = args->template.name, .is_apart = args->apart, .ignored_keys = args->ignore.at,
        .n_ignored_keys = args->ignore.n, .overwrite = to.over == HN_OVER_OLD,
    };
    hn_progress_of(engine);
    const hn_status status = args->gguf.path ? hn_lm_export_gguf(engine, adapter, to.path, &o)
                                             : hn_lm_export_peft(engine, adapter, to.path, &o);
    hn_progress_end();
    HN_TRY(status);
    return args->gguf.path ? hn_made_gguf(engine, to.path, out) : hn_made_folder(to.path, out);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const export_args *args = parsed;
    hn_engine *engine;
    HN_REQUIRE(!args->peft.path != !args->gguf.path, HN_ERR_ARGUMENT,
               "expected one of --peft DIR and --gguf FILE: where to write");
    HN_TRY(hn_machine_engine(&args->machine, &engine));
    const hn_status status = export(args, engine, operands[0], out);
    hn_machine_engine_free(engine);
    return status;
}

const hn_command hn_cmd_export = {
    .name = "export",
    .operands = "ADAPTER.gguf",
    .summary = "write an adapter for PEFT or llama.cpp",
    .example = "export run/adapter.gguf --peft peft --base m.gguf",
    .options = options,
    .rules = rules,
    .args_size = sizeof(export_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
