/* bench_drafts.h: what guessing ahead brings, by kind of prompt: how many guesses are right, and how fast a text comes, with
 * guesses and without, in turn. A text that is not the same is a failure. */
#ifndef HN_CLI_BENCH_DRAFTS_H
#define HN_CLI_BENCH_DRAFTS_H

#include "cli/bench_model.h"
#include "cli/draft_options.h"

/* `prompts`: lines of JSON, each with `kind`, and `prompt` or `messages`. Without draft options n-grams are taken. A line for each kind,
 * temperature and way of guessing. */
hn_status hn_bench_drafts(hn_heap *heap, const char *model, const char *prompts, const hn_bench_model_args *args,
                          const hn_draft_args *draft, hn_json_writer *json, FILE *out);

#endif
