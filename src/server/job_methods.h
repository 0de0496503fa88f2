/* job_methods.h: how a job may train: the losses of the library, as requests call them. The one that is minimised where nothing
 * is said is "supervised", as OpenAI has it; the others have their own names, and what a loss takes and reads is asked of it:
 * nothing here knows one. */
#ifndef HN_SERVER_JOB_METHODS_H
#define HN_SERVER_JOB_METHODS_H

#include "base/json.h"
#include "hone/examples.h"

/* "supervised", "dpo"; NULL: past the last. */
const char *hn_job_method_name(size_t i);
/* NULL: there is none of this name. */
const hn_finetune_goal *hn_job_method_goal(const char *method);
/* Whether it is what is minimised where nothing is said. */
bool hn_job_method_is_plain(const hn_finetune_goal *goal);

/* "beta", "kl-weight": settings that some of them read; NULL: past the last. */
const char *hn_job_method_number(size_t i);
/* "dpo, orpo or kto": those that read it. */
void hn_job_methods_of_number(const char *number, char *to, size_t room);

/* An array of those that take examples of a kind, by its word in a file's record: "pair". */
void hn_job_methods_write(const char *kind, hn_json_writer *to);
/* That word. */
const char *hn_job_kind_word(hn_examples_kind kind);

#endif
