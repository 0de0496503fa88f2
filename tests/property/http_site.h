/* http_site.h: a server for tests, that says what it was asked, and keeps a list of that.
 *
 *     /echo            the request, written out
 *     /later           the same, from another thread
 *     /stream?N        N events from another thread
 *     /hold            a stream that begins and stays, until site_release
 *     /flood?N         N events of a kilobyte at once
 *     /silent          is ended without a word
 *     /broken          a stream that is broken off
 *     /early, /wide    refused, or given a limit of its own, when its head is there
 */
#ifndef TESTS_PROPERTY_HTTP_SITE_H
#define TESTS_PROPERTY_HTTP_SITE_H

#include "base/heap.h"
#include "base/os/threads.h"
#include "server/http.h"

#include <stdatomic.h>

enum { SITE_MOST_HELD = 2048, SITE_EARLY_LIMIT = 16 };

typedef struct http_site {
    hn_heap *heap;
    hn_http *http;
    hn_os_mutex mutex;
    hn_os_condition work;
    hn_os_thread thread;
    hn_http_call *waiting[SITE_MOST_HELD]; /* for the other thread */
    int n_waiting;
    hn_http_call *held[SITE_MOST_HELD];
    int n_held, n_calls, n_done, n_gone;
    int last_status;
    char last_tag[64];
    uint64_t last_bytes;
    bool is_ending, ping;
    atomic_int n_entered; /* requests whose handler began: while one waits for `mutex`, nobody is let in */
} http_site;

/* `limits`: as options have them; the handlers and the heap are set here. */
hn_status site_open(http_site *site, hn_heap *heap, const hn_http_options *limits);
void site_close(http_site *site); /* ends what is held; takes one that did not open */
int site_held(http_site *site);
int site_gone(http_site *site);  /* of those that are held, whose clients have left */
void site_write(http_site *site, const char *bytes, size_t n); /* to all that are held */
void site_release(http_site *site); /* ends all that are held */

#endif
