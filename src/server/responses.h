/* responses.h: answers of POST /v1/responses that are kept, so that others go on from them: in memory, each its key's own, for a time,
 * and as many as a key may have; one more takes the place of the key's oldest. docs/http.md has their states. */
#ifndef HN_SERVER_RESPONSES_H
#define HN_SERVER_RESPONSES_H

#include "base/os/threads.h"
#include "base/str.h"

/* Each an option: its field, what it is unless given, its name, what it limits. */
#define HN_RESPONSES_LIMITS(X)                                                                                        \
    X(kept, 256, "responses-kept", "responses of a key; one more takes the place of the oldest")                       \
    X(bytes, 67108864, "responses-bytes", "of a key's responses, with what went in; as above")                         \
    X(minutes, 1440, "responses-minutes", "that a response is kept")

typedef struct hn_responses_limits {
#define HN_RESPONSES_FIELD(field, otherwise, name, what) int64_t field;
    HN_RESPONSES_LIMITS(HN_RESPONSES_FIELD)
#undef HN_RESPONSES_FIELD
} hn_responses_limits;

typedef struct hn_kept_response hn_kept_response;

typedef struct hn_responses {
    hn_heap *heap;
    hn_os_mutex lock;
    hn_responses_limits limits;
    hn_kept_response *first; /* the newest */
} hn_responses;

/* Limits of 0 are default. The struct stays where it is. */
void hn_responses_open(hn_responses *r, hn_heap *heap, const hn_responses_limits *limits);
void hn_responses_close(hn_responses *r); /* takes a zeroed one */

/* A response's JSON, and the items that went in and came out, each list without its brackets. False: it is more than a key may have,
 * or there is no memory, and it is not kept. Any thread, as all that follows. */
bool hn_responses_keep(hn_responses *r, uint64_t owner, const char *id, const char *json, const char *in, const char *out);
/* Adds to those that are given; false: there is none of this key's. */
bool hn_responses_find(hn_responses *r, uint64_t owner, const char *id, hn_str *json, hn_str *in, hn_str *out);
bool hn_responses_drop(hn_responses *r, uint64_t owner, const char *id);

#endif
