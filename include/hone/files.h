/* files.h: model files: looked into, converted, quantised, and made up.
 *
 * Work on files is told of by hn_engine_on_work and ended by hn_engine_cancel (HN_ERR_CANCELLED). What it writes has
 * its name when it is whole and durable, or never; what is there already is refused, unless `overwrite`, and an
 * input always. Bytes are the same on any number of threads. Types are named as in tensor.h, in any case. */
#ifndef HONE_FILES_H
#define HONE_FILES_H

#include "hone/model.h"
#include "hone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a tensor is for. */
typedef enum hn_lm_use {
    HN_LM_USE_EMBEDDING,
    HN_LM_USE_ATTENTION,
    HN_LM_USE_FEED_FORWARD,
    HN_LM_USE_EXPERTS,
    HN_LM_USE_NORMS,
    HN_LM_USE_HEAD,
    HN_LM_USE_OTHER
} hn_lm_use;
HN_API const char *hn_lm_use_name(hn_lm_use use); /* "feed-forward"; "" of a number that is none */

/* ---- looking ---- */

/* A GGUF file or a Hugging Face directory, whatever it holds: a model, an adapter, a vocabulary. Its weights are not
 * read. The caller closes it, before its engine is freed. Used by one thread at a time. */
typedef struct hn_lm_file hn_lm_file;

/* `ignored_keys`: of config.json or GGUF, that are passed over. What hone cannot run can be looked at. */
HN_API hn_status hn_lm_file_open(hn_lm_file **out, hn_engine *engine, const char *path,
                                 const char *const *ignored_keys, int32_t n_ignored_keys);
HN_API void hn_lm_file_close(hn_lm_file *file); /* takes NULL */

typedef struct hn_lm_shape {
    int64_t layers, width, heads, kv_heads, head_dim, ffn;
    int64_t experts, experts_used, expert_ffn; /* 0: it has none */
    int64_t context, window, vocabulary;       /* window 0: everything is seen */
    int32_t is_tied;                           /* the head is the embedding */
} hn_lm_shape;

/* Texts live as long as the file, and all may be NULL but the first three. */
typedef struct hn_lm_about {
    const char *path, *format; /* "GGUF 3", "safetensors" */
    const char *architecture;  /* as hone calls it, or else as the file does; "" if it does not say */
    int32_t is_supported;
    int32_t is_gguf;
    int32_t parts;             /* files */
    size_t n_tensors, n_keys;  /* n_keys 0: a directory has none */
    uint64_t parameters, active; /* active: that a token uses */
    uint64_t bytes;            /* of weights */
    uint64_t kv_bytes;         /* of keys and values in f16 a token, beyond any window; 0: not known */
    const hn_lm_shape *shape;  /* NULL: not supported, or no model */
    const char *tokenizer_class; /* of a directory */
    const char *template_text; /* the default template; NULL: there is none */
    size_t template_bytes;
    const char *template_key;  /* of GGUF, that hone takes it from */
    const char *templates;     /* names of those beside it: "rag, tool_use"; "" */
    size_t template_unused;    /* bytes of tokenizer.chat_template, where template_key is another */
} hn_lm_about;
HN_API const hn_lm_about *hn_lm_file_about(const hn_lm_file *file);

typedef struct hn_lm_tensor {
    const char *name;
    const char *type;  /* as the file's format calls it: "Q4_K", "BF16"; also what hone cannot compute with */
    hn_lm_use use;
    int32_t rank;
    const int64_t *dim; /* outermost first; lives as long as the file is open */
    uint64_t parameters, bytes;
} hn_lm_tensor;
/* HN_ERR_ARGUMENT: there are n_tensors. */
HN_API hn_status hn_lm_file_tensor(const hn_lm_file *file, size_t i, hn_lm_tensor *out, size_t size);

typedef enum hn_lm_kind {
    HN_LM_INT,
    HN_LM_REAL,
    HN_LM_BOOL,
    HN_LM_TEXT
} hn_lm_kind;

typedef struct hn_lm_key {
    const char *name, *type; /* "u32", of an array its items' */
    hn_lm_kind kind;
    int32_t is_array;
    uint64_t n; /* items; 1 of what is no array */
} hn_lm_key;
/* HN_ERR_ARGUMENT: there are n_keys. */
HN_API hn_status hn_lm_file_key(const hn_lm_file *file, size_t i, hn_lm_key *out, size_t size);
/* Its number; n_keys: there is no such key. */
HN_API size_t hn_lm_file_find(const hn_lm_file *file, const char *key);

/* By the key's kind: a text may hold anything and does not end in NUL; it lives as long as the file. */
typedef struct hn_lm_item {
    int64_t integer; /* HN_LM_INT and HN_LM_BOOL */
    double real;
    const char *text;
    size_t bytes;
} hn_lm_item;
/* Item `i` of a key, 0 of what is no array; texts are found soonest in order. HN_ERR_ARGUMENT: it has n. */
HN_API hn_status hn_lm_file_item(hn_lm_file *file, size_t key, uint64_t i, hn_lm_item *out, size_t size);

/* ---- texts ---- */

/* The texts of a file of examples, in order, whatever its layout: paragraphs, lines of JSON and so on, as `hone train`
 * takes texts. `text` is the caller's until the call returns, and may hold anything; what is not HN_OK ends it. */
HN_API hn_status hn_texts_each(hn_engine *engine, const char *path,
                               hn_status (*call)(void *context, size_t number, const char *text, size_t bytes),
                               void *context);

/* ---- converting ---- */

typedef struct hn_lm_convert_options {
    size_t size;
    const char *type; /* of the weights, as hn_element_name gives it; NULL: as they are */
    const char *name; /* general.name; NULL: the directory's */
    const char *const *ignored_keys; /* of config.json: passed over, and recorded in the file */
    int32_t n_ignored_keys;
    int32_t overwrite;
} hn_lm_convert_options;

/* A Hugging Face directory as a GGUF file. */
HN_API hn_status hn_lm_convert(hn_engine *engine, const char *dir, const char *out,
                               const hn_lm_convert_options *options_or_null);

/* What becomes of one tensor. */
typedef struct hn_lm_quantized {
    const char *name, *was, *is;
    const char *meant;  /* by the recipe, if rows could be cut into its blocks; else `is` is another */
    hn_lm_use use;
    int64_t numbers, row; /* of all; of a row */
    int64_t block;      /* of `meant` */
    uint64_t was_bytes, is_bytes;
    int32_t is_kept;    /* nothing was asked of it: a norm, a router, integers */
} hn_lm_quantized;

typedef struct hn_lm_quantize_options {
    size_t size;
    const char *imatrix;     /* a file: errors weigh by the activations there; NULL: all alike */
    const char *const *keep; /* "PATTERN=TYPE", a type of hn_element_name for tensors so named; '*' is anything */
    int32_t n_keep;
    int32_t requantize;      /* 1: takes weights that were quantised before, which lose twice */
    const char *const *ignored_keys;
    int32_t n_ignored_keys;
    int32_t overwrite;
    /* Told of every tensor, in the file's order, before the first is written; or NULL. */
    void (*on_tensor)(void *context, const hn_lm_quantized *tensor);
    void *context;
} hn_lm_quantize_options;

/* A GGUF file with its weights as `recipe` has them: a type, or a mix: "q4_k_m". */
HN_API hn_status hn_lm_quantize(hn_engine *engine, const char *in, const char *out, const char *recipe,
                                const hn_lm_quantize_options *options_or_null);
/* The recipes: "f32", "q4_k_m". They have no numbers: one more is a line of the library's table, and hosts ask for the list.
 * They live for ever. NULL: past the last. Beside them "q3_k", "q4_k" and "q5_k" are taken, for the usual mix of each. */
HN_API const char *hn_lm_recipe(int32_t i);
/* The type that most weights get by a recipe, as hn_element_name gives it. HN_ERR_ARGUMENT lists the recipes. */
HN_API hn_status hn_lm_recipe_type(const char *recipe, const char **type);

/* ---- making up ---- */

typedef enum hn_lm_first {
    HN_LM_FIRST_CLASS, /* as Transformers' class begins: to train from */
    HN_LM_FIRST_SPREAD /* gains and biases all different: to test with */
} hn_lm_first;

typedef struct hn_lm_make_options {
    size_t size;
    const char *const *settings; /* "layers=4", "tied=true", or a GGUF key without the architecture's name */
    int32_t n_settings;
    const char *type;        /* of the weights, as hn_lm_quantize's recipe; NULL: "f32" */
    const char *const *keep; /* as there */
    int32_t n_keep;
    const char *name;        /* general.name; NULL: "random" */
    const char *tokenizer;   /* a file or directory whose tokenizer and templates it gets; NULL: one of bytes */
    hn_lm_first first;
    int32_t copies;          /* begins with attention that copies what it looks at; f32 alone */
    uint64_t seed;
    int32_t overwrite;
} hn_lm_make_options;

/* A random model of any architecture (`hone archs` lists them) and size, which may be larger than memory. */
HN_API hn_status hn_lm_make(hn_engine *engine, const char *architecture, const char *out,
                            const hn_lm_make_options *options_or_null);

typedef struct hn_lm_tokenizer_options {
    size_t size;
    int64_t tokens; /* at most, bytes and special ones included; 0: 4096, and at least 261 */
    int32_t overwrite;
} hn_lm_tokenizer_options;

/* A byte-level BPE tokenizer of files of text, with a chat template, in a GGUF file without tensors: for
 * hn_lm_make_options.tokenizer. *n_tokens (may be NULL) is how many it has. */
HN_API hn_status hn_lm_make_tokenizer(hn_engine *engine, const char *const *texts, int32_t n_texts, const char *out,
                                      const hn_lm_tokenizer_options *options_or_null, int64_t *n_tokens);

#ifdef __cplusplus
}
#endif
#endif
