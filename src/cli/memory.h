/* memory.h: what a model takes while it runs: foretold before, and measured after. */
#ifndef HN_CLI_MEMORY_H
#define HN_CLI_MEMORY_H

#include "cli/machine_options.h"
#include "infer/session.h"

#include <stdio.h>

typedef struct hn_memory {
    int64_t n_ctx;
    uint64_t file;      /* weights, where they are mapped */
    uint64_t cache, workspace;
    uint64_t other;     /* tokenizer, names, graph, plan, the program itself */
} hn_memory;

static inline uint64_t hn_memory_total(const hn_memory *m)
{
    return m->file + m->cache + m->workspace + m->other;
}

/* Opens the model and plans a session; allocates neither cache nor workspace. */
hn_status hn_memory_foretell(const char *model, const hn_ignored *ignored,
                             const hn_session_options *options, const hn_machine_args *machine,
                             hn_memory *out);

/* What the process had resident at once so far, pages of files included; 0 where no account is kept. */
uint64_t hn_memory_peak(void);

/* The process's own, by the system's account, as one line. HN_ERR_UNSUPPORTED where it keeps none. */
hn_status hn_memory_print_used(FILE *out);

#endif
