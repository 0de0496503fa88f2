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

/* One list: names, numbers, which stay what they are, and words. Chosen by what a caller does next. */
#define HN_STATUS_LIST(X)                                                                      \
    X(OK, 0, "ok")                                                                             \
    X(ERR_ARGUMENT, 1, "bad argument")                                                         \
    X(ERR_SHAPE, 2, "shapes do not fit")                                                       \
    X(ERR_IO, 3, "input or output error")                                                      \
    X(ERR_FORMAT, 4, "malformed data")                                                         \
    X(ERR_MEMORY, 5, "out of memory")                                                          \
    X(ERR_UNSUPPORTED, 6, "unsupported")                                                       \
    X(ERR_DEVICE, 7, "device error")                                                           \
    X(ERR_CANCELLED, 8, "cancelled")                                                           \
    X(ERR_BUSY, 9, "busy")                                                                     \
    X(ERR_NUMERIC, 10, "not a finite number")                                                  \
    X(ERR_PROOF, 11, "a check did not hold")

typedef enum hn_status {
#define HN_STATUS_ENUM(name, number, text) HN_##name = number,
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
