/* contract.h: what an adapter's file says that it was made on and of, and what was found when it was held to that. */
#ifndef HN_SERVER_CONTRACT_H
#define HN_SERVER_CONTRACT_H

#include "base/json.h"
#include "hone/hone.h"
#include "server/adapter_proof.h"

typedef struct hn_contract {
    char base[65], tokenizer[65], template[65], data[65], numerics[48]; /* as the file says them; "": it does not */
    char targets[128];
    int64_t rank, steps, examples, tokens; /* 0: it does not say */
    double last_loss, held_loss;
    bool has_last, has_held;
    hn_lm_adapter_trial trial;
    hn_adapter_proof proof;
} hn_contract;

/* What the file says; the rest is left alone. */
hn_status hn_contract_read(hn_contract *contract, hn_engine *engine, const char *path);
/* As an object, with the file's SHA-256 and what its changes are scaled by. */
void hn_contract_tell(const hn_contract *contract, const char *digest, double scale, hn_json_writer *w);

#endif
