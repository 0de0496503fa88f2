/* preflight.h: every example once, before anything is trained: what there is, and what is wrong
 * with it. */
#ifndef HN_DATA_PREFLIGHT_H
#define HN_DATA_PREFLIGHT_H

#include "data/dataset.h"

/* How many examples, and the first of them. */
typedef struct hn_preflight_count {
    uint64_t n, first;
} hn_preflight_count;

enum { HN_PREFLIGHT_BINS = 33 };

typedef struct hn_preflight {
    uint64_t n_examples, n_held, n_dropped; /* trained, held out, left out */
    uint64_t n_sequences, n_tokens,
        n_supervised; /* of those trained; a pair is two sequences */
    uint64_t n_held_tokens;
    uint64_t longest; /* tokens of a sequence, trained or held */
    uint64_t
        histogram[HN_PREFLIGHT_BINS]; /* sequences by supervised tokens: 0, 1, 2-3, 4-7 ... */
    hn_preflight_count empty;         /* without a supervised token; dropped or refused */
    hn_preflight_count cut_empty;     /* of these, those that had some before they were cut */
    hn_preflight_count cut;           /* cut to max_length */
    hn_preflight_count too_long;      /* not to be cut: refused */
    hn_preflight_count hollow;        /* a supervised turn without words; dropped or refused */
    hn_preflight_count unread;        /* words that the template does not write: refused */
    char unread_what[96];             /* of the first of these */
    hn_preflight_count double_bos, lacks_bos; /* refused */
    hn_preflight_count unended;       /* a supervised turn without an end token: refused */
    hn_preflight_count straddling;    /* a token lies across the border of a supervised turn */
    hn_preflight_count repeated;      /* equal tokens earlier in training */
    hn_preflight_count repeated_held; /* equal tokens earlier in what is held out */
    hn_preflight_count shared;        /* trained, and held out as well */
    uint64_t shared_held;             /* which the first of these is, of those held out */
} hn_preflight;

/* False stops: HN_ERR_CANCELLED. */
typedef bool hn_preflight_watch(void *context, uint64_t done, uint64_t all);

/* Reads all examples; sets tokens, fates and lists of the dataset. What cannot be read at all
 * stops it, with file and line. */
hn_status hn_preflight_run(hn_dataset *dataset, hn_preflight *out,
                           hn_preflight_watch *watch_or_null, void *context);

/* HN_OK if this may be trained; else the first thing that forbids it, with the first example's
 * file and line. */
hn_status hn_preflight_verdict(const hn_preflight *report, const hn_dataset *dataset);

/* Examples that are the same in all their tokens and masks; `digests` holds one an example. For
 * hn_preflight_run. */
hn_status hn_preflight_duplicates(const hn_dataset *dataset, const uint64_t *digests,
                                  hn_preflight *out);

#endif
