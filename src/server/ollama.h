/* ollama.h: what Ollama's forms of asking and saying have in common. */
#ifndef HN_SERVER_OLLAMA_H
#define HN_SERVER_OLLAMA_H

#include "server/answer.h"

/* {"error": "..."} */
void hn_ollama_fail(const hn_failure *f, bool in_stream, hn_str *out);
/* Whether it asks for nothing but that its model is loaded, or put away; then it is taken so. */
bool hn_ollama_loads(const hn_answer *a);
/* Whether the model, which is loaded, has the context that is asked for. */
bool hn_ollama_fits(const hn_answer *a, hn_failure *why);
/* keep_alive: seconds as a number, or a duration as their clients write it, "0s", "5m0s", "-1m"; *is_none: of no length. */
bool hn_ollama_take_keep(const hn_json *body, bool *is_none, hn_failure *why);
bool hn_ollama_take_load(hn_answer *a, hn_failure *why);
/* "2026-11-23T10:00:00.123456789Z" */
void hn_ollama_time(hn_json_writer *w, const char *key, int64_t wall_ns);

#endif
