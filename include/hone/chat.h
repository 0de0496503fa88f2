/* chat.h: conversations, by a model's own chat template.
 *
 *     hn_lm_chat_options o = { .size = sizeof o, .on_text = print };
 *     hn_lm_chat_new(&chat, lm, &o);
 *     hn_lm_chat_ask(chat, "Who are you?", NULL);
 *
 * What is said is what `hone chat` says with the same model, options and seed. */
#ifndef HONE_CHAT_H
#define HONE_CHAT_H

#include "hone/sampler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a template is given beside the messages. Where JSON is taken, a text that begins with neither [ nor { is the
 * name of a file of it. */
typedef struct hn_lm_render_options {
    size_t size;
    const char *tools, *documents;        /* JSON arrays, or files of them; NULL: none. Refused where the model's template reads none */
    const char *const *variables;         /* KEY=JSON, as "enable_thinking=false"; at most 16 */
    int32_t n_variables;
    int32_t no_generation_prompt; /* ends after the last message */
    int32_t goes_on_last; /* ends within the last message, after its content: the model goes on with it */
    int64_t clock;        /* seconds since 1970 for strftime_now, as UTC; 0: now, local time */
} hn_lm_render_options;

/* Messages, a JSON array of {"role": ..., "content": ...}, as the text that the model is given; as
 * hn_lm_meta gives one. It is for reading: in a text nobody can tell the template's words from those of the
 * conversation. The model is given hn_lm_render_ids. Long ones are ended by hn_engine_cancel. */
HN_API hn_status hn_lm_render(const hn_lm *lm, const char *messages, const hn_lm_render_options *options_or_null,
                              char *to, size_t room, size_t *bytes);

/* Of the template that renders: "text" is itself, "digest" its SHA-256 with that of the special tokens it is given, "with tools text"
 * and "with tools digest" the same of the one that renders where there are tools, which may be another, and a special token
 * is given by its name ("bos_token"; "" if there is none), as hn_lm_meta gives a text. HN_ERR_UNSUPPORTED: there is none. */
HN_API hn_status hn_lm_chat_template(const hn_lm *lm, const char *what, char *to, size_t room, size_t *bytes);

/* The same as ids, as hn_lm_encode gives them, and told of as there: no words of the conversation (of messages whatever their role, names,
 * tools, documents, variables) become a special token, a part of one, or a mark of thoughts or tools. */
HN_API hn_status hn_lm_render_ids(const hn_lm *lm, const char *messages, const hn_lm_render_options *options_or_null,
                                  int32_t *ids, size_t room, size_t *n);

/* A chat template apart from a model: neither weights nor tokenizer need be there. The caller frees it, before its engine.
 * Used by one thread at a time. */
typedef struct hn_lm_template hn_lm_template;

/* Of a GGUF file or a Hugging Face directory: its default, the one of this name, or a file in its place. */
HN_API hn_status hn_lm_template_open(hn_lm_template **out, hn_engine *engine, const char *path,
                                     const char *file_or_null, const char *name_or_null);
HN_API void hn_lm_template_free(hn_lm_template *t); /* takes NULL */

typedef struct hn_lm_span {
    size_t begin, end; /* bytes of the text */
} hn_lm_span;

typedef struct hn_lm_rendered {
    const char *text; /* ends in NUL */
    size_t bytes;
    const hn_lm_span *generated; /* what the template marks as the model's own */
    size_t n_generated;
    const hn_lm_span *own; /* the template's own words; all between is of the conversation */
    size_t n_own;
} hn_lm_rendered;

/* As hn_lm_render; but messages may be an object with `messages` and perhaps `tools`, and variables and tools that the
 * template does not read are taken. *out lives until the next call. Ended by hn_engine_cancel. */
HN_API hn_status hn_lm_template_render(hn_lm_template *t, const char *messages,
                                       const hn_lm_render_options *options_or_null, const hn_lm_rendered **out);

/* A conversation. The caller frees it; it holds its model. Used by one thread at a time, on which it calls back. */
typedef struct hn_lm_chat hn_lm_chat;

typedef struct hn_lm_chat_options {
    size_t size;
    const char *system;           /* what comes before all messages; NULL: nothing */
    const char *tools;            /* as hn_lm_render_options */
    const char *const *variables;
    int32_t n_variables;
    int64_t max_answer;           /* tokens; 0: as many as the context takes */
    const hn_lm_session_options *session; /* NULL: default */
    const hn_lm_sampling *sampling;       /* NULL: default */

    /* An answer as it comes, in whole characters that end in NUL; and what the model thinks, told apart. Called
     * on the thread that asks; NULL: not heard. */
    void (*on_text)(void *context, const char *text, size_t bytes);
    void (*on_thought)(void *context, const char *text, size_t bytes);
    void *context;
} hn_lm_chat_options;

/* Nothing of the options is kept, save callbacks and their context. Ended and told of as hn_lm_session_new. */
HN_API hn_status hn_lm_chat_new(hn_lm_chat **out, hn_lm *lm, const hn_lm_chat_options *options_or_null);
HN_API void hn_lm_chat_free(hn_lm_chat *chat); /* takes NULL */

typedef enum hn_lm_end {
    HN_LM_DONE,     /* the model ended its answer */
    HN_LM_COUNTED,  /* max_answer was reached */
    HN_LM_FULL,     /* the context was; of a failure: before the answer could begin */
    HN_LM_CANCELLED
} hn_lm_end;

typedef struct hn_lm_turn {
    hn_lm_end end;
    int64_t n_prompt, n_reused, n_answer; /* tokens; n_reused of n_prompt were known */
    double prompt_seconds, answer_seconds;
} hn_lm_turn;

/* Adds a message of the user and the model's answer. HN_ERR_ARGUMENT if it does not fit in the context.
 * Where hn_engine_cancel stops it, it is HN_ERR_CANCELLED, and what was said until then is kept; otherwise
 * after a failure, the question is taken back. Of a NULL turn the size is not looked at. */
HN_API hn_status hn_lm_chat_ask(hn_lm_chat *chat, const char *text, hn_lm_turn *turn_or_null, size_t size);

/* The answer to messages from elsewhere, as hn_lm_render takes them: the chat's own are neither read nor
 * changed. */
HN_API hn_status hn_lm_chat_answer(hn_lm_chat *chat, const char *messages, hn_lm_turn *turn_or_null, size_t size);

HN_API hn_status hn_lm_chat_set_system(hn_lm_chat *chat, const char *text_or_null);
HN_API hn_status hn_lm_chat_reset(hn_lm_chat *chat); /* forgets the messages, not the system's; draws begin anew */
/* The messages as JSON, as hn_lm_meta gives a text. */
HN_API hn_status hn_lm_chat_messages(const hn_lm_chat *chat, char *to, size_t room, size_t *bytes);

/* Tokens that a conversation and its answer may have together. */
HN_API int64_t hn_lm_chat_context(const hn_lm_chat *chat);
/* Keys and values to a file, as hn_lm_session_save_known; and from one, as hn_lm_session_load: the messages are not
 * in it, and what the next turn has in common with it is not computed again. Ended and told of as those. */
HN_API hn_status hn_lm_chat_save_keys(const hn_lm_chat *chat, const char *path);
HN_API hn_status hn_lm_chat_load_keys(hn_lm_chat *chat, const char *path);

/* ---- what a model says: answers, thoughts, calls of tools ---- */

/* A piece of a call. Calls of an answer are counted from 0. `name` comes once, with the first piece, as does `id`, "" if the model
 * gives none; of later pieces both are NULL. `arguments` are a piece of a JSON object's text, whole once the call is; it ends in no
 * NUL. All of it lives until the callback returns. */
typedef struct hn_lm_call {
    int32_t index;
    const char *id, *name;
    const char *arguments;
    size_t bytes;
} hn_lm_call;

/* What ARGUMENTS of a call are, with what is around them, by number. */
typedef enum hn_lm_call_form {
    HN_LM_CALLS_JSON,   /* "json": {"name": ..., "arguments": {...}} */
    HN_LM_CALLS_KEYED,  /* "keyed": {NAME: {...}} */
    HN_LM_CALLS_NAMED,  /* "named": the name, then {...} */
    HN_LM_CALLS_XML,    /* "xml": parameters as elements */
    HN_LM_CALLS_PAIRS,  /* "pairs": {key:<|"|>text<|"|>, other:1} */
    HN_LM_CALLS_PYTHON, /* "python": NAME(key=value, ...) */
    HN_LM_CALLS_HARMONY /* "harmony": headers that name a recipient */
} hn_lm_call_form;
HN_API hn_status hn_lm_call_form_named(const char *word, hn_lm_call_form *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_lm_call_form_name(hn_lm_call_form form); /* "" of a number that is none */
/* Families of models that write calls alike: "hermes", "llama-3", ...: docs/speech.md. They have no numbers: one more is a line
 * of the library's table, and what has to know about one asks hn_lm_call_style_of. They live for ever. NULL: past the last. */
HN_API const char *hn_lm_call_family(int32_t i);

/* How a model's template has calls written. The frame of a call is
 *     open begin prefix NAME sep ARGUMENTS end close
 * where each part may be "". A lazy grammar begins once `open` was said (`trigger` is its id where it is one token, else -1); with an
 * `open` of "" an answer may be a call from its first byte on. Texts live as long as the program. */
typedef struct hn_lm_call_style {
    const char *family; /* as hn_lm_call_family gives it */
    const char *form;   /* as hn_lm_call_form_name gives it */
    const char *open, *begin, *prefix, *sep, *end, *close;
    int32_t trigger;
} hn_lm_call_style;

/* Of the model's own template, or of a family by its name. HN_ERR_UNSUPPORTED: the template's is not known; "json" takes any model
 * whose template writes tools. Of *out the size is given. */
HN_API hn_status hn_lm_call_style_of(const hn_lm *lm, const char *family_or_null, hn_lm_call_style *out, size_t size);

/* Tells them apart as they come: the same whatever the pieces. The caller frees it; it holds its model. Used by one thread
 * at a time, on which it calls back. */
typedef struct hn_lm_reader hn_lm_reader;

typedef struct hn_lm_reader_options {
    size_t size;
    const char *tools;     /* as hn_lm_render_options; NULL: calls are not looked for, and are text */
    const char *family;    /* as hn_lm_call_family gives it; NULL: the template's. One that is not known is refused where there are tools */
    const int32_t *prompt; /* what the model goes on with: where it ends in a thought's beginning, the answer begins in it */
    int64_t n_prompt;
    void (*on_text)(void *context, const char *text, size_t bytes); /* none of them ends in NUL; NULL: not heard */
    void (*on_thought)(void *context, const char *text, size_t bytes);
    void (*on_call)(void *context, const hn_lm_call *call);
    void *context;
} hn_lm_reader_options;

/* Nothing of the options is kept, save callbacks and their context. */
HN_API hn_status hn_lm_reader_new(hn_lm_reader **out, hn_lm *lm, const hn_lm_reader_options *options_or_null);
HN_API void hn_lm_reader_free(hn_lm_reader *reader); /* takes NULL */
/* The next token, or text where there are no ids; not both with one reader. A token that ends an answer is not for it. */
HN_API hn_status hn_lm_reader_add(hn_lm_reader *reader, int32_t id);
HN_API hn_status hn_lm_reader_add_text(hn_lm_reader *reader, const char *text, size_t bytes);
/* Lets go of what was held back. *is_cut: a call was begun and not ended, and its arguments are no whole JSON. The reader may only
 * be freed after it. */
HN_API hn_status hn_lm_reader_finish(hn_lm_reader *reader, int32_t *is_cut);

/* What an answer may be. */
typedef struct hn_lm_rules_options {
    size_t size;
    const char *tools;    /* as hn_lm_render_options; NULL: none */
    const char *family;   /* as hn_lm_call_family gives it; NULL: the template's */
    const char *only;     /* a call is one of this tool; NULL: of any */
    int32_t must_call;    /* an answer is calls; 0: text, and calls after it or not */
    int32_t once;         /* no more than one call */
    int64_t thought;      /* most tokens of a thought, 1 or more; 0: any number */
    const char *schema;   /* a JSON schema of the answer, of one without tools; NULL: any text */
    const int32_t *prompt; /* what the model goes on with, as hn_lm_reader_options */
    int64_t n_prompt;
} hn_lm_rules_options;

/* The rules of it, in GBNF, as hn_lm_meta gives a text: for hn_lm_grammar_new; "" where nothing is held. What they allow a reader of
 * the same template takes for it. A call's arguments are held to its tool's `parameters`, if `strict` is true or, where `must_call`
 * is, not false; else to be an object. HN_ERR_UNSUPPORTED: what no rules are known of, by name; HN_ERR_ARGUMENT: there is no such
 * tool. */
HN_API hn_status hn_lm_answer_rules(const hn_lm *lm, const hn_lm_rules_options *options_or_null, char *to, size_t room, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
