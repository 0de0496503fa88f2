/* cancelled_calls.h: the calls of the library that may last, each made on something large enough to be looked in. */
#ifndef TESTS_FAULT_CANCELLED_CALLS_H
#define TESTS_FAULT_CANCELLED_CALLS_H

#include "hone/hone.h"
#include "tests/harness/check.h"

typedef struct cancelled_call {
    const char *name; /* as the headers have it; one function may stand here with several subjects */
    hn_status (*begin)(void); /* what it is made on; or NULL */
    hn_status (*call)(void);
    uint64_t (*result)(void); /* of what it gave; or NULL */
    void (*end)(void);
    bool tells;    /* by hn_engine_on_work, up to 1 */
    bool writes;   /* to `out`, in the place of what is there */
    bool may_keep; /* what a later call of its kind finds, also where this one did not do well */
} cancelled_call;

/* On models, and on what is made on them. */
extern const cancelled_call cancelled_calls[];
extern const size_t n_cancelled_calls;

/* What many of them are made on, for as long as the test: a call changes `opened` and `out` alone. */
enum { CANCELLED_BYTES = 200000, CANCELLED_FEW = 40, CANCELLED_IDS = 400 };
typedef struct cancelled_state {
    hn_engine *engine;
    hn_lm *lm, *embeds, *small; /* the built-in model, one that embeds, llama */
    hn_lm *opened;              /* by a call, or for it */
    char out[300];              /* of calls that write one */
    char adapter[4096], for_llama[300], texts[300], data[300], kept[300], array[300], gguf[300];
    char text[CANCELLED_BYTES + 1];
    int32_t few[CANCELLED_FEW], many[CANCELLED_IDS];
} cancelled_state;
extern cancelled_state at;
extern const char cancelled_llama[], cancelled_peft[];

bool cancelled_open(void);
void cancelled_close(void);

hn_status cancelled_open_tiny(void); /* `opened` */
void cancelled_close_opened(void);
uint64_t cancelled_hash(const void *bytes, size_t n);
uint64_t cancelled_written(void); /* of `out` */

#endif
