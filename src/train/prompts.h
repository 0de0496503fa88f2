/* prompts.h: how a few examples begin, and what a model says next: the likeliest tokens, so that a difference between
 * two answers is the model's. Prompts end where supervision begins; examples without one give none. */
#ifndef HN_TRAIN_PROMPTS_H
#define HN_TRAIN_PROMPTS_H

#include "base/json.h"
#include "data/dataset.h"
#include "infer/session.h"

/* What its sessions take at most, and tokens of each answer. */
enum { HN_PROMPT_TOKENS = 1024, HN_ANSWER_TOKENS = 48, HN_PROMPTS_CONTEXT = HN_PROMPT_TOKENS + HN_ANSWER_TOKENS,
       HN_PROMPTS_BATCH = 256 };

typedef struct hn_prompt {
    int32_t *ids;
    int64_t n, n_all; /* the prompt, and what should come after it */
} hn_prompt;

typedef struct hn_prompts {
    hn_heap *heap;
    const hn_tokenizer *tok;
    hn_prompt *at;
    int n;
    int64_t longest, context; /* of the prompts; of the model */
} hn_prompts;

/* The first `most` that fit, of examples that are held out where there are any. */
hn_status hn_prompts_take(hn_prompts *prompts, hn_heap *heap, const hn_model *model, const hn_dataset *dataset, int most);
void hn_prompts_free(hn_prompts *prompts); /* takes a zeroed one */
/* For a session that has room for them and their answers. */
hn_session_options hn_prompts_session(const hn_prompts *prompts);
/* HN_ERR_CANCELLED: between two tokens. */
hn_status hn_prompt_answer(const hn_prompts *prompts, int i, hn_session *session, const hn_run_options *options_or_null, hn_str *out);
/* "prompt" and "expected" of an object that is begun. */
hn_status hn_prompt_tell(const hn_prompts *prompts, int i, hn_json_writer *json);

#endif
