/* openai.h: what OpenAI's forms of asking and saying have in common. */
#ifndef HN_SERVER_OPENAI_H
#define HN_SERVER_OPENAI_H

#include "server/answer.h"
#include "server/fields.h"

/* {"error": {...}}, of its own or as an event. */
void hn_openai_fail(const hn_failure *f, bool in_stream, hn_str *out);

/* Of replies that are made at once. */
extern const hn_voice hn_openai_voice;

/* Temperature, penalties, bias, seed, n, stop, stream: of a body that was checked, into the answer. */
bool hn_openai_take(hn_answer *a, hn_failure *why);

/* What a body is drawn by, but for seed and bias; of NULL what one is that says nothing. */
hn_lm_sampling hn_openai_sampling(const hn_json *body_or_null);

/* What a chat takes of a body in OpenAI's form: the above, lengths, log-probabilities, and one prompt with its choices. */
bool hn_openai_take_chat(hn_answer *a, hn_failure *why);
/* The prompt's ids, by the model's template; on the clerk. */
bool hn_openai_prepare_chat(hn_answer *a, hn_failure *why);

/* What every answer begins with, and each event of one: {"id": ..., "object": ..., "created", "model", "seed". */
void hn_openai_begin(hn_json_writer *w, const hn_answer *a, const char *id_prefix, const char *object);
/* "usage": {...}, and "recipe" where it is asked for. */
void hn_openai_usage(hn_json_writer *w, const hn_answer *a);
/* A stream's end: usage and recipe in an event of their own, where they are asked for, and [DONE]. */
void hn_openai_finish(hn_answer *a, const char *id_prefix, const char *object, hn_str *out);

/* An event's beginning and end around the JSON in between. */
hn_json_writer hn_openai_event(hn_str *out);
void hn_openai_event_end(hn_json_writer *w);

/* A text's ids, on the answer's heap. */
bool hn_answer_encode(hn_answer *a, hn_prompt *to, const char *text, size_t bytes, hn_lm_text kind, hn_failure *why);
/* Whether it is an array that begins with a number: the ids of one text. */
bool hn_is_ids(const hn_json *value);
/* Of an array of numbers, each a token of the model's. */
bool hn_answer_take_ids(hn_answer *a, hn_prompt *to, const hn_json *list, const char *param, hn_failure *why);

#endif
