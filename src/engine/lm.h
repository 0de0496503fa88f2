/* lm.h: the inside of a public model, and what all that is made on one shares. */
#ifndef HN_ENGINE_LM_H
#define HN_ENGINE_LM_H

#include "base/os/threads.h"
#include "engine/engine.h"
#include "hone/draft.h"
#include "infer/drafter.h"
#include "infer/sampler.h"
#include "infer/session.h"
#include "models/open_chat.h"
#include "text/tokenizer/tokenizer.h"

struct hn_lm {
    hn_engine *engine;
    atomic_int n_holders; /* the caller, until it closes it, and all that is made on it */
    hn_model *model; /* NULL of hn_lm_open_words */
    hn_tokenizer *tok; /* NULL of hn_lm_open_weights */
    hn_chat_input input;  /* its templates */
    const char *which;    /* the template that was chosen, or NULL */
    const char *carried;  /* the one of its adapters, where none was chosen */
    char *chosen, *name, *path;
    char *digests; /* a folder, or NULL */
    hn_adapters adapters;
    hn_run_spec run;
    hn_os_mutex bounds_lock;     /* of these: */
    struct hn_tokens *tokens;    /* of grammars; NULL until the first */
    struct hn_lm_bound *bounds;  /* grammars on its vocabulary */
    int64_t n_bindings;
};

/* Beginning and end of what is made on it. HN_ERR_UNSUPPORTED in a child of fork. */
hn_status hn_lm_hold(hn_lm *lm);       /* needs the model, */
hn_status hn_lm_hold_words(hn_lm *lm); /* or the tokenizer */
hn_status hn_lm_want_model(const hn_lm *lm); /* the same for what is done at once */
hn_status hn_lm_want_words(const hn_lm *lm);
void hn_lm_let_go(hn_lm *lm); /* takes NULL */

/* What a template wrote after the last message's content goes, so that a model goes on with it. */
hn_status hn_cut_after_last(const hn_json *messages, hn_str *text, hn_template_spans *generated_or_null, hn_template_origins *origins);

/* A text to the caller's memory, or its length alone. */
/* Hands an encoding's ids over, if `status` is HN_OK, and frees it. */
hn_status hn_give_ids(hn_status status, hn_encoding *encoding, int32_t *ids, size_t room, size_t *n);
hn_status hn_give_text(const char *text, size_t n, char *to, size_t room, size_t *bytes);

/* A list of keys to pass over, of the struct called so. */
hn_status hn_take_ignored(const char *name, const char *const *keys, int32_t n, hn_ignored *out);
hn_lm_numerics hn_outer_numerics(hn_numerics numerics);
/* HN_ERR_ARGUMENT names the field called so. */
hn_status hn_inner_numerics(const char *name, hn_lm_numerics numerics, hn_numerics *out);

/* JSON, or a file of it, whose name messages begin with in the place of `name`; of NULL *out is NULL. */
hn_status hn_take_json(hn_heap *heap, const char *name, const char *text, hn_json_text **out);
hn_status hn_check_variables(const char *const *list, int32_t n);
/* Of messages that are an object: a key that nothing reads, or what the options give too, is refused. */
hn_status hn_check_messages(const hn_json *messages, const hn_lm_render_options *o);

/* An adapter for the model, held to its contract; it is the caller's. `trial` may be NULL. */
hn_status hn_lm_try_adapter(const hn_lm *lm, const char *path, const hn_lm_adapter_options *options_or_null,
                            hn_adapter **out, hn_adapter_trial *trial);

/* What was found of one, as the public struct has it; `out` may be NULL. */
void hn_lm_give_trial(const hn_adapter_trial *found, hn_lm_adapter_trial *out);

/* Sessions and samplers as the public options have them; of the inner kind. */
hn_status hn_lm_inner_session(hn_lm *lm, const hn_lm_session_options *options_or_null, int64_t max_ahead, hn_session **out);
hn_status hn_lm_inner_sampler(hn_lm *lm, const hn_lm_sampling *sampling_or_null, hn_logit_bias **bias,
                              hn_sampler **out);
/* A list of one's own of the options' biases, to be freed. */
hn_status hn_lm_take_biases(hn_heap *heap, const hn_lm_sampling *sampling, hn_lm_bias **out);

/* Guesses at what follows the ids by the sampler's grammar: those that it does not allow are left out with all after them, and
 * where it allows one token alone, that is guessed. */
hn_status hn_lm_sampler_fit(hn_lm_sampler *sampler, const int32_t *ids, size_t n, int32_t *guesses, size_t room,
                            size_t *n_guesses);

/* ---- lm_draft.c ---- */

/* Options with their defaults; and a drafter by them. */
hn_status hn_lm_take_draft(const hn_lm_draft_options *given_or_null, hn_lm_draft_options *out);
hn_status hn_lm_drafter_of(hn_lm_drafter **out, hn_lm *lm, const hn_lm_draft_options *taken, int64_t context);
hn_drafter *hn_lm_drafter_inner(const hn_lm_drafter *drafter_or_null);
hn_status hn_lm_drafted(const hn_lm_drafter *drafter_or_null, int64_t *accepted, int64_t *rejected);
/* Of a session's: the token after n ids was drawn with this number; and the one to be drawn after n others. */
void hn_lm_drafter_drawn(hn_lm_drafter *drafter_or_null, size_t n, uint64_t number);
uint64_t hn_lm_drafter_number(const hn_lm_drafter *drafter_or_null, size_t n);
void hn_lm_session_drawn(const hn_lm_session *session, size_t n, uint64_t number);

#endif
