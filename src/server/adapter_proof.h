/* adapter_proof.h: the certificate that lies beside an adapter's file, in sums, where it is of that file. */
#ifndef HN_SERVER_ADAPTER_PROOF_H
#define HN_SERVER_ADAPTER_PROOF_H

#include "base/json.h"

enum { HN_MOST_PROOF_KINDS = 24 };

typedef struct hn_adapter_proof {
    bool is_there;
    char why_not[200]; /* what lies there is not told; "": nothing does, or it is */
    char build[96], cpu[160];
    int64_t seed, checks, failed, skipped;
    struct {
        char check[32];
        int64_t made, failed;
    } kinds[HN_MOST_PROOF_KINDS];
    int n_kinds;
} hn_adapter_proof;

/* certificate.json in the folder of the adapter's file, whose SHA-256 `digest` is. Fails for want of memory alone: what is wrong with
 * it is in *out. */
hn_status hn_adapter_proof_read(hn_adapter_proof *out, hn_heap *heap, const char *adapter, const char *digest);
/* As certificate.json has it, without its subject and with a row for each kind of check; null where there is none. */
void hn_adapter_proof_tell(const hn_adapter_proof *proof, hn_json_writer *w);

#endif
