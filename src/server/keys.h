/* keys.h: who may ask: a file of names and secrets.
 *
 *     # a comment
 *     alice  k3yG5vXwQ1pZr8Tn
 *     ops    another-secret-of-16-or-more  admin
 *
 * A name is letters, digits, . _ and -, a secret 16 to 512 printable characters without blanks. Every other line is
 * refused, as are a name or a secret twice and, where the system can tell, a file that others may read. Secrets are not
 * kept, only their digests; the digest of what is presented is compared with all of them, in a time that
 * does not depend on which it is. */
#ifndef HN_SERVER_KEYS_H
#define HN_SERVER_KEYS_H

#include "server/http.h"

enum { HN_KEY_NAME = 64, HN_KEY_LEAST_SECRET = 16, HN_KEY_MOST_SECRET = 512 };

typedef struct hn_key {
    char name[HN_KEY_NAME + 1];
    uint64_t owner; /* of what is asked for with it: the same for a name, whatever else there is; 0 is nobody */
    bool is_admin;
    uint8_t digest[32];
} hn_key;

typedef struct hn_keys hn_keys;

hn_status hn_keys_read(hn_keys **out, hn_heap *heap, const char *path);
void hn_keys_free(hn_keys *keys); /* takes NULL */
size_t hn_keys_count(const hn_keys *keys);

/* NULL: nobody's. What is found lives as long as the keys. */
const hn_key *hn_keys_find(const hn_keys *keys, const char *secret);
const hn_key *hn_keys_named(const hn_keys *keys, const char *name);
/* By "Authorization: Bearer SECRET" or "x-api-key: SECRET"; where both are given they have to be one key's. */
const hn_key *hn_keys_of(const hn_keys *keys, const hn_http_request *request);

#endif
