/* examples.h: files of examples, as a model is trained on them: what it would see of each, what is wrong with them, how
 * good the model is on them, and the gradients that they give.
 *
 *     hn_examples_spec spec = { .size = sizeof spec, .model = "m.gguf", .data = files, .n_data = 1 };
 *     hn_examples_open(&examples, engine, &spec);
 *     hn_examples_check(examples);
 *     hn_examples_judge(examples, NULL, &judgement, sizeof judgement, NULL, 0);
 *
 * What it gives out lives as long as it does, unless it says otherwise. hn_engine_on_work tells of long calls, and
 * hn_engine_cancel ends them with HN_ERR_CANCELLED. docs/data.md says what files may hold. */
#ifndef HONE_EXAMPLES_H
#define HONE_EXAMPLES_H

#include "hone/adapter.h"
#include "hone/settings.h"
#include "hone/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller closes it, after runs on it and before its engine is freed. Used by one thread at a time. */
typedef struct hn_examples hn_examples;

/* How examples are written, by number: each is known by its keys. */
typedef enum hn_examples_format {
    HN_EXAMPLES_FORMAT_MESSAGES,            /* "messages" */
    HN_EXAMPLES_FORMAT_PROMPT_COMPLETION,   /* "prompt-completion" */
    HN_EXAMPLES_FORMAT_UNPAIRED_PREFERENCE, /* "unpaired-preference": answers that are good, or are not */
    HN_EXAMPLES_FORMAT_ALPACA,              /* "alpaca" */
    HN_EXAMPLES_FORMAT_SHAREGPT,            /* "sharegpt" */
    HN_EXAMPLES_FORMAT_TEXT,                /* "text" */
    HN_EXAMPLES_FORMAT_PREFERENCE,          /* "preference": pairs */
    HN_EXAMPLES_FORMAT_PREFERRED_OUTPUT,    /* "preferred-output": pairs, as OpenAI has them */
    HN_EXAMPLES_FORMAT_TOKENS               /* "tokens" */
} hn_examples_format;
HN_API hn_status hn_examples_format_named(const char *word, hn_examples_format *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_examples_format_name(hn_examples_format format); /* "" of a number that is none */
/* Kinds of files that examples are read from: "jsonl". They have no numbers: one more is a line of the library's table, and
 * hosts ask for the list. A file's name says its kind, or "format" of hn_examples_setting does, alone or with a format of
 * examples ("csv,alpaca"). NULL: past the last. */
HN_API const char *hn_examples_file_kind(int32_t i);

/* Read, not kept: it may go when the call has returned. */
typedef struct hn_examples_spec {
    size_t size;
    const char *model;           /* a GGUF file or a Hugging Face directory; to look at tokens, a tokenizer will do */
    const char *const *data;     /* files of examples; PATH:2.5 is seen 2.5 times an epoch */
    int32_t n_data;
    const char *const *settings; /* of hn_examples_setting */
    int32_t n_settings;
    const char *digests;         /* a folder, as hn_lm_keep_digests has it; or NULL */
} hn_examples_spec;

/* Finds every example of every file, and reads none. Weights are opened when they are needed. */
HN_API hn_status hn_examples_open(hn_examples **out, hn_engine *engine, const hn_examples_spec *spec);
HN_API void hn_examples_close(hn_examples *examples); /* takes NULL */

/* ---- what there is ---- */

/* What an example is, and so what may be minimised of it. */
typedef enum hn_examples_kind {
    HN_EXAMPLES_SINGLE,  /* a conversation, a prompt and its completion, a text */
    HN_EXAMPLES_PAIR,    /* an answer that is preferred, and one that is not */
    HN_EXAMPLES_LABELLED /* an answer that is good, or is not */
} hn_examples_kind;

/* A loss: a value of "goal" of hn_finetune_setting. They have no numbers: one more is a file and a line of the library's table,
 * and what has to know about one asks its line. */
typedef struct hn_finetune_goal {
    const char *name;       /* "dpo" */
    hn_examples_kind takes; /* examples of this kind alone; the first of a kind is what is judged by where nothing is said */
    const char *settings;   /* those of hn_finetune_setting that it reads and not every loss does, with a blank between; "" */
    const char *about;      /* "dpo, of pairs (--beta)" */
} hn_finetune_goal;
/* They are the library's, as settings are. NULL: past the last. */
HN_API const hn_finetune_goal *hn_finetune_goal_at(size_t i);
/* Those of hn_finetune_setting that some of them read and others do not. NULL: past the last. */
HN_API const hn_setting *hn_finetune_goal_setting(size_t i);

HN_API hn_examples_kind hn_examples_kind_of(const hn_examples *examples); /* of all of them */
HN_API uint64_t hn_examples_count(const hn_examples *examples);           /* of all files */

typedef struct hn_examples_file {
    const char *path;
    const char *format; /* as hn_examples_format_name gives it; or "paragraphs of text", which have no keys */
    uint64_t n;
    double weight;      /* how often an epoch has each */
    int32_t is_held;    /* to evaluate on, not to train */
    char sha256[65];
} hn_examples_file;
HN_API const hn_examples_file *hn_examples_get_file(const hn_examples *examples, size_t i); /* NULL: past the last */

/* ---- token by token ---- */

/* Whose words a token is of. */
typedef enum hn_examples_role {
    HN_EXAMPLES_NOBODY, /* of no message, or of none that could be told */
    HN_EXAMPLES_SYSTEM,
    HN_EXAMPLES_USER,
    HN_EXAMPLES_ASSISTANT,
    HN_EXAMPLES_TOOL,
    HN_EXAMPLES_PROMPT,
    HN_EXAMPLES_TEXT
} hn_examples_role;
HN_API const char *hn_examples_role_name(hn_examples_role role); /* "assistant"; "" of a number that is none */

typedef struct hn_examples_place {
    const char *path;
    uint64_t line;
    size_t n_sequences; /* 1; of a pair 2, the chosen one first */
} hn_examples_place;

/* Reads example `i`, of all files: what was read before is gone then. Whatever is wrong with it is refused with its file
 * and line; that it is too long, or that nothing of it is supervised, is left to hn_examples_check. */
HN_API hn_status hn_examples_read(hn_examples *examples, uint64_t i, hn_examples_place *out, size_t size);

/* As the model sees it. Until the next is read. */
typedef struct hn_examples_sequence {
    size_t n;
    const int32_t *ids;
    const float *weights;        /* of foretelling each token: 0 of what is not supervised */
    const uint8_t *roles;        /* hn_examples_role of each */
    const uint32_t *begin, *end; /* the bytes of `text` that each covers; none of BOS and its like */
    const char *text;            /* as it was tokenised; it may hold anything, and a NUL is after it */
    size_t bytes;
    size_t n_supervised;
    size_t n_cut;                /* tokens beyond the greatest length, left out */
    size_t n_straddling;         /* tokens across the border of what is supervised */
} hn_examples_sequence;
/* Of the example that was read last. NULL: it has no such sequence. */
HN_API const hn_examples_sequence *hn_examples_get_sequence(const hn_examples *examples, size_t i);
/* The bytes that a token of it covers; of one that covers none, what the tokenizer calls it. NULL: there is none. */
HN_API const char *hn_examples_get_token(const hn_examples *examples, size_t sequence, size_t token, size_t *bytes);

/* ---- all of them ---- */

/* Reads every example once, counts, and refuses what may not be trained, with the first example's file and line. All that
 * trains or judges does so itself where it was not done. */
HN_API hn_status hn_examples_check(hn_examples *examples);

enum { HN_EXAMPLES_BINS = 33 };

typedef struct hn_examples_sum {
    uint64_t n_trained, n_held, n_dropped;
    uint64_t n_sequences, n_tokens, n_supervised; /* of those to train */
    uint64_t n_held_tokens;
    uint64_t longest;                /* tokens of a sequence, trained or held out */
    uint64_t bins[HN_EXAMPLES_BINS]; /* sequences by supervised tokens: 0, 1, 2 to 3, 4 to 7 ... */
} hn_examples_sum;
/* Also of what was refused. NULL: hn_examples_check has not come to the end of it. */
HN_API const hn_examples_sum *hn_examples_get_sum(const hn_examples *examples);

/* What is looked for. */
typedef enum hn_examples_finding {
    HN_EXAMPLES_EMPTY,         /* without a supervised token: refused, or dropped */
    HN_EXAMPLES_CUT_EMPTY,     /* of these, those that had some before they were cut */
    HN_EXAMPLES_CUT,           /* cut to the greatest length */
    HN_EXAMPLES_TOO_LONG,      /* not to be cut: refused */
    HN_EXAMPLES_HOLLOW,        /* a supervised turn that says nothing: refused, or dropped */
    HN_EXAMPLES_UNREAD,        /* words that the template does not write: refused, unless they may be left out */
    HN_EXAMPLES_DOUBLE_BOS,    /* refused */
    HN_EXAMPLES_LACKS_BOS,     /* refused */
    HN_EXAMPLES_UNENDED,       /* a supervised turn that no end token ends: refused, unless it may be */
    HN_EXAMPLES_STRADDLING,    /* a token across the border of a supervised turn */
    HN_EXAMPLES_REPEATED,      /* the same as an earlier one */
    HN_EXAMPLES_REPEATED_HELD, /* the same of those held out */
    HN_EXAMPLES_SHARED         /* trained, and held out as well */
} hn_examples_finding;

typedef struct hn_examples_found {
    const char *name;      /* "too_long" */
    const char *about;     /* in words */
    uint64_t n;            /* examples; of 0 there is no place */
    const char *path;      /* of the first */
    uint64_t line;
    const char *held_path; /* HN_EXAMPLES_SHARED: where it is held out; else NULL */
    uint64_t held_line;
    const char *what;      /* HN_EXAMPLES_UNREAD: what is not written of the first; else "" */
} hn_examples_found;
/* As hn_examples_get_sum. NULL also of a number that is no finding. */
HN_API const hn_examples_found *hn_examples_get_found(const hn_examples *examples, hn_examples_finding finding);

/* ---- how good a model is on them ---- */

typedef struct hn_examples_judge_options {
    size_t size;
    const char *const *settings; /* of hn_finetune_setting, those of what is minimised; without "goal" the first that takes
                                  * such examples */
    int32_t n_settings;
    hn_lm_numerics numerics;     /* HN_LM_F32 or HN_LM_MIXED */
    int64_t most;                /* the first so many; 0: all */
    const char *adapter;         /* judged with it; it is held to its contract first; NULL: the model alone */
    double scale;                /* of the adapter, as hn_lm_adapter_options has these two */
    int32_t is_forced;
} hn_examples_judge_options;

typedef struct hn_examples_judgement {
    const char *goal;        /* that was judged by */
    hn_examples_kind kind;   /* what `n` counts: supervised tokens, pairs, or answers */
    double loss;
    double accuracy;         /* share: likeliest tokens that are right; answers that are told well */
    int64_t n;
} hn_examples_judgement;

/* Judges those held out, or where none are, all. *trial_or_null is what was found of the adapter, also with a
 * failure after it was tried. *out is zero unless it returns HN_OK. */
HN_API hn_status hn_examples_judge(hn_examples *examples, const hn_examples_judge_options *options_or_null,
                                   hn_examples_judgement *out, size_t size, hn_lm_adapter_trial *trial_or_null,
                                   size_t trial_size);

/* ---- gradients ---- */

typedef struct hn_examples_gradient {
    const char *name;    /* GGUF's */
    int32_t rank;
    const int64_t *dim;  /* outermost first; rows as Hugging Face's files have them */
    const float *values; /* the callee's until it returns */
    size_t n;
} hn_examples_gradient;

typedef struct hn_examples_gradients_options {
    size_t size;
    const char *const *settings; /* of hn_finetune_setting: what is trained, and what is minimised */
    int32_t n_settings;
    const char *from;            /* an adapter, whose tensors and values these are; NULL: those of "targets", at their first
                                  * values */
    int64_t most;                /* the first so many examples are the batch; 0: all */
    const char *out;             /* writes all of them there: safetensors; or NULL */
    int32_t overwrite;
    /* Told of each, in order; what is not HN_OK ends it. Or NULL. */
    hn_status (*on_gradient)(void *context, const hn_examples_gradient *gradient);
    void *context;
} hn_examples_gradients_options;

typedef struct hn_examples_gradients {
    double loss, norm; /* of all gradients together */
    double weight;     /* supervised tokens, weighed: what the loss is divided by */
    int32_t n_tensors;
    uint64_t n_sequences, n_tokens, n_supervised;
} hn_examples_gradients;

/* The gradient of every trained tensor on one batch of those to train, in f32. Nothing is clipped or trained. *out is
 * zero unless it returns HN_OK. */
HN_API hn_status hn_examples_differentiate(hn_examples *examples, const hn_examples_gradients_options *options,
                                           hn_examples_gradients *out, size_t size);

#ifdef __cplusplus
}
#endif
#endif
