/* The engine itself, and the copies in and out that its objects share. */
#include "engine/engine.h"

#include "base/os/process.h"
#include "graph/layout.h"

#include <string.h>

const char *hn_version(void)
{
    return HN_BUILD;
}

hn_status hn_engine_new(hn_engine **out, const hn_engine_options *options)
{
    HN_ENTER();
    hn_engine_options o;
    HN_REQUIRE(out, HN_ERR_ARGUMENT, "hn_engine_new: out is NULL");
    *out = NULL;
    HN_TRY(hn_take_struct("hn_engine_options", options, sizeof o, &o));
    HN_REQUIRE(!o.acquire == !o.release, HN_ERR_ARGUMENT,
               "an allocator needs both acquire and release");
    const hn_heap_hook hook = { o.acquire, o.release, o.allocator_context };
    hn_heap heap;
    hn_heap_init(&heap, &hook);
    heap.limit_bytes = o.memory_limit;
    hn_isa isa = HN_ISA_ALL;
    if (o.isa)
        HN_TRY(hn_isa_parse(o.isa, &isa));
    heap.reads_files = o.leaves_process != 0;
    heap.asks_nothing = o.leaves_process || !(isa & HN_ISA(amx)); /* also what is computed on devices of its own */
    /* The engine holds its heap, so it counts itself: it is moved in and out by value. */
    hn_engine *e = hn_alloc(&heap, HN_TAG_DEVICE, sizeof *e);
    if (!e)
        return HN_ERR_MEMORY;
    e->heap = heap;
    e->cancelled.looks = &e->looks;
    e->made_by = hn_os_process_id();
    e->n_threads = o.n_threads;
    e->isa = isa;
    const hn_device_options device = { .n_threads = o.n_threads, .isa = o.isa };
    const hn_run_words words = { o.devices, o.experts, o.fit != 0, o.stream != 0 };
    const hn_status status = hn_run_open(&e->run, e->devices, &e->heap, &words, &device);
    e->n_devices = e->run.n_devices;
    if (status != HN_OK) {
        hn_engine_free(e);
        return status;
    }
    *out = e;
    return HN_OK;
}

void hn_engine_free(hn_engine *e)
{
    HN_ENTER();
    if (!e)
        return;
    hn_devices_close(e->n_devices, e->devices);
    hn_heap heap = e->heap;
    hn_free(&heap, e);
}

void hn_engine_cancel(hn_engine *e)
{
    if (e)
        atomic_store(&e->cancelled.is_set, true);
}

void hn_engine_resume(hn_engine *e)
{
    if (e)
        atomic_store(&e->cancelled.is_set, false);
}

void hn_engine_on_progress(hn_engine *e, hn_progress_fn *call, void *context)
{
    if (!e)
        return;
    e->progress = call;
    e->progress_context = context;
}

void hn_engine_on_work(hn_engine *e, hn_work_fn *call, void *context)
{
    HN_ENTER();
    if (!e)
        return;
    e->work = call;
    e->work_context = context;
}

void hn_engine_memory(const hn_engine *e, int64_t *live, int64_t *peak, int64_t *allocations)
{
    if (live)
        *live = e ? atomic_load(&e->heap.live_bytes) : 0;
    if (peak)
        *peak = e ? atomic_load(&e->heap.peak_bytes) : 0;
    if (allocations)
        *allocations = e ? atomic_load(&e->heap.n_calls) : 0;
}

void hn_engine_fail_allocation(hn_engine *e, int64_t nth)
{
    if (e)
        atomic_store(&e->heap.fail_at, nth > 0 ? atomic_load(&e->heap.n_calls) + nth : 0);
}

int64_t hn_engine_cancel_at(hn_engine *e, int64_t nth)
{
    return e ? atomic_exchange(&e->looks, nth > 0 ? nth : 0) : 0;
}

/* Progress is told to the host, in the host's own state. */
static void on_progress(void *context, double done)
{
    const hn_engine *e = context;
    HN_CALL_HOST();
    e->progress(e->progress_context, done);
}

hn_run_options hn_engine_run_options(hn_engine *e)
{
    return (hn_run_options){ .cancel = hn_engine_cancelled(e), .progress = e->progress ? on_progress : NULL,
                             .progress_context = e };
}

static void on_work(void *context, double done, const char *what)
{
    const hn_engine *e = context;
    HN_CALL_HOST();
    e->work(e->work_context, done, what);
}

void hn_engine_tells(hn_engine *e)
{
    if (e->work)
        hn_work_heard_by(on_work, e);
}

bool hn_engine_tell(void *engine, double done, const char *what)
{
    hn_engine *e = engine;
    if (e->progress)
        on_progress(e, done);
    if (e->work)
        on_work(e, done, what);
    return !hn_is_cancelled(hn_engine_cancelled(e));
}

hn_status hn_engine_pool(hn_engine *e, hn_pool **out)
{
    return hn_pool_new(&e->heap, e->n_threads, out);
}

hn_status hn_engine_check(const hn_engine *e)
{
    HN_REQUIRE(e->made_by == hn_os_process_id(), HN_ERR_UNSUPPORTED,
               "this engine is of process %lld, and this is a child of it: its threads are not here, "
               "expected an engine of its own", (long long)e->made_by);
    hn_work_heed(hn_engine_cancelled(e));
    return HN_OK;
}

hn_status hn_engine_leaves_open(hn_engine_leaves *l, hn_engine *e, const hn_graph *g,
                                hn_storage *storage)
{
    *l = (hn_engine_leaves){ .engine = e, .g = g, .storage = storage, .n = g->n_leaves, .n_extents = g->n_extents };
    l->written = hn_alloc_array(&e->heap, HN_TAG_STATE, (size_t)l->n + 1, sizeof *l->written);
    l->extents = hn_alloc_array(&e->heap, HN_TAG_STATE, (size_t)l->n_extents + 1, sizeof *l->extents);
    for (int i = 0; l->extents && i < l->n_extents; i++)
        l->extents[i] = g->extents[i].max;
    return l->written && l->extents ? HN_OK : HN_ERR_MEMORY;
}

void hn_engine_leaves_close(hn_engine_leaves *l)
{
    if (!l->engine)
        return;
    hn_free(&l->engine->heap, l->written);
    hn_free(&l->engine->heap, l->extents);
}

void hn_engine_leaves_extent(hn_engine_leaves *l, int32_t extent, int64_t size)
{
    if (extent >= 0 && extent < l->n_extents)
        l->extents[extent] = size;
}

/* Plain rows, as they are written. */
static size_t bytes_of_run(const hn_engine_leaves *l, const hn_leaf *leaf)
{
    hn_type type = hn_type_plain(&leaf->type);
    for (int i = 0; i < type.rank; i++)
        if (leaf->extent[i] && leaf->extent[i] <= l->n_extents)
            type.dim[i] = l->extents[leaf->extent[i] - 1];
    hn_type_pack(&type);
    return hn_type_bytes(&type);
}

hn_status hn_engine_check_written(const hn_engine_leaves *l, const hn_plan *plan)
{
    for (int i = 0; i < l->n; i++) {
        const hn_leaf *leaf = l->g->leaves[i];
        const bool is_given = leaf->kind == HN_LEAF_INPUT || leaf->kind == HN_LEAF_STEP ||
                              leaf->kind == HN_LEAF_WEIGHT;
        if (!is_given || plan->leaf_value[i] == HN_NO_VALUE)
            continue;
        HN_REQUIRE(l->written[i], HN_ERR_ARGUMENT,
                   "%s was never written: expected its numbers before the first run", leaf->name);
        HN_REQUIRE(l->written[i] >= bytes_of_run(l, leaf), HN_ERR_ARGUMENT,
                   "%s: %zu bytes were written: a run of these extents reads %zu", leaf->name, l->written[i],
                   bytes_of_run(l, leaf));
    }
    return HN_OK;
}

static hn_status check_leaf(const hn_engine_leaves *l, const hn_node *node, size_t bytes)
{
    HN_REQUIRE(node && node->leaf, HN_ERR_ARGUMENT, "not a leaf of the graph");
    HN_REQUIRE(node->graph == l->g, HN_ERR_ARGUMENT, "%s is a node of another builder",
               node->leaf->name);
    HN_REQUIRE(hn_storage_has(l->storage, node->leaf) && node->leaf->kind != HN_LEAF_CONSTANT,
               HN_ERR_ARGUMENT, "%s has no memory here", node->leaf->name);
    const hn_type plain = hn_type_plain(&node->leaf->type);
    const size_t most = hn_type_bytes(&plain);
    HN_REQUIRE(bytes <= most, HN_ERR_SHAPE, "%s: %zu bytes: expected at most %zu", node->leaf->name,
               bytes, most);
    HN_REQUIRE(!node->leaf->type.layout || bytes == most, HN_ERR_SHAPE,
               "%s: %zu bytes: a packed weight takes all of its %zu bytes of plain rows",
               node->leaf->name, bytes, most);
    return HN_OK;
}

hn_status hn_engine_write_leaf(hn_engine_leaves *l, const hn_node *leaf, const void *data,
                               size_t bytes)
{
    HN_REQUIRE(data || !bytes, HN_ERR_ARGUMENT, "no data given");
    HN_TRY(check_leaf(l, leaf, bytes));
    if (!bytes)
        return HN_OK;
    l->written[leaf->leaf->id] = bytes;
    if (leaf->leaf->type.layout)
        return hn_storage_pack(l->storage, leaf->leaf,
                               &(hn_plain_rows){ data, leaf->leaf->type.dtype, 0 });
    return hn_storage_write(l->storage, leaf->leaf, 0, data, bytes);
}

hn_status hn_engine_read_leaf(const hn_engine_leaves *l, const hn_node *leaf, void *to, size_t bytes)
{
    HN_REQUIRE(to || !bytes, HN_ERR_ARGUMENT, "no memory given");
    HN_TRY(check_leaf(l, leaf, bytes));
    HN_REQUIRE(!leaf->leaf->type.layout, HN_ERR_UNSUPPORTED,
               "%s is packed, and nothing changes it: keep what was written", leaf->leaf->name);
    return bytes ? hn_storage_read(l->storage, leaf->leaf, 0, to, bytes) : HN_OK;
}

hn_status hn_engine_read_tensor(const hn_tensor *t, void *to, size_t bytes)
{
    const hn_type packed = hn_type_plain(&t->type);
    HN_REQUIRE(to, HN_ERR_ARGUMENT, "no memory given");
    HN_REQUIRE(bytes == hn_type_bytes(&packed), HN_ERR_SHAPE,
               "room for %zu bytes: expected %zu", bytes, hn_type_bytes(&packed));
    const hn_tensor out = hn_tensor_at(&packed, to);
    hn_tensor_copy(&out, t);
    return HN_OK;
}
