/* host.h: between hone and the program that it is in. What a thread's floating-point state and locale
 * are is the host's affair; what hone computes, and how it writes a number, is not to depend on
 * them. Every public function begins with HN_ENTER(), which sets hone's own and gives the host's
 * back however the function is left; tools/check-entries.sh holds them to it. */
#ifndef HN_BASE_HOST_H
#define HN_BASE_HOST_H

#include "base/fp_state.h"
#include "base/work.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct hn_host {
    hn_fp_state fp;
    void *locale; /* of base/os/locale.h */
    bool is_nested; /* this thread is in hone already, and no callback lies between: the host's state is another's */
    hn_work work;   /* of all that runs within, but for what the host does when it is called back */
} hn_host;

void hn_host_enter(hn_host *host);
void hn_host_leave(hn_host *host);
/* Of the entry that this thread is in; NULL: it is in none. */
hn_work *hn_host_work(void);

/* printf to memory, in no locale: whatever hone writes, it writes as every machine reads it. */
int hn_text_print(char *out, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));
int hn_text_vprint(char *out, size_t room, const char *format, va_list args);

/* The first statement of a public function. */
#define HN_ENTER()                                                                             \
    __attribute__((cleanup(hn_host_leave))) hn_host hn_host_here;                              \
    hn_host_enter(&hn_host_here)

/* Around a call of the host's: it finds its own state, and what it changes of it stays changed. */
typedef struct hn_host_call {
    hn_fp_state fp;
    void *locale;
    hn_host *host; /* NULL: nobody entered */
} hn_host_call;

void hn_host_call_begin(hn_host_call *call);
void hn_host_call_end(hn_host_call *call);

#define HN_CALL_HOST()                                                                         \
    __attribute__((cleanup(hn_host_call_end))) hn_host_call hn_host_call_here;                 \
    hn_host_call_begin(&hn_host_call_here)

#endif
