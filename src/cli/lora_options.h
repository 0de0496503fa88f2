/* lora_options.h: the options of every command that runs a model with adapters, and their opening. */
#ifndef HN_CLI_LORA_OPTIONS_H
#define HN_CLI_LORA_OPTIONS_H

#include "cli/command.h"
#include "hone/adapter.h"

typedef struct hn_lora_args {
    hn_list files;
    bool force;
} hn_lora_args;

/* Of a command whose args have a field `lora`. */
#define HN_LORA_OPTIONS(type)                                                                  \
    HN_LIST(type, lora.files, "lora", "FILE[:SCALE]", "an adapter; applied in this order"),    \
        HN_FLAG(type, lora.force, "force", "take adapters of another base, tokenizer or template")

/* Of their rules. */
#define HN_LORA_RULES { "force", HN_ONLY_WITH, "lora", NULL }

/* A word of --lora: its file and its scale. */
hn_status hn_lora_split(const char *word, char *path, size_t room, double *scale);
/* On stderr, what is to be known of one that runs in these numerics. */
void hn_lora_tell(const char *path, const hn_lm_adapter_trial *told, hn_lm_numerics numerics);
/* Tries and applies them all, in order. What --force let pass, and what else is to be known, is told on stderr. */
hn_status hn_lora_apply(const hn_lora_args *args, hn_lm *lm, hn_lm_numerics numerics);

#endif
