/* http_parse.h: a request in the making, out of bytes as they come, however they are cut.
 *
 * It takes what RFC 9112 calls a request and nothing beside it: where two readers could see two requests in the same
 * bytes, there is none. What is refused has a status and a sentence, and nothing after it is read. */
#ifndef HN_SERVER_HTTP_PARSE_H
#define HN_SERVER_HTTP_PARSE_H

#include "server/http.h"

typedef struct hn_http_parse_limits {
    size_t head_bytes, target_bytes, fields, body_bytes;
} hn_http_parse_limits;

typedef enum hn_http_stage {
    HN_HTTP_NOTHING, /* not a byte of a request yet */
    HN_HTTP_HEAD,
    HN_HTTP_BODY,  /* the head is whole: the request is there but for its body */
    HN_HTTP_WHOLE, /* all of it */
    HN_HTTP_REFUSED
} hn_http_stage;

typedef struct hn_http_parse {
    hn_heap *heap;
    hn_http_parse_limits limits; /* may be changed at the beginning of HN_HTTP_BODY */
    hn_http_stage stage;
    hn_http_request request; /* from HN_HTTP_BODY on; its memory is this struct's */
    bool is_1_1, keeps_alive;
    bool wants_continue; /* the client waits for a word before it sends the body */
    int status;          /* HN_HTTP_REFUSED: why, and in words, which outlive it */
    const char *reason;

    char *head; /* as it came, then cut into words in its place */
    size_t head_bytes, head_room, n_seen;
    hn_http_field *fields;
    char *body;
    size_t body_room, left; /* of the body, or of the chunk that comes */
    size_t trailer_bytes, line_bytes, word_bytes, overhead_bytes;
    char trailer_name[20]; /* one that is longer is none that is looked for */
    int chunk_state, n_digits;
    bool is_chunked, after_cr, in_value;
} hn_http_parse;

void hn_http_parse_begin(hn_http_parse *parse, hn_heap *heap, const hn_http_parse_limits *limits);
void hn_http_parse_free(hn_http_parse *parse); /* takes one that never began, all zeros */

/* Bytes taken of these: all, unless a stage has ended. The head's end is one, so that who asks can look before a body
 * comes; a request without a body is whole at once. */
size_t hn_http_parse_take(hn_http_parse *parse, const char *bytes, size_t n);

/* At the beginning of HN_HTTP_BODY: refuses a body whose length is told and too large, before any of it comes. */
bool hn_http_parse_admit(hn_http_parse *parse);

/* The value of a field; NULL: there is none. */
const char *hn_http_find_field(const hn_http_request *request, const char *name);

/* ---- of http_head.c ---- */

/* Takes a whole head apart, with the empty line at its end. False: refused. */
bool hn_http_parse_head(hn_http_parse *parse);
bool hn_http_parse_refuse(hn_http_parse *parse, int status, const char *reason); /* false */
bool hn_http_is_token_char(unsigned char c);
bool hn_http_is_value_char(unsigned char c);

#endif
