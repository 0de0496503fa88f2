/* failure.h: why a request is refused, before an API says it in its own form. */
#ifndef HN_SERVER_FAILURE_H
#define HN_SERVER_FAILURE_H

#include "base/status.h"

#include <stdbool.h>

/* What is refused, each with the status of HTTP and the words of its kind. */
#define HN_REFUSAL_LIST(X)                                                                                        \
    X(INVALID, 400, "invalid_request_error", "invalid_value")                                                     \
    X(UNKNOWN_FIELD, 400, "invalid_request_error", "unknown_parameter")                                           \
    X(MISSING_FIELD, 400, "invalid_request_error", "missing_required_parameter")                                  \
    X(UNSUPPORTED, 400, "invalid_request_error", "unsupported_parameter")                                         \
    X(TOO_LONG, 400, "invalid_request_error", "context_length_exceeded")                                          \
    X(BAD_TYPE, 415, "invalid_request_error", "unsupported_media_type")                                           \
    X(WRONG_HOST, 421, "invalid_request_error", "unknown_host")                                                   \
    X(NO_KEY, 401, "authentication_error", "invalid_api_key")                                                     \
    X(NO_RIGHT, 403, "permission_error", "insufficient_permissions")                                              \
    X(NO_MODEL, 404, "invalid_request_error", "model_not_found")                                                  \
    X(NO_PATH, 404, "invalid_request_error", "unknown_url")                                                       \
    X(NO_METHOD, 405, "invalid_request_error", "method_not_allowed")                                              \
    X(NO_OBJECT, 404, "invalid_request_error", "not_found")                                                       \
    X(IN_USE, 409, "invalid_request_error", "conflict")                                                           \
    X(TOO_LARGE, 413, "invalid_request_error", "file_too_large")                                                  \
    X(QUOTA, 403, "permission_error", "quota_exceeded")                                                           \
    X(BUSY, 429, "rate_limit_error", "queue_full")                                                                \
    X(TOO_LATE, 504, "server_error", "time_limit_exceeded")                                                       \
    X(INTERNAL, 500, "server_error", "internal_error")                                                            \
    X(LOADING, 503, "server_error", "model_is_loading")                                                           \
    X(ENDING, 503, "server_error", "server_is_ending")                                                            \
    X(NO_SLOT, 503, "server_error", "no_slot_available")                                                          \
    X(NO_ROOM, 503, "server_error", "out_of_memory")

typedef enum hn_failure_kind {
    HN_REFUSED_NOT,
#define HN_REFUSAL_ENUM(name, http, type, code) HN_REFUSED_##name,
    HN_REFUSAL_LIST(HN_REFUSAL_ENUM)
#undef HN_REFUSAL_ENUM
} hn_failure_kind;

typedef struct hn_failure {
    hn_failure_kind kind;
    char param[96]; /* the field that it is about; "": none */
    char message[600];
    hn_status by; /* of a model that cannot be loaded: what it came of, for who began the server */
} hn_failure;

int hn_failure_http(const hn_failure *f);
const char *hn_failure_type(const hn_failure *f);
const char *hn_failure_code(const hn_failure *f);

/* Fills *out and returns false: `return hn_refuse_as(...)`. */
bool hn_refuse_as(hn_failure *out, hn_failure_kind kind, const char *param, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* By what the library says: its sentence, and the kind that its status means here. */
bool hn_refuse_by(hn_failure *out, hn_status status, const char *param);

#endif
