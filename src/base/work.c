/* The work is the entry's (host.h), which is a thread's: so what looks needs to be handed nothing, and a function that is
 * called by several calls looks for the one that it is in. */
#include "base/work.h"

#include "base/host.h"

void hn_work_heed(const hn_cancel_flag *cancel)
{
    hn_work *w = hn_host_work();
    if (w && !w->cancel)
        w->cancel = cancel;
}

void hn_work_heard_by(void (*tell)(void *context, double done, const char *what), void *context)
{
    hn_work *w = hn_host_work();
    if (!w || w->tell)
        return;
    w->tell = tell;
    w->context = context;
    w->from = 0;
    w->to = 1;
    w->told = -1;
}

const hn_cancel_flag *hn_work_cancel(void)
{
    const hn_work *w = hn_host_work();
    return w ? w->cancel : NULL;
}

hn_status hn_work_look(const char *what)
{
    const hn_work *w = hn_host_work();
    HN_REQUIRE(!w || !hn_is_cancelled(w->cancel), HN_ERR_CANCELLED, "%s: cancelled", what);
    return HN_OK;
}

static void tell(hn_work *w, double done, const char *what)
{
    if (done < w->told)
        done = w->told;
    w->told = done;
    w->tell(w->context, done, what);
}

hn_status hn_work_tell(uint64_t done, uint64_t all, const char *what)
{
    hn_work *w = hn_host_work();
    if (w && w->tell)
        tell(w, w->from + (w->to - w->from) * (all ? (double)done / (double)all : 1), what);
    return hn_work_look(what);
}

hn_status hn_work_done(hn_status status, const char *what)
{
    hn_work *w = hn_host_work();
    if (status == HN_OK && w && w->tell && w->told >= 0)
        tell(w, w->to, what);
    return status;
}

hn_work_part hn_work_part_begin(double from, double to)
{
    hn_work *w = hn_host_work();
    if (!w)
        return (hn_work_part){ 0 };
    const hn_work_part around = { w->from, w->to };
    w->from = around.from + (around.to - around.from) * from;
    w->to = around.from + (around.to - around.from) * to;
    return around;
}

hn_status hn_work_part_end(const hn_work_part *around, hn_status status)
{
    hn_work *w = hn_host_work();
    if (w) {
        w->from = around->from;
        w->to = around->to;
    }
    return status;
}

void hn_work_insist(hn_work_insistence *insistence)
{
    static const hn_cancel_flag never;
    hn_work *w = hn_host_work();
    insistence->before = w ? w->cancel : NULL;
    if (w)
        w->cancel = &never;
}

void hn_work_insist_end(hn_work_insistence *insistence)
{
    hn_work *w = hn_host_work();
    if (w)
        w->cancel = insistence->before;
}
