/* prove.h: the inside of certificates. */
#ifndef HN_ENGINE_PROVE_H
#define HN_ENGINE_PROVE_H

#include "engine/engine.h"
#include "prove/prove.h"

struct hn_certificate {
    hn_heap *heap;
    hn_report report;
    hn_str subject;
    char result[65]; /* SHA-256 of what came of it; "": of nothing */
    uint64_t seed;
    hn_isa isa; /* levels that might be used */
    int n_others; /* the engine's devices that are of other backends than the processor's: they are proved too */
    hn_device *others[HN_MAX_DEVICES];
    hn_certificate_row *rows; /* of the report */
    hn_certificate_sum sum;
    int64_t begun_ns;
    void (*on_check)(void *context, const hn_prove_check *check); /* until it is whole */
    void *context;
};

/* An empty one, whose report tells the caller of each check. */
hn_status hn_certificate_begin(hn_certificate **out, hn_engine *engine, uint64_t seed,
                               void (*on_check)(void *context, const hn_prove_check *check), void *context);
/* Of the others, for the subject: "; on far too, which promises the CPU's bits"; nothing where there are none. */
void hn_certificate_tell_others(hn_certificate *certificate);
/* What came of it, once all is checked: the certificate is *out unless `status` is an error, which it returns. HN_ERR_PROOF:
 * a check did not hold, or was not made. */
hn_status hn_certificate_end(hn_certificate *certificate, hn_status status, hn_certificate **out);

#endif
