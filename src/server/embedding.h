/* embedding.h: the vectors of a request's `input`, in each API's own form. */
#ifndef HN_SERVER_EMBEDDING_H
#define HN_SERVER_EMBEDDING_H

#include "server/answer.h"

/* Adds one to an array that is open. */
typedef void hn_embed_say(hn_json_writer *w, const hn_answer *a, int64_t index, const float *vector, int64_t n);
/* [0.5, ...] */
hn_embed_say hn_embed_as_numbers;

/* One text or several of a body that was checked, or with `takes_ids` ids in their place, each told by `say`; *n_tokens
 * grows by what they have. On the smith. */
bool hn_embed_input(hn_answer *a, bool takes_ids, hn_embed_say *say, hn_json_writer *w, int64_t *n_tokens, hn_failure *why);

#endif
