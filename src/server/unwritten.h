/* unwritten.h: what somebody says to a model and its template passes over. Templates know some roles and say nothing of the others: Qwen3's
 * writes no message of a developer, SmolLM3's no second one of the system, Phi's no result of a tool. The model would answer as if it had
 * not been said. What the model itself said before is the template's own to write: thoughts, calls, and a text beside calls. */
#ifndef HN_SERVER_UNWRITTEN_H
#define HN_SERVER_UNWRITTEN_H

#include "server/answer.h"

/* `messages` and options as hn_lm_render took them, and rendered well. False: a message with words is not written. */
bool hn_unwritten_check(const hn_answer *a, const char *messages, const hn_lm_render_options *o, hn_failure *why);

#endif
