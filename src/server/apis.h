/* apis.h: what the server answers: the function of each line of routes.def, on the desk's thread. */
#ifndef HN_SERVER_APIS_H
#define HN_SERVER_APIS_H

#include "server/answer.h"
#include "server/fields.h"

#define HN_ROUTE(method, path, name, right, form, query) void hn_api_##name(hn_server *server, hn_http_call *call);
#include "server/routes.def"
#undef HN_ROUTE

/* A request to a model: body read and checked by `fields`, then by `take`, which fills the answer; the model found; begun. If `take` sets
 * its `run` it is answered as by hn_api_ask. */
void hn_api_answer(hn_server *server, hn_http_call *call, const hn_voice *voice, const hn_fields *fields,
                   bool (*take)(hn_answer *a, hn_failure *why));
/* A request that a model's clerk answers at once: `run` makes the whole reply, the voice says why there is none. */
void hn_api_ask(hn_server *server, hn_http_call *call, const hn_fields *fields, const hn_voice *voice,
                bool (*run)(hn_answer *a, hn_str *out, hn_failure *why));
/* The same of what takes long: the clerk loads the model, and its smith runs it. */
void hn_api_ask_long(hn_server *server, hn_http_call *call, const hn_fields *fields, const hn_voice *voice,
                     bool (*run)(hn_answer *a, hn_str *out, hn_failure *why));

/* `messages` and what goes with them as the model's template has it: to be read; and as the ids that the model is given, in which
 * nobody's words are a turn's beginning. */
bool hn_render_messages(hn_answer *a, hn_str *out, hn_failure *why);
bool hn_render_ids(hn_answer *a, hn_prompt *to, hn_failure *why);
/* Messages as the library takes them, added to *out. */
hn_status hn_render_text(const hn_lm *lm, const char *messages, const hn_lm_render_options *o, hn_str *out);

#endif
