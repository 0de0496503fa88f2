/* anthropic.h: Anthropic's form of asking for a chat: what it says where there is no answer yet, and what it asks for in OpenAI's form. */
#ifndef HN_SERVER_ANTHROPIC_H
#define HN_SERVER_ANTHROPIC_H

#include "server/answer.h"

/* {"type": "error", "error": {...}}, of its own or as an event. */
void hn_anthropic_fail(const hn_failure *f, bool in_stream, hn_str *out);
/* Messages, system, tools and the rest of a body that was checked: the answer's body is then as POST /v1/chat/completions has it. */
bool hn_anthropic_translate(hn_answer *a, hn_failure *why);

#endif
