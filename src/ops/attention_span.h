/* attention_span.h: which keys a query sees, from the `segments` input of attention.
 *
 *     absent       first 0, self t + (n_k - n_q), end n_k
 *     i32 [n_q]    segment ids, n_q == n_k, equal ids contiguous: the query's own segment
 *     i32 [n_q,3]  {first, self, end}, rows of the key buffer, read at run time
 *
 * A query sees keys [first, self] when causal, else [first, end); with a window W only those
 * with |self - key| < W. Self is always among them. */
#ifndef HN_OPS_ATTENTION_SPAN_H
#define HN_OPS_ATTENTION_SPAN_H

#include "graph/op.h"

typedef struct hn_attention_attrs {
    bool causal;
    int64_t window; /* 0: none */
    float scale;    /* 0: 1 / sqrt(D) */
    float softcap;  /* 0: none */
} hn_attention_attrs;

#define HN_ATTENTION_ATTRS                                                                     \
    {                                                                                          \
        HN_ATTR_BOOL(hn_attention_attrs, causal, "1"),                                         \
            HN_ATTR_INT(hn_attention_attrs, window, "0"),                                      \
            HN_ATTR_FLOAT(hn_attention_attrs, scale, "0"),                                     \
            HN_ATTR_FLOAT(hn_attention_attrs, softcap, "0"), HN_ATTR_END                       \
    }

/* The inputs that attention and its gradient begin with. */
enum {
    HN_ATTENTION_Q,
    HN_ATTENTION_K,
    HN_ATTENTION_V,
    HN_ATTENTION_SINKS,
    HN_ATTENTION_SEGMENTS,
    HN_ATTENTION_TABLE /* of attention_blocks and attention_eager: attention_blocks.c */
};

typedef struct hn_key_span {
    int32_t first, self, end;
} hn_key_span;

/* Types and attributes of those inputs. */
hn_status hn_attention_expect(const hn_call *call);
enum { HN_KEY_BLOCK = 64 };
/* What keys in blocks ask besides: spans, a causal mask, whole blocks; and of table and spans, that every
 * key which is seen lies somewhere. */
hn_status hn_attention_blocks_expect(const hn_call *call);
hn_status hn_attention_blocks_check(const hn_call *call);
/* The table of a call; NULL: key j lies in row j. */
const hn_tensor *hn_attention_table(const hn_call *call);
/* Keys that a query may see at most. */
int64_t hn_attention_most_keys(const hn_call *call);
/* The forward of attention, attention_blocks and, of doubles, attention_eager. */
void hn_attention_forward(const hn_call *call);
double hn_attention_flops(const hn_call *call);
/* Spans and contiguity of ids: the `check` of both ops. */
hn_status hn_attention_check(const hn_call *call);
/* The same of an input of any op over n_k keys; NULL is right. */
hn_status hn_spans_check(const hn_call *call, int input, int64_t n_k);
/* Equal ids of a rank 1 input are contiguous. */
hn_status hn_segments_check(const hn_call *call, int input);

double hn_attention_scale(const hn_call *call);

/* The span of query t; `segments` may be NULL. */
hn_key_span hn_attention_span(const hn_tensor *segments, int64_t t, int64_t n_q, int64_t n_k);
/* All of them, in one pass over the ids. */
void hn_attention_spans(const hn_tensor *segments, int64_t n_q, int64_t n_k,
                        hn_key_span *spans);

/* The keys [*from, *to) of a span, never none. */
void hn_attention_keys(const hn_attention_attrs *attrs, hn_key_span span, int64_t *from,
                       int64_t *to);

#endif
