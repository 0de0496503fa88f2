/* One table from kinds to HTTP's status and the words of an API: no other place chooses a status. */
#include "server/failure.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    int http;
    const char *type, *code;
} words[] = {
    [HN_REFUSED_NOT] = { 200, "", "" },
#define HN_REFUSAL_WORDS(name, http, type, code) [HN_REFUSED_##name] = { http, type, code },
    HN_REFUSAL_LIST(HN_REFUSAL_WORDS)
#undef HN_REFUSAL_WORDS
};

int hn_failure_http(const hn_failure *f) { return words[f->kind].http; }

const char *hn_failure_type(const hn_failure *f) { return words[f->kind].type; }

const char *hn_failure_code(const hn_failure *f) { return words[f->kind].code; }

bool hn_refuse_as(hn_failure *out, hn_failure_kind kind, const char *param, const char *format, ...)
{
    va_list args;
    out->kind = kind;
    snprintf(out->param, sizeof out->param, "%s", param ? param : "");
    va_start(args, format);
    vsnprintf(out->message, sizeof out->message, format, args);
    va_end(args);
    return false;
}

bool hn_refuse_by(hn_failure *out, hn_status status, const char *param)
{
    switch (status) {
    case HN_ERR_ARGUMENT:
    case HN_ERR_SHAPE:
    case HN_ERR_FORMAT:
        return hn_refuse_as(out, HN_REFUSED_INVALID, param, "%s", hn_error_message());
    case HN_ERR_UNSUPPORTED:
        return hn_refuse_as(out, HN_REFUSED_UNSUPPORTED, param, "%s", hn_error_message());
    case HN_ERR_BUSY:
        return hn_refuse_as(out, HN_REFUSED_BUSY, param, "%s", hn_error_message());
    case HN_ERR_MEMORY:
        return hn_refuse_as(out, HN_REFUSED_NO_ROOM, param, "%s", hn_error_message());
    default:
        return hn_refuse_as(out, HN_REFUSED_INTERNAL, param, "%s", hn_error_message());
    }
}
