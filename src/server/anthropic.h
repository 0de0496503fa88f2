/* anthropic.h: what Anthropic's form says where there is no answer yet. */
#ifndef HN_SERVER_ANTHROPIC_H
#define HN_SERVER_ANTHROPIC_H

#include "server/answer.h"

/* {"type": "error", "error": {...}}, of its own or as an event. */
void hn_anthropic_fail(const hn_failure *f, bool in_stream, hn_str *out);

#endif
