/* prove.h: the whole proof: every op, whole transformers, every way of running them. */
#ifndef HN_PROVE_PROVE_H
#define HN_PROVE_PROVE_H

#include "prove/env.h"

typedef struct hn_prove_options {
    const char *ops;    /* only ops whose name matches, * and ? allowed, and no models; NULL: all */
    uint64_t seed;      /* of all data; 0 means 1 */
    double time_s;      /* random shapes are added until then; the fixed list always runs whole */
    int max_threads;    /* thread counts 1..n are compared; 0: one more than there are processors */
    hn_isa isa;         /* levels that may be used; HN_ISA_ALL: those that there are */
    bool (*progress)(void *context, double done, const char *what); /* false stops */
    void *progress_context;
    int n_others;        /* devices of other backends that are proved too, beside the processor's; the caller's */
    hn_device *const *others;
    const char *subject; /* what the certificate is of, in words; NULL: the build */
    const char *result;  /* SHA-256 of the file that lies beside the certificate and came of its subject; NULL or "": there is none */
} hn_prove_options;

/* Fills the report. HN_OK also when checks failed: ask hn_report_failures. */
hn_status hn_prove(hn_heap *heap, const hn_prove_options *options, hn_report *report);

/* The certificate as JSON: build, processor, seed, every figure. */
hn_status hn_prove_certificate(const hn_report *report, const hn_prove_options *options,
                               double seconds, hn_str *out);

/* The processor's own name for itself. */
void hn_processor_name(char *text, size_t bytes);

#endif
