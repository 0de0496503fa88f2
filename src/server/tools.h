/* tools.h: tools of a chat, and what its answer is held to for their sake: of a body in OpenAI's form, which all other forms are
 * translated to. */
#ifndef HN_SERVER_TOOLS_H
#define HN_SERVER_TOOLS_H

#include "server/answer.h"

enum { HN_MOST_TOOLS = 128 };

/* tools, tool_choice, parallel_tool_calls, thinking_budget: of a body that was checked, into the answer. */
bool hn_tools_take(hn_answer *a, hn_failure *why);
/* The rules of what it may say, in the place of its grammar; on the smith, when it has ids. Nothing where nothing is held. */
bool hn_tools_rule(hn_answer *a, hn_failure *why);

#endif
