/* work.h: how far a call is, and whether it is to end, said and asked where the work is done.
 *
 *     hn_lm_open            whose call it is (hn_engine_check), and that it tells (HN_TELLS)
 *       ..                  nothing is handed down
 *         a tokenizer's merges    HN_TRY(hn_work_tell(i, n, "merges"))
 *
 * It belongs to the entry into hone that this thread is in (host.h): a callback that calls hone again has one of its
 * own. Outside of an entry, and on threads of a pool, nobody is asked and nobody told. A look is a load of a flag or two:
 * between pieces of work of a millisecond or so, never for each of many small things (hn_work_every). */
#ifndef HN_BASE_WORK_H
#define HN_BASE_WORK_H

#include "base/cancel.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct hn_work {
    const hn_cancel_flag *cancel; /* NULL: it is not to end */
    void (*tell)(void *context, double done, const char *what); /* NULL: nobody hears of it */
    void *context;
    double from, to; /* the part at hand, of the whole */
    double told;     /* never less than before; below 0: nothing was */
    bool has_inputs, has_more_inputs; /* hn_inputs_forget (map_file.h) has something to forget */
} hn_work;

/* Of the entry: only the first to say it is heard, for what it runs is its work. */
void hn_work_heed(const hn_cancel_flag *cancel);
void hn_work_heard_by(void (*tell)(void *context, double done, const char *what), void *context);

/* What ends it, for what looks by itself, as runs do; NULL: nothing. */
const hn_cancel_flag *hn_work_cancel(void);
/* HN_ERR_CANCELLED, of `what`. */
hn_status hn_work_look(const char *what);
/* The same, and `done` of `all` of the part at hand are done. */
hn_status hn_work_tell(uint64_t done, uint64_t all, const char *what);
/* The part at hand is done, which is the whole of an outermost call, if `status`, which is returned, is HN_OK;
 * where nothing was told of it, neither is this. */
hn_status hn_work_done(hn_status status, const char *what);

/* Whether number `i` of many small things is one to look at. */
static inline bool hn_work_every(uint64_t i)
{
    return i % 4096 == 0;
}

/* What is told until the end is between `from` and `to` of the part at hand. */
typedef struct hn_work_part {
    double from, to; /* of the part around it */
} hn_work_part;
hn_work_part hn_work_part_begin(double from, double to);
hn_status hn_work_part_end(const hn_work_part *part, hn_status status); /* which is returned */

/* Until it leaves its block, nothing ends the work: what a cancelled call leaves behind is written whole. */
typedef struct hn_work_insistence {
    const hn_cancel_flag *before;
} hn_work_insistence;
void hn_work_insist(hn_work_insistence *insistence);
void hn_work_insist_end(hn_work_insistence *insistence);
#define HN_WORK_INSISTS()                                                                      \
    __attribute__((cleanup(hn_work_insist_end))) hn_work_insistence hn_work_insistence_here;   \
    hn_work_insist(&hn_work_insistence_here)

#endif
