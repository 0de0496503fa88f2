/* One list, the newest first, under one lock; what is given out is copied. Those whose time is over go when
 * someone comes, not by a clock of its own. */
#include "server/responses.h"

#include "base/os/clock.h"

#include <string.h>

struct hn_kept_response {
    hn_kept_response *next;
    uint64_t owner;
    int64_t until_ns; /* hn_clock_ns */
    size_t bytes;
    const char *id, *json, *in, *out; /* in `text` */
    char text[];
};

void hn_responses_open(hn_responses *r, hn_heap *heap, const hn_responses_limits *limits)
{
    *r = (hn_responses){ .heap = heap, .limits = *limits };
#define TAKE(field, otherwise, name, what) r->limits.field = limits->field ? limits->field : otherwise;
    HN_RESPONSES_LIMITS(TAKE)
#undef TAKE
    hn_os_mutex_open(&r->lock);
}

void hn_responses_close(hn_responses *r)
{
    if (!r->heap)
        return;
    while (r->first) {
        hn_kept_response *next = r->first->next;
        hn_free(r->heap, r->first);
        r->first = next;
    }
    hn_os_mutex_close(&r->lock);
}

/* Those whose time is over go, and of this key those beyond what it may have: lists begin with the newest. */
static void tidy(hn_responses *r, uint64_t owner)
{
    const int64_t now = hn_clock_ns();
    int64_t n = 0, bytes = 0;
    for (hn_kept_response **at = &r->first; *at;) {
        hn_kept_response *k = *at;
        if (k->owner == owner) {
            n++;
            bytes += (int64_t)k->bytes;
        }
        if (k->until_ns > now && (k->owner != owner || (n <= r->limits.kept && bytes <= r->limits.bytes))) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        hn_free(r->heap, k);
    }
}

static const char *put(hn_kept_response *k, size_t *at, const char *text)
{
    char *to = k->text + *at;
    memcpy(to, text, strlen(text) + 1);
    *at += strlen(text) + 1;
    return to;
}

bool hn_responses_keep(hn_responses *r, uint64_t owner, const char *id, const char *json, const char *in, const char *out)
{
    const int64_t minute_ns = 60000000000;
    const size_t bytes = strlen(id) + strlen(json) + strlen(in) + strlen(out) + 4;
    if ((int64_t)bytes > r->limits.bytes)
        return false;
    hn_kept_response *k = hn_alloc(r->heap, HN_TAG_STATE, sizeof *k + bytes);
    size_t at = 0;
    if (!k)
        return false;
    k->owner = owner;
    k->bytes = bytes;
    k->until_ns = hn_clock_ns() + r->limits.minutes * minute_ns;
    k->id = put(k, &at, id);
    k->json = put(k, &at, json);
    k->in = put(k, &at, in);
    k->out = put(k, &at, out);
    hn_os_mutex_lock(&r->lock);
    k->next = r->first;
    r->first = k;
    tidy(r, owner);
    hn_os_mutex_unlock(&r->lock);
    return true;
}

/* Where it is in the list; under the lock. */
static hn_kept_response **find(hn_responses *r, uint64_t owner, const char *id)
{
    tidy(r, owner);
    hn_kept_response **at = &r->first;
    while (*at && ((*at)->owner != owner || strcmp((*at)->id, id) != 0))
        at = &(*at)->next;
    return at;
}

static void give(hn_str *to, const char *text)
{
    if (to)
        hn_str_add(to, text);
}

bool hn_responses_find(hn_responses *r, uint64_t owner, const char *id, hn_str *json, hn_str *in, hn_str *out)
{
    hn_os_mutex_lock(&r->lock);
    const hn_kept_response *k = *find(r, owner, id);
    if (k) {
        give(json, k->json);
        give(in, k->in);
        give(out, k->out);
    }
    hn_os_mutex_unlock(&r->lock);
    return k != NULL;
}

bool hn_responses_drop(hn_responses *r, uint64_t owner, const char *id)
{
    hn_os_mutex_lock(&r->lock);
    hn_kept_response **at = find(r, owner, id), *k = *at;
    if (k)
        *at = k->next;
    hn_os_mutex_unlock(&r->lock);
    hn_free(r->heap, k);
    return k != NULL;
}
