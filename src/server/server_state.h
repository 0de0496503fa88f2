/* server_state.h: a server from within. */
#ifndef HN_SERVER_SERVER_STATE_H
#define HN_SERVER_SERVER_STATE_H

#include "server/apis.h"
#include "server/responses.h"
#include "server/server.h"

#include <stdatomic.h>

/* What metrics tell of calls: by the status of their reply. */
enum { HN_N_STATUSES = 600 };

struct hn_server {
    hn_heap *heap;
    hn_shelf *shelf;
    hn_http *http;
    hn_worker desk;
    hn_server_options o;
    hn_responses responses;
    _Atomic int64_t n_calls;
    _Atomic int64_t by_status[HN_N_STATUSES]; /* 0: the client left before there was one */

    hn_task *loads; /* one for each model that is loaded at the beginning */
    _Atomic int32_t n_loading;
    hn_os_mutex lock; /* of the next */
    char failure[600];
    hn_status failed_by;
};

/* Whether its head may ask for what it asks for: the guard's rules, its key, the right that its path takes. */
bool hn_server_admits(hn_server *server, hn_http_call *call, hn_failure *why);
/* The owner of its key; 0: there are no keys. */
uint64_t hn_server_asker(const hn_server *server, const hn_http_call *call);
/* Gives a call to the API that it is for; on the desk. */
void hn_server_route(hn_server *server, hn_http_call *call);
/* How the API that a path is of says why not; NULL: none is known yet. */
hn_fail_form *hn_api_form(const char *path);
/* Refuses a call before there is an answer. */
void hn_api_refuse(hn_server *server, hn_http_call *call, const hn_failure *why);
/* What a call asks by its query, checked by the table of its route; freed by the caller, also after a refusal. */
bool hn_server_query(hn_server *server, hn_http_call *call, hn_json_text **out, hn_failure *why);
/* What is drawn by, by the names that llama.cpp's server gives it, into an object that is open. */
void hn_server_add_sampling(hn_json_writer *w, const hn_lm_sampling *s);
/* Replies with this JSON, and frees it. */
void hn_server_reply(hn_http_call *call, int status, const char *type, hn_str *out);

#endif
