/* memory.h: what a model takes while it runs: foretold before, and measured after. */
#ifndef HN_CLI_MEMORY_H
#define HN_CLI_MEMORY_H

#include "cli/machine_options.h"
#include "hone/plan.h"

#include <stdio.h>

static inline uint64_t hn_memory_total(const hn_lm_sizes *m)
{
    return m->weights + m->cache + m->workspace + m->other;
}

/* hn_lm_measure of a model that is opened for it; `other` has the program itself too. */
hn_status hn_memory_foretell(const char *model, const hn_list *ignored, const hn_lm_session_options *options,
                             const hn_machine_args *machine, hn_lm_sizes *out);

/* What the process had resident at once so far, pages of files included; 0 where no account is kept. */
uint64_t hn_memory_peak(void);

/* The process's own, by the system's account, as one line. HN_ERR_UNSUPPORTED where it keeps none. */
hn_status hn_memory_print_used(FILE *out);

#endif
