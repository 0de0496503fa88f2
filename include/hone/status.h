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

/* Chosen by what a caller does next. The numbers stay what they are. */
typedef enum hn_status {
    HN_OK = 0,
    HN_ERR_ARGUMENT = 1,
    HN_ERR_SHAPE = 2, /* shapes do not fit */
    HN_ERR_IO = 3,
    HN_ERR_FORMAT = 4, /* malformed data */
    HN_ERR_MEMORY = 5,
    HN_ERR_UNSUPPORTED = 6,
    HN_ERR_DEVICE = 7,
    HN_ERR_CANCELLED = 8,
    HN_ERR_BUSY = 9,
    HN_ERR_NUMERIC = 10, /* not a finite number */
    HN_ERR_PROOF = 11    /* a check did not hold */
} hn_status;

/* The words for a code alone, never NULL. */
HN_API const char *hn_status_text(hn_status status);

/* The last failure on this thread, as one sentence; "" before the first. */
HN_API const char *hn_error_message(void);

#ifdef __cplusplus
}
#endif
#endif
