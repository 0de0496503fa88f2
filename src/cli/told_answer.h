/* told_answer.h: an answer of `hone serve` in whichever form it was told, as one. */
#ifndef HN_CLI_TOLD_ANSWER_H
#define HN_CLI_TOLD_ANSWER_H

#include "base/json.h"

/* Its choices as OpenAI's chats and completions have them: [{"message": {"content", "reasoning_content", "tool_calls"}, "logprobs"}]. Of
 * other forms one is made, in *made, which the caller frees (NULL: none was), and its calls' arguments are objects. */
hn_status hn_told_choices(hn_heap *heap, const hn_json *answer, hn_json_text **made, const hn_json **out);

#endif
