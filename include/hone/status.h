/* status.h: how every function of hone says what went wrong.
 *
 * A function returns a status; the sentence that explains it belongs to the calling thread and
 * stays until the next failure on that thread. Nothing here allocates. */
#ifndef HONE_STATUS_H
#define HONE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HN_API __attribute__((visibility("default")))
#else
#define HN_API
#endif

/* One list: the enum and the words are made from it. Chosen by what a caller does next. */
#define HN_STATUS_LIST(X)                                                                      \
    X(OK, "ok")                                                                                \
    X(ERR_ARGUMENT, "bad argument")                                                            \
    X(ERR_SHAPE, "shapes do not fit")                                                          \
    X(ERR_IO, "input or output error")                                                         \
    X(ERR_FORMAT, "malformed data")                                                            \
    X(ERR_MEMORY, "out of memory")                                                             \
    X(ERR_UNSUPPORTED, "unsupported")                                                          \
    X(ERR_DEVICE, "device error")                                                              \
    X(ERR_CANCELLED, "cancelled")                                                              \
    X(ERR_BUSY, "busy")                                                                        \
    X(ERR_NUMERIC, "not a finite number")                                                      \
    X(ERR_PROOF, "a check did not hold")

typedef enum hn_status {
#define HN_STATUS_ENUM(name, text) HN_##name,
    HN_STATUS_LIST(HN_STATUS_ENUM)
#undef HN_STATUS_ENUM
} hn_status;

/* The words for a code alone, never NULL. */
HN_API const char *hn_status_text(hn_status status);

/* The last failure on this thread, as one sentence; "" before the first. */
HN_API const char *hn_error_message(void);

#ifdef __cplusplus
}
#endif
#endif
