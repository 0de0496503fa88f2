/* conversation.h: messages to a prompt, by the model's own template, and the answer as it
 * comes.
 *
 * Each turn hands the whole conversation to the session, which computes what it has not seen.
 * Nothing is ever left out of it: when the context is full, the question is refused. */
#ifndef HN_INFER_CONVERSATION_H
#define HN_INFER_CONVERSATION_H

#include "infer/drafter.h"
#include "infer/sampler.h"
#include "infer/session.h"
#include "infer/thought.h"
#include "models/open_chat.h"
#include "text/tokenizer/tokenizer.h"

/* The ids of a text that a template wrote, whose words are whose; NULL: all are meant as they stand. Most templates
 * write BOS, and a tokenizer that adds one by itself does not add another; HN_ERR_ARGUMENT if there are two, or nothing
 * at all. */
hn_status hn_prompt_encode(const hn_tokenizer *tok, const char *text, size_t bytes,
                           const hn_text_origins *origins_or_null, hn_encoding *out);

/* Adds the template that adapters carry to the format: *which is its name, NULL if they carry none. */
hn_status hn_conversation_carried(hn_chat_format *chat, const hn_adapters *adapters, const char **which);

/* What a conversation is written by, and what it hands to its template. */
typedef struct hn_conversation_style {
    const hn_chat_input *input;  /* its format, and its variables, of these texts KEY=JSON */
    const char *const *set;
    const char *model;           /* its path, for messages */
    const char *which;           /* the template that was chosen; NULL: none was */
    const hn_adapters *adapters; /* opened already; NULL: none, or settled before */
    const char *tools_or_null;   /* what they are called in messages */
    const char *documents_or_null;
} hn_conversation_style;

/* Where none was chosen it is the one that the adapters carry, or the model's; *which names it, as in
 * hn_chat_request. HN_ERR_ARGUMENT: it reads no variable of such a name, no tools or no documents; HN_ERR_FORMAT: there
 * is no template. */
hn_status hn_conversation_settle(const hn_conversation_style *style, const char **which);

typedef struct hn_conversation hn_conversation;

/* What it is made with, which must outlive it. No other sequence may be run in the session. */
typedef struct hn_conversation_parts {
    const hn_tokenizer *tok;
    const hn_chat_format *chat;
    hn_session *session;
    hn_sampler *sampler;
    hn_drafter *drafter; /* NULL: nothing is guessed ahead */
    /* What may come after the n tokens that an answer has: a bit for each, as hn_sampler_next_of. NULL: anything. */
    hn_status (*allowed)(void *context, const int32_t *answer, int64_t n, const uint64_t **out);
    void *allowed_context;
} hn_conversation_parts;

typedef struct hn_conversation_options {
    const hn_json *tools;        /* functions that the model may call, or NULL */
    const char *template_name;   /* as in hn_chat_request */
    const hn_template_var *vars; /* enable_thinking and the like */
    size_t n_vars;
    int64_t max_answer; /* tokens; 0: as many as the context takes */
} hn_conversation_options;

hn_status hn_conversation_new(hn_conversation **out, hn_heap *heap,
                              const hn_conversation_parts *parts,
                              const hn_conversation_options *options);
void hn_conversation_free(hn_conversation *conversation); /* takes NULL */

/* What comes before all messages; NULL: nothing. */
hn_status hn_conversation_set_system(hn_conversation *conversation, const char *text_or_null);
/* Forgets the messages, not the system's; draws begin anew. */
void hn_conversation_reset(hn_conversation *conversation);

typedef enum hn_turn_end {
    HN_TURN_DONE,    /* the model ended it */
    HN_TURN_COUNTED, /* max_answer was reached */
    HN_TURN_FULL,    /* the context was */
    HN_TURN_CANCELLED
} hn_turn_end;

typedef struct hn_turn {
    int64_t n_prompt, n_reused, n_answer; /* tokens; n_reused of n_prompt were known */
    int64_t prompt_ns, answer_ns;
    hn_turn_end end;
    bool does_not_fit; /* the reason of a failure: the prompt leaves no room in the context */
} hn_turn;

/* Adds a message of the user and the model's answer, which `ear` hears as it comes; `run` may
 * cancel. What was answered until then is kept; if nothing was, or on failure, the question is
 * taken back. HN_ERR_ARGUMENT if the prompt does not fit or begins with two BOS. */
hn_status hn_conversation_ask(hn_conversation *conversation, const char *text,
                              const hn_run_options *run, const hn_ear *ear, hn_turn *turn);

/* The same for messages from elsewhere, as hn_chat_request takes them: one's own are neither
 * read nor changed, and its draws are those of a first answer. What `ear` hears may hold NULs. */
hn_status hn_conversation_answer(hn_conversation *conversation, const hn_json *messages,
                                 const hn_run_options *run, const hn_ear *ear, hn_turn *turn);

/* Adds the messages as a JSON array: role, content, and reasoning_content where there was. */
hn_status hn_conversation_write(const hn_conversation *conversation, hn_str *out);
/* The ids of the last prompt and its answer. */
const int32_t *hn_conversation_tokens(const hn_conversation *conversation, int64_t *n);

#endif
