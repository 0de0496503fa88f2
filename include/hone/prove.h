/* prove.h: certificates: what `hone prove` shows, in the caller's process.
 *
 *     hn_examples_prove(examples, NULL, &certificate);
 *     hn_certificate_write(certificate, "c.json", 1);
 *     hn_certificate_free(certificate);
 *
 * Of a model and its data: derivatives along directions of every trained tensor against differences of the loss, and equal bits
 * for every plan, recomputation, micro-batch cut, thread count and level of instructions. Of the build: every op and a small
 * random model of every architecture, against double precision. docs/training.md and docs/adding-an-op.md say more.
 *
 * HN_OK is: all that was due was checked, and held. Where it did not, HN_ERR_PROOF says how much, and the certificate is there
 * all the same: it names what did not hold.
 *
 * A proof is made on devices of its own, of the machine's processors, at levels that hn_engine_options.isa leaves, and then on
 * each of the engine's devices that is of another backend, whose rows are of "SUBJECT on NAME": by itself, and, where its backend
 * promises them, to the processors' bits. The subject of the certificate names them. Its memory is the engine's, and within
 * hn_engine_options.memory_limit. hn_engine_on_work tells of it, and hn_engine_cancel and hn_cancel end it with
 * HN_ERR_CANCELLED: of a model between two ops, of the build between two ops or models that are proved. */
#ifndef HONE_PROVE_H
#define HONE_PROVE_H

#include "hone/examples.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is checked, by number. Of an op and of small random models: */
typedef enum hn_prove_kind {
    HN_PROVE_RUNS,          /* "runs": it could be run at all */
    HN_PROVE_GRADIENT,      /* "gradient": beside central differences; of a trained tensor, that there is one */
    HN_PROVE_PRECISION,     /* "precision": kernels beside double precision */
    HN_PROVE_FINITE,        /* "finite": what is not finite is told */
    HN_PROVE_OUTPUTS,       /* "outputs": bits, whichever outputs are read */
    HN_PROVE_PLANS,         /* "plans": bits of every plan of memory */
    HN_PROVE_DUPLICATES,    /* "duplicates": bits, where two inputs are one tensor */
    HN_PROVE_THREADS,       /* "threads": bits of every number of threads */
    HN_PROVE_LEVELS,        /* "levels": bits of every level of instructions */
    HN_PROVE_DEVICES,       /* "devices": bits on two devices, and of a device that promises the processors' */
    HN_PROVE_ALIASES,       /* "aliases": bits, where outputs take inputs over */
    HN_PROVE_LAYOUTS,       /* "layouts": bits of packed weights */
    HN_PROVE_STRIDES,       /* "strides": bits of inputs that are views */
    HN_PROVE_STATES,        /* "states": what is updated, step by step */
    HN_PROVE_RECOMPUTE,     /* "recompute": bits, where layers are computed again */
    HN_PROVE_MICRO_BATCHES, /* "micro-batches": bits, however a step is cut */
    HN_PROVE_DIRECTIONS,    /* "directions": slopes of a small model's loss */
    /* and of a model: plans, threads, levels, recompute and micro-batches too, */
    HN_PROVE_ALONG,         /* "along": the slope along a tensor's gradient, */
    HN_PROVE_SIGNS,         /* "signs": along random signs, */
    HN_PROVE_WEIGHED,       /* "weighed": and along directions that the gradient weighs */
    HN_PROVE_DISTANCE,      /* "distance": from f32's */
    HN_PROVE_CUTS,          /* "cuts": bits of a sequence in pieces */
    HN_PROVE_BATCHES,       /* "batches": bits of a sequence beside others */
    HN_PROVE_DIGEST         /* "digest": of logits, for comparing machines; it always holds */
} hn_prove_kind;
HN_API hn_status hn_prove_kind_named(const char *word, hn_prove_kind *out); /* HN_ERR_ARGUMENT lists them */
HN_API const char *hn_prove_kind_name(hn_prove_kind kind); /* "" of a number that is none */

/* One check. It holds where `error` is at most `bound`. */
typedef struct hn_prove_check {
    const char *subject; /* a tensor, "loss", "logits"; an op or a model */
    const char *kind;    /* as hn_prove_kind_name gives it */
    double error, bound;
    int32_t holds;
    const char *where;   /* in words */
} hn_prove_check;

/* Zero is default in every field but the first. */
typedef struct hn_examples_prove_options {
    size_t size;
    const char *targets;     /* what is trained, as "targets" of hn_finetune_setting has it; NULL: "all" */
    int64_t rank;            /* of low-rank changes; 0: 8 */
    int64_t directions;      /* of each tensor, at most 1000; 0: 2 */
    uint64_t seed;           /* of first values and directions; 0: 1 */
    int32_t n_threads;       /* 1 to so many are compared, 2 to 8; 0: 3 */
    int32_t is_full;         /* every layer; 0: the first, the last and one of every kind */
    hn_lm_numerics numerics; /* HN_LM_F32, HN_LM_MIXED: of gradients; HN_LM_BF16, HN_LM_INT8, which train nothing: of logits */
    /* Told of each check as it is made, on the thread that proves. What it is given lives until it returns. Or NULL. */
    void (*on_check)(void *context, const hn_prove_check *check);
    void *context;
    const char *result;      /* the file that came of training on these examples: its SHA-256 stands in the JSON; or NULL */
} hn_examples_prove_options;

/* Zero is default in every field but the first. */
typedef struct hn_engine_prove_options {
    size_t size;
    const char *ops;   /* only ops of such names, * and ? allowed, and no models; NULL: all, and models */
    uint64_t seed;     /* of all data; 0: 1 */
    double seconds;    /* random shapes are added until then; what is fixed is proved whole; 0: no random ones */
    int32_t n_threads; /* 1 to so many are compared, 2 to 8; 0: one more than there are processors, at most 7 */
    /* As in hn_examples_prove_options. */
    void (*on_check)(void *context, const hn_prove_check *check);
    void *context;
} hn_engine_prove_options;

/* What was checked, and what came of it. Any thread may read it; it is freed before its engine, and needs no examples. */
typedef struct hn_certificate hn_certificate;

/* Of the model that the examples were opened with, on the first of those to train. *out is NULL unless it returns HN_OK or
 * HN_ERR_PROOF. */
HN_API hn_status hn_examples_prove(hn_examples *examples, const hn_examples_prove_options *options_or_null,
                                   hn_certificate **out);
/* Of this build on this machine. *out is NULL unless it returns HN_OK or HN_ERR_PROOF. */
HN_API hn_status hn_engine_prove(hn_engine *engine, const hn_engine_prove_options *options_or_null, hn_certificate **out);
HN_API void hn_certificate_free(hn_certificate *certificate); /* takes NULL */

typedef struct hn_certificate_sum {
    int64_t n_checks, n_failed;
    int64_t n_skipped;   /* checks that were due and could not be made */
    const char *skipped; /* the first of them, and why; "" */
    const char *subject; /* what was proved, in words */
    double seconds;      /* it took */
    size_t n_rows;
} hn_certificate_sum;
/* It lives as long as the certificate. */
HN_API const hn_certificate_sum *hn_certificate_get_sum(const hn_certificate *certificate);

/* All checks of one kind of one subject. */
typedef struct hn_certificate_row {
    const char *subject, *kind; /* as in hn_prove_check */
    int64_t n, n_failed;
    double worst, bound; /* of the first that failed, or of the largest error */
    const char *where;   /* of that one, in words */
} hn_certificate_row;
/* They live as long as the certificate. NULL: past the last. */
HN_API const hn_certificate_row *hn_certificate_get_row(const hn_certificate *certificate, size_t i);

/* As `hone prove` prints it: a line for each kind, and one for each row with a failure. Given as hn_lm_meta gives a text. */
HN_API hn_status hn_certificate_table(const hn_certificate *certificate, char *to, size_t room, size_t *bytes);
/* All of it, with build, processor and seed, as JSON: what `hone prove --json` writes. */
HN_API hn_status hn_certificate_json(const hn_certificate *certificate, char *to, size_t room, size_t *bytes);
/* The same to a file. */
HN_API hn_status hn_certificate_write(const hn_certificate *certificate, const char *path, int32_t overwrite);

#ifdef __cplusplus
}
#endif
#endif
