/* A list entry and a place in the batch are two things. An entry that was replaced or dropped is found no more,
 * but stays until the last request that has it is gone; its place in the batch is given up between two steps of
 * the runner, since rows of a step may have it. The list is under the shelf's lock, the batch is the runner's
 * alone. */
#include "server/served_adapters.h"

#include "base/os/files.h"
#include "base/sha256.h"

#include <math.h>
#include <string.h>

static void lock(hn_served *m) { hn_os_mutex_lock(&m->shelf->lock); }
static void unlock(hn_served *m) { hn_os_mutex_unlock(&m->shelf->lock); }

/* ---- the list; by the lock ---- */

static hn_served_adapter *find(const hn_served *m, const char *name, uint64_t owner)
{
    hn_served_adapter *a = m->adapters;
    while (a && !(a->is_listed && a->owner == owner && !strcmp(a->name, name)))
        a = a->next;
    return a;
}

hn_served_adapter *hn_served_adapter_of(const hn_served *m, const char *name, uint64_t asker)
{
    hn_served_adapter *own = find(m, name, asker);
    return own || !asker ? own : find(m, name, 0);
}

static int64_t count_listed(const hn_served *m)
{
    int64_t n = 0;
    for (const hn_served_adapter *a = m->adapters; a; a = a->next)
        n += a->is_listed;
    return n;
}

/* In the place of one of its name. */
static void list(hn_served *m, hn_served_adapter *a)
{
    hn_served_adapter *old = find(m, a->name, a->owner), **last = &m->adapters;
    if (old)
        old->is_listed = false;
    while (*last)
        last = &(*last)->next;
    *last = a;
    a->is_listed = true;
}

bool hn_served_adapter_name(hn_served *m, uint64_t asker, int32_t i, char name[HN_ADAPTER_NAME])
{
    lock(m);
    const hn_served_adapter *a = m->adapters;
    for (;; a = a->next) {
        while (a && !(a->is_listed && hn_served_adapter_of(m, a->name, asker) == a)) /* another's, or behind his own */
            a = a->next;
        if (!a || !i--)
            break;
    }
    if (a)
        memcpy(name, a->name, HN_ADAPTER_NAME);
    unlock(m);
    return a != NULL;
}

void hn_served_adapter_tell(hn_served *m, const char *name, uint64_t asker, hn_json_writer *w)
{
    hn_contract contract;
    char digest[65] = "";
    double scale = 1;
    lock(m);
    const hn_served_adapter *a = hn_served_adapter_of(m, name, asker);
    if (a) {
        contract = a->contract;
        scale = a->scale;
        memcpy(digest, a->digest, sizeof digest);
    }
    unlock(m);
    if (!a)
        return;
    hn_json_key(w, "contract");
    if (digest[0])
        hn_contract_tell(&contract, digest, scale, w);
    else
        hn_json_add_null(w);
}

void hn_adapter_let_go(hn_served *m, hn_served_adapter *a)
{
    if (!a)
        return;
    lock(m);
    a->held--;
    unlock(m);
}

/* ---- the batch ---- */

int64_t hn_adapters_room(const hn_served *m)
{
    enum { SPARE = 2 };
    const int64_t n = count_listed(m);
    return m->o.adapters ? m->o.adapters : n || m->o.takes_adapters ? n + SPARE : 0;
}

static void leave_batch(hn_served *m, hn_served_adapter *a)
{
    if (a->number < 0)
        return;
    hn_lm_scheduler_forget(m->scheduler, &a->number); /* nothing that begins with it is known any more */
    hn_lm_batch_remove_adapter(m->batch, a->number);
    a->number = -1;
}

/* Of those that the batch has and nobody else: the one longest not asked for; NULL: there is none. *n: that the batch has. */
static hn_served_adapter *longest_not_asked(hn_served *m, int64_t *n)
{
    hn_served_adapter *oldest = NULL;
    *n = 0;
    lock(m);
    for (hn_served_adapter *a = m->adapters; a; a = a->next) {
        *n += a->number >= 0;
        if (a->number >= 0 && !a->held && (!oldest || a->last_asked < oldest->last_asked))
            oldest = a;
    }
    unlock(m);
    return oldest;
}

static hn_status make_room(hn_served *m)
{
    int64_t n;
    hn_served_adapter *oldest = longest_not_asked(m, &n);
    if (n < m->room)
        return HN_OK;
    HN_REQUIRE(oldest, HN_ERR_BUSY, "%s has room for %lld adapters, and requests have them all", m->name, (long long)m->room);
    leave_batch(m, oldest);
    return HN_OK;
}

/* Opened, held to its contract and placed, as the file with this digest. */
static hn_status place(hn_served *m, hn_served_adapter *a)
{
    char before[65], after[65];
    const hn_lm_adapter_options o = { .size = sizeof o, .scale = a->scale, .is_forced = m->o.forces_adapters };
    hn_contract contract = { 0 };
    HN_TRY(hn_sha256_file(a->path, before));
    HN_REQUIRE(!a->digest[0] || !strcmp(before, a->digest), HN_ERR_IO, "%s is another file than the one that was taken", a->path);
    HN_TRY(hn_lm_batch_apply_adapter(m->batch, a->path, &o, &a->number, &contract.trial, sizeof contract.trial));
    hn_status status = hn_contract_read(&contract, m->shelf->engine, a->path);
    if (status == HN_OK)
        status = hn_adapter_proof_read(&contract.proof, m->shelf->heap, a->path, before);
    if (status == HN_OK)
        status = hn_sha256_file(a->path, after);
    if (status == HN_OK && strcmp(before, after) != 0)
        status = hn_fail(HN_ERR_IO, "%s was changed while it was read", a->path);
    if (status != HN_OK) {
        hn_lm_batch_remove_adapter(m->batch, a->number);
        a->number = -1;
        return status;
    }
    lock(m);
    memcpy(a->digest, before, sizeof before);
    a->contract = contract;
    unlock(m);
    return HN_OK;
}

static hn_status ready(hn_served *m, hn_served_adapter *a)
{
    if (a->number >= 0)
        return HN_OK;
    HN_REQUIRE(m->room, HN_ERR_UNSUPPORTED, "%s was loaded without room for adapters: --adapters-max makes some", m->name);
    HN_TRY(make_room(m));
    return place(m, a);
}

hn_status hn_adapter_ready(hn_served *m, hn_served_adapter *a)
{
    const hn_status status = ready(m, a);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "adapter %s: ", a->name);
}

/* While the server starts, one that cannot be is its end; later, that of requests that ask for it. */
hn_status hn_adapters_place(hn_served *m)
{
    int64_t n = 0;
    lock(m);
    const bool is_starting = m->shelf->is_starting;
    unlock(m);
    for (hn_served_adapter *a = m->adapters; a && n < m->room; a = a->next) {
        const hn_status status = a->is_listed || a->held ? place(m, a) : HN_OK;
        if (status != HN_OK && (is_starting || status == HN_ERR_CANCELLED))
            return hn_fail_within(status, "adapter %s: ", a->name);
        n += a->number >= 0;
    }
    return HN_OK;
}

/* Those that have not left begin anew with the file that is there then; but who was found with one keeps to that. */
void hn_adapters_leave(hn_served *m)
{
    for (hn_served_adapter *a = m->adapters; a; a = a->next) {
        a->number = -1;
        if (a->is_listed && !a->held)
            a->digest[0] = 0;
    }
}

void hn_adapters_sweep(hn_served *m)
{
    hn_served_adapter *gone = NULL;
    lock(m);
    for (hn_served_adapter **at = &m->adapters; *at;) {
        hn_served_adapter *a = *at;
        if (a->is_listed || a->held) {
            at = &a->next;
            continue;
        }
        *at = a->next;
        a->next = gone;
        gone = a;
    }
    unlock(m);
    while (gone) {
        hn_served_adapter *next = gone->next;
        leave_batch(m, gone);
        hn_free(m->shelf->heap, gone);
        gone = next;
    }
}

void hn_adapters_free(hn_served *m)
{
    while (m->adapters) {
        hn_served_adapter *next = m->adapters->next;
        hn_free(m->shelf->heap, m->adapters);
        m->adapters = next;
    }
}

/* ---- taking and dropping; on the clerk ---- */

static bool check(hn_served *m, const hn_adapter_order *o, hn_failure *why)
{
    if (!hn_shelf_is_name(o->name) || !hn_os_is_plain_name(o->name) || strchr(o->name, '/') || strlen(o->name) >= HN_ADAPTER_NAME)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "lora_name",
                            "%.80s: an adapter's name has at most %d bytes, and no blank, ':', '=', quote or slash", o->name,
                            HN_ADAPTER_NAME - 1);
    if (!isfinite(o->scale))
        return hn_refuse_as(why, HN_REFUSED_INVALID, "scale", "%s: expected a finite scale", o->name);
    lock(m);
    const bool is_there = find(m, o->name, o->owner), is_full = !is_there && count_listed(m) >= HN_MOST_SERVED_ADAPTERS;
    unlock(m);
    if (is_there && o->is_new)
        return hn_refuse_as(why, HN_REFUSED_INVALID, "lora_name", "%s: there is an adapter of this name", o->name);
    return !is_full || hn_refuse_as(why, HN_REFUSED_BUSY, "lora_name", "%s has %d adapters, as many as may be", m->name,
                                    HN_MOST_SERVED_ADAPTERS);
}

hn_status hn_adapter_new(hn_served *m, const hn_adapter_order *o, hn_served_adapter **out)
{
    const size_t bytes = strlen(o->path) + 1;
    hn_served_adapter *a = hn_alloc(m->shelf->heap, HN_TAG_STATE, sizeof *a + bytes);
    *out = a;
    if (!a)
        return HN_ERR_MEMORY;
    strncpy(a->name, o->name, sizeof a->name - 1);
    memcpy(a->path, o->path, bytes);
    a->scale = o->scale != 0 ? o->scale : 1;
    a->owner = o->owner;
    a->number = -1;
    return HN_OK;
}

typedef struct taking {
    hn_served *model;
    hn_served_adapter *made;
    hn_failure *why;
    bool is_well;
} taking;

static void list_made(taking *t)
{
    hn_served *m = t->model;
    lock(m);
    t->made->last_asked = ++m->shelf->n_asked;
    list(m, t->made);
    unlock(m);
    t->is_well = true;
}

static void take(void *context)
{
    taking *t = context;
    hn_adapters_sweep(t->model);
    const hn_status status = ready(t->model, t->made);
    if (status == HN_OK)
        list_made(t);
    else
        hn_refuse_by(t->why, status, "lora_name");
    hn_adapters_sweep(t->model); /* the one that it replaces, if nobody has it */
}

static bool take_made(hn_served *m, const hn_adapter_order *o, bool is_loaded, hn_failure *why)
{
    taking t = { .model = m, .why = why };
    const hn_status status = hn_adapter_new(m, o, &t.made);
    if (status != HN_OK)
        return hn_refuse_by(why, status, NULL);
    if (is_loaded)
        hn_worker_do(&m->runner, take, &t);
    else
        list_made(&t); /* tried when the model is loaded */
    if (!t.is_well)
        hn_free(m->shelf->heap, t.made);
    return t.is_well;
}

bool hn_served_take_adapter(hn_served *m, const hn_adapter_order *o, hn_failure *why)
{
    if (!check(m, o, why) || !hn_served_load(m, why))
        return false;
    if (!m->batch)
        return hn_refuse_as(why, HN_REFUSED_UNSUPPORTED, "model", "%s embeds: adapters of requests are for models that generate",
                            m->name);
    return take_made(m, o, true, why);
}

bool hn_served_retake_adapter(hn_served *m, const hn_adapter_order *o, hn_failure *why)
{
    return check(m, o, why) && take_made(m, o, hn_served_now(m, NULL) == HN_SERVED_READY, why);
}

static void sweep(void *context) { hn_adapters_sweep(context); }

bool hn_served_drop_adapter(hn_served *m, const char *name, uint64_t owner, hn_failure *why)
{
    lock(m);
    hn_served_adapter *a = find(m, name, owner);
    if (a)
        a->is_listed = false;
    unlock(m);
    if (!a)
        return hn_refuse_as(why, HN_REFUSED_NO_MODEL, "lora_name", "%.80s: there is no such adapter", name);
    if (hn_served_now(m, NULL) == HN_SERVED_READY)
        hn_worker_do(&m->runner, sweep, m);
    else
        hn_adapters_sweep(m);
    return true;
}

/* ---- from another thread ---- */

typedef struct errand {
    hn_served *model;
    const hn_adapter_order *order;
    bool drops, is_well;
    hn_failure *why;
} errand;

static void run_errand(void *context)
{
    errand *e = context;
    e->is_well = e->drops ? hn_served_drop_adapter(e->model, e->order->name, e->order->owner, e->why)
                          : hn_served_take_adapter(e->model, e->order, e->why);
}

static bool run_by_clerk(hn_shelf *shelf, const hn_adapter_order *o, bool drops, hn_failure *why)
{
    errand e = { .order = o, .drops = drops, .why = why };
    e.model = o->model ? hn_shelf_model(shelf, o->model, strlen(o->model)) : shelf->models[0];
    if (!e.model)
        return hn_refuse_as(why, HN_REFUSED_NO_MODEL, "model", "%.100s: there is no such model", o->model);
    hn_served_hold(e.model);
    hn_worker_do(&e.model->clerk, run_errand, &e);
    hn_served_let_go(e.model);
    return e.is_well;
}

bool hn_shelf_take_adapter(hn_shelf *shelf, const hn_adapter_order *o, hn_failure *why)
{
    return run_by_clerk(shelf, o, false, why);
}

bool hn_shelf_drop_adapter(hn_shelf *shelf, const char *model, const char *name, uint64_t owner, hn_failure *why)
{
    const hn_adapter_order o = { .model = model, .name = name, .owner = owner };
    return run_by_clerk(shelf, &o, true, why);
}
