/* prove_model.h: `hone prove MODEL`: the certificate of one model, its data and this machine. */
#ifndef HN_CLI_PROVE_MODEL_H
#define HN_CLI_PROVE_MODEL_H

#include "cli/command.h"
#include "prove/report.h"

typedef struct hn_prove_model_args {
    hn_settings settings;
    hn_list files;
    const char *targets, *numerics;
    int64_t rank, directions, threads, seed;
    bool full;
} hn_prove_model_args;

/* Fills the report; *subject says what was looked at, for people and for the certificate. */
hn_status hn_prove_model(const hn_prove_model_args *args, hn_heap *heap, const char *model,
                         hn_report *report, hn_str *subject);

#endif
