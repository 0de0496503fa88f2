/* server.h: `hone serve`: models over HTTP. Threads: HTTP's own, a desk that reads bodies and finds whom they are for, and two of
 * each model's (served.h). */
#ifndef HN_SERVER_SERVER_H
#define HN_SERVER_SERVER_H

#include "server/guard.h"
#include "server/jobs.h"
#include "server/keys.h"
#include "server/log.h"
#include "server/responses.h"
#include "server/served.h"

typedef struct hn_server hn_server;

typedef struct hn_server_options {
    hn_http_options http;  /* its callbacks, context and heap are the server's */
    hn_guard guard;        /* whom it admits; its host, and whether there are keys, are filled in */
    const hn_keys *keys;   /* who may ask; NULL: everybody whom the guard admits. It outlives the server */
    bool shares_beginnings; /* among keys: what they ask is told by how soon others are answered */
    hn_log log;
    hn_lm_disk *disk; /* that the models' schedulers have; NULL: none. For the metrics */
    hn_jobs *jobs; /* files and jobs; NULL: none. Ended with the server, and the caller's to close */
    hn_responses_limits responses;
} hn_server_options;

/* Serves what is on the shelf, which stays the caller's and outlives it; loads its models, as many as may be at a time, in the
 * background: they are asked for in vain until then (503). */
hn_status hn_server_open(hn_server **out, hn_shelf *shelf, const hn_server_options *options);
int hn_server_port(const hn_server *server);
/* The first failure of those that are loaded at its beginning, or HN_OK. *is_done: all have been tried. */
hn_status hn_server_loading(hn_server *server, bool *is_done);
/* Takes nothing new; what runs goes on until hn_server_is_idle. */
void hn_server_drain(hn_server *server);
bool hn_server_is_idle(const hn_server *server);
/* Ends what runs; takes NULL. */
void hn_server_close(hn_server *server);

#endif
