/* log.h: a line for each request, or an object of JSON: when, who, what was asked for, what came of it. Never a query or a
 * field, and no body unless texts were asked for: those are the asker's own. */
#ifndef HN_SERVER_LOG_H
#define HN_SERVER_LOG_H

#include "base/str.h"
#include "server/http.h"

#include <stdio.h>

typedef struct hn_log {
    FILE *to; /* NULL: nothing is logged */
    bool is_json;
} hn_log;

/* With its newline, appended to `to`; at: seconds since 1970. */
void hn_log_line(hn_str *to, bool is_json, const hn_http_done *done, int64_t at);
/* One write of a whole line. One that there is no memory for is said to be missing. */
void hn_log_write(const hn_log *log, hn_heap *heap, const hn_http_done *done);

#endif
