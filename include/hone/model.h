/* model.h: a language model: its weights, its tokenizer, its chat template, its adapters.
 *
 *     hn_lm *lm;
 *     hn_lm_open(&lm, engine, "m.gguf", NULL);
 *
 * What is made on one (sessions, samplers, decoders, chats, embedders) is used by one thread at a time, each on a
 * thread of its own if wanted: they give the same bits, and take turns at the engine's threads. `hone/engine.h` says
 * what holds for all: threads, callbacks, floating point, fork.
 *
 * Structs that you fill begin with their size: { .size = sizeof(hn_lm_options), ... }. Zero is default. What the library
 * fills of yours has its size after it, hn_lm_measure(lm, NULL, &sizes, sizeof sizes), and is zero after a failure, unless it
 * says otherwise; what it lends you is read in place. So all of them can grow. */
#ifndef HONE_MODEL_H
#define HONE_MODEL_H

#include "hone/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller closes it, before its engine is freed. Everything that is made on one holds it: hn_lm_close may come before
 * they are freed, and the memory goes with the last of them. Any number of threads may use one at a time, to read, encode,
 * render, measure and judge, and to make things on it. hn_lm_add_adapter, hn_lm_apply_adapter and hn_lm_keep_digests change
 * it: no other thread uses it meanwhile. */
typedef struct hn_lm hn_lm;

/* docs/numerics.md; the word of `--numerics`. */
typedef enum hn_lm_numerics {
    HN_LM_F32,  /* "f32" */
    HN_LM_BF16, /* "bf16" */
    HN_LM_MIXED, /* "mixed" */
    HN_LM_INT8  /* "int8" */
} hn_lm_numerics;

/* By its word; NULL is "f32". HN_ERR_ARGUMENT lists them. */
HN_API hn_status hn_lm_numerics_named(const char *word_or_null, hn_lm_numerics *out);
HN_API const char *hn_lm_numerics_name(hn_lm_numerics numerics); /* "" of a number that is none */

typedef struct hn_lm_options {
    size_t size;
    hn_lm_numerics numerics; /* of everything that runs on the model */
    const char *const *ignored_keys; /* of config.json or GGUF, that are passed over */
    int32_t n_ignored_keys;
    const char *template_file; /* a chat template instead of the model's */
    const char *template_name; /* or the model's of this name */
} hn_lm_options;

/* A GGUF file, or a directory as Hugging Face has them. Nothing of `options` is kept. What hone does not
 * know of a model is refused by name. Ended by hn_engine_cancel, told of by hn_engine_on_work, as are the two below. */
HN_API hn_status hn_lm_open(hn_lm **out, hn_engine *engine, const char *path,
                            const hn_lm_options *options_or_null);
HN_API void hn_lm_close(hn_lm *lm); /* takes NULL */

/* A small model that is part of the library, which tells stories: in the place of a path, wherever a model's
 * is taken. "hone:tiny"; a file that is called so is "./hone:tiny". */
HN_API const char *hn_lm_builtin(void);

/* The tokenizer and the templates alone: it encodes, decodes and renders, and no weights need be there. What
 * needs a model (sessions, samplers, chats, embedders, adapters, hn_lm_meta) is HN_ERR_UNSUPPORTED on it. */
HN_API hn_status hn_lm_open_words(hn_lm **out, hn_engine *engine, const char *path,
                                  const hn_lm_options *options_or_null);

/* The weights alone, of a model that has no tokenizer, or whose is not needed: sessions, samplers, adapters, embedders of ids. What
 * needs words (encoding, decoding, rendering, chats, vectors of texts) is HN_ERR_UNSUPPORTED on it. */
HN_API hn_status hn_lm_open_weights(hn_lm **out, hn_engine *engine, const char *path,
                                    const hn_lm_options *options_or_null);

/* A folder, made when it is wanted, where what takes long to compute of a file is kept for the next time: the
 * SHA-256 of weights, which adapters are held to. Said once; NULL: it is computed each time. */
HN_API hn_status hn_lm_keep_digests(hn_lm *lm, const char *folder_or_null);

/* What tells its weights from others, in 64 hexadecimal digits: of its numbers and of elements spread over every tensor, decoded; so a
 * directory and a file made of it, of the same types, have the same one. A few pages of each tensor are read: ended by
 * hn_engine_cancel, told of by hn_engine_on_work. */
HN_API hn_status hn_lm_fingerprint(const hn_lm *lm, char text[65]);
/* What its numerics mean in this release, as files record it ("mixed.2"); "" of NULL. */
HN_API const char *hn_lm_numerics_definition(const hn_lm *lm);

/* Texts live as long as the model. */
HN_API const char *hn_lm_architecture(const hn_lm *lm); /* "llama" */
HN_API const char *hn_lm_name(const hn_lm *lm);         /* general.name; "" if it has none */
HN_API int64_t hn_lm_context(const hn_lm *lm);    /* tokens that it was made for; 0: it does not say */
HN_API int64_t hn_lm_vocabulary(const hn_lm *lm); /* logits: as many as tokens, or more */
HN_API int64_t hn_lm_width(const hn_lm *lm);      /* numbers of a token's state */
HN_API int32_t hn_lm_embeds(const hn_lm *lm);     /* 1: it embeds texts, and generates none, as an encoder, or a model without its head */

/* A value by its key, of GGUF's metadata or of config.json ("rope_parameters.rope_theta" is within an
 * object), as text: a word or a text as it is, numbers as JSON has them, arrays as "[1,2]".
 *
 * As everywhere here: *bytes is the text's length, and `to` gets it with a NUL if there is room for both;
 * with `room` 0 it only measures, and with too little it is HN_ERR_ARGUMENT. No such key: HN_ERR_ARGUMENT. */
HN_API hn_status hn_lm_meta(const hn_lm *lm, const char *key, char *to, size_t room, size_t *bytes);

typedef struct hn_lm_adapter_options {
    size_t size;
    double scale;     /* of everything low-rank in it; 0 means 1 */
    int32_t is_forced; /* takes one of another base, tokenizer or template */
} hn_lm_adapter_options;

/* Applies an adapter to all that is made on the model afterwards; several, in this order. It is held to
 * what it was trained on and to its own test, as `hone run --lora` holds it, or refused. HN_ERR_BUSY while
 * anything made on the model is there. Ended by hn_engine_cancel, between two leaves of the weights' SHA-256 and two steps of
 * the test too, and then the model has what it had; told of by hn_engine_on_work. */
HN_API hn_status hn_lm_add_adapter(hn_lm *lm, const char *path,
                                   const hn_lm_adapter_options *options_or_null);

#ifdef __cplusplus
}
#endif
#endif
