/* grammar.h: texts that a model may write: by a JSON schema, a regular expression or GBNF. docs/grammar.md has the dialects.
 *
 *     hn_lm_grammar_new(&grammar, engine, HN_LM_JSON_SCHEMA, schema, strlen(schema), NULL);
 *     hn_lm_request r = { .size = sizeof r, .ids = ids, .n = n, .grammar = grammar };
 *
 * A grammar knows no model. A request and a sampler that have one draw among the tokens that it allows, and a token by which a
 * model says that it is done is allowed exactly where its text may end. What it allows is a function of what was drawn: logits,
 * and log-probabilities that are told, are what they are without it. */
#ifndef HONE_GRAMMAR_H
#define HONE_GRAMMAR_H

#include "hone/tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller frees it, before its engine; what was made with it holds it. Any number of threads may use one at a time. */
typedef struct hn_lm_grammar hn_lm_grammar;

typedef enum hn_lm_grammar_kind {
    HN_LM_JSON_SCHEMA, /* a text of JSON that is valid by it */
    HN_LM_REGEX,       /* a text that matches from its beginning to its end */
    HN_LM_GBNF         /* rules as llama.cpp writes them, from `root` on */
} hn_lm_grammar_kind;

/* Limits on counts, never on time: what is refused is refused everywhere. 0 is default. */
typedef struct hn_lm_grammar_options {
    size_t size;
    int64_t bytes;      /* of the text; 1 MiB */
    int64_t depth;      /* of what nests in it; 64, which is most for a schema */
    int64_t references; /* $ref and rules that are called; 65536 */
    int64_t repetition; /* the largest count and length; 65536 */
    int64_t states;     /* of all that is made of it; 524288 */
    int64_t steps;      /* of making it, and of one mask; 2^26 */
    int64_t nesting;    /* of what is written by it; 256 */
    int64_t ways;       /* in which what is written may be read at a time: beyond, it is not allowed; 16384 */
    /* With one of these, any text comes before it, and all may end there too; it holds from after the first of them on. */
    const char *const *triggers;       /* texts */
    const char *const *trigger_tokens; /* names of special tokens, as they stand in the vocabulary */
    int32_t n_triggers, n_trigger_tokens;
} hn_lm_grammar_options;

/* HN_ERR_FORMAT: it is malformed; HN_ERR_UNSUPPORTED: a keyword that no mask can hold, by its JSON pointer, or a limit;
 * HN_ERR_ARGUMENT: nothing satisfies it. Nothing of the text is kept. Ended by hn_engine_cancel; how far it is nobody knows. */
HN_API hn_status hn_lm_grammar_new(hn_lm_grammar **out, hn_engine *engine, hn_lm_grammar_kind kind, const char *text, size_t bytes,
                                   const hn_lm_grammar_options *options_or_null);
HN_API void hn_lm_grammar_free(hn_lm_grammar *grammar); /* takes NULL */

/* Where one sequence is in a grammar. The caller frees it; it holds its model and the grammar. Used by one thread at a time. */
typedef struct hn_lm_matcher hn_lm_matcher;

/* At the beginning. HN_ERR_ARGUMENT: the grammar names a token that the model has not; HN_ERR_UNSUPPORTED: the model has none by
 * which it says that it is done. Ended by hn_engine_cancel, where it is the first on its model. */
HN_API hn_status hn_lm_matcher_new(hn_lm_matcher **out, hn_lm *lm, hn_lm_grammar *grammar);
HN_API void hn_lm_matcher_free(hn_lm_matcher *matcher); /* takes NULL */

/* Goes on by ids; *taken are allowed, each after those before it, and it stands after them. */
HN_API hn_status hn_lm_matcher_advance(hn_lm_matcher *matcher, const int32_t *ids, size_t n, size_t *taken);
/* Takes the last n back. */
HN_API hn_status hn_lm_matcher_rollback(hn_lm_matcher *matcher, size_t n);
/* That it has gone on by; they live until the next call. */
HN_API const int32_t *hn_lm_matcher_ids(const hn_lm_matcher *matcher, size_t *n);

typedef struct hn_lm_mask {
    const uint64_t *bits; /* id i: bit i % 64 of word i / 64; they live until the next call */
    int64_t words;
    int64_t n_allowed;
    int32_t only;    /* the one token that is allowed, or -1 */
    int32_t may_end; /* tokens that end are among them */
} hn_lm_mask;

/* What may come next. HN_ERR_ARGUMENT: nothing may, and after which bytes. Ended by hn_engine_cancel, and asked again it is
 * the same. */
HN_API hn_status hn_lm_matcher_mask(hn_lm_matcher *matcher, hn_lm_mask *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
