/* Cancellation of some calls: the thread that makes a call says whose wish it heeds, so that every call can be
 * stopped alone, whatever it is on, and none needs another parameter. */
#include "engine/engine.h"

struct hn_cancel {
    hn_cancel_flag flag; /* and its engine's */
    hn_engine *engine;
};

static _Thread_local const hn_cancel *heeded;

const hn_cancel_flag *hn_engine_cancelled(const hn_engine *e)
{
    return heeded && heeded->engine == e ? &heeded->flag : &e->cancelled;
}

hn_status hn_cancel_new(hn_cancel **out, hn_engine *engine)
{
    HN_ENTER();
    HN_REQUIRE(out && engine, HN_ERR_ARGUMENT, "hn_cancel_new: expected out and engine, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(engine));
    hn_cancel *c = hn_alloc(&engine->heap, HN_TAG_STATE, sizeof *c);
    if (!c)
        return HN_ERR_MEMORY;
    c->flag.also = &engine->cancelled;
    c->engine = engine;
    *out = c;
    return HN_OK;
}

void hn_cancel_free(hn_cancel *c)
{
    HN_ENTER();
    if (c)
        hn_free(&c->engine->heap, c);
}

void hn_cancel_heed(const hn_cancel *c)
{
    heeded = c;
}

void hn_cancel_set(hn_cancel *c)
{
    if (c)
        atomic_store(&c->flag.is_set, true);
}

void hn_cancel_clear(hn_cancel *c)
{
    if (c)
        atomic_store(&c->flag.is_set, false);
}
