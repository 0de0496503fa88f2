/* responses_form.h: POST /v1/responses: what it asks, and the items that go in and come out. */
#ifndef HN_SERVER_RESPONSES_FORM_H
#define HN_SERVER_RESPONSES_FORM_H

#include "server/answer.h"

/* A body that was checked, as POST /v1/chat/completions has it; the items that go in, those of what it goes on from first, into
 * a->items. */
bool hn_responses_translate(hn_answer *a, hn_failure *why);

/* "logprobs" of the tokens whose text lies in the block; none where they are not asked for. */
void hn_responses_scores(hn_json_writer *w, const hn_choice *c, const hn_heard_block *b);
/* One item that came out: a block of what was said, under its number; `is_last` of an answer that was cut off is not completed. */
void hn_responses_item(hn_json_writer *w, const hn_choice *c, size_t block);
void hn_responses_item_id(const hn_choice *c, size_t block, char *to, size_t room);
/* The response's object: `status` "in_progress", "completed" and so on. */
void hn_responses_object(hn_json_writer *w, const hn_answer *a, const char *status, bool is_kept);

#endif
