/* guard.h: who a request may come from, by what stands in its head.
 *
 * A server without keys trusts whoever reaches it, and a browser on the same machine reaches it for every page that it
 * shows. So the Host has to be a name by which the server is known, which a page whose name was turned to this address does
 * not send; an Origin has to be the server's own; and a body has to be JSON, which no form of another page sends. */
#ifndef HN_SERVER_GUARD_H
#define HN_SERVER_GUARD_H

#include "server/http.h"

typedef struct hn_guard {
    bool has_keys;           /* then the Host may be any: nobody's page knows a key */
    const char *host;        /* that is listened on */
    const char *const *hosts; /* other names of it, without ports */
    size_t n_hosts;
    const char *const *origins; /* "https://app.example": pages that may ask, and read; none unless told */
    size_t n_origins;
    const char *const *form_paths; /* that take multipart/form-data, and JSON no more */
    size_t n_form_paths;
} hn_guard;

typedef struct hn_refusal {
    int status;
    const char *message; /* outlives it */
} hn_refusal;

/* Of a request whose head is there. False: *out says why. */
bool hn_guard_admits(const hn_guard *guard, const hn_http_request *request, hn_refusal *out);

/* Adds what lets an admitted page of another origin read the reply; nothing where it is none. */
void hn_guard_share(const hn_guard *guard, hn_http_call *call);
/* A browser's question whether such a page may ask: true if it was that, and the call has been replied to. */
bool hn_guard_preflight(const hn_guard *guard, hn_http_call *call);

#endif
