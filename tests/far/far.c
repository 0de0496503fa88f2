#define _GNU_SOURCE 1
#include "tests/far/far.h"

#include "backend/cpu/cpu.h"
#include "backend/frame.h"
#include "base/rng.h"
#include "tests/far/fence.h"
#include "tests/far/layout.h"
#include "tests/far/process.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory: what the host gets to see is fenced, what kernels work on lies elsewhere ---- */

typedef struct region {
    struct region *next;
    char *fence, *real;
    size_t bytes;
} region;

typedef enum item_kind { CALL, FILL, WRITE, READ, COPY, AWAIT } item_kind;

/* A call as it was when it was compiled. Nothing of the host's is looked at again but what a graph never changes: the
 * op, its attributes, the node for a message. */
typedef struct captured {
    hn_launch launch;
    hn_call call;         /* of `upper` */
    hn_tensor *upper;     /* its operands: element types, ranks, layouts */
    const int64_t *frame; /* where it really is */
} captured;

typedef struct item {
    struct item *next;
    item_kind kind;
    captured *call;
    const hn_cancel_flag *cancel;
    hn_fault *fault; /* where it is in truth */
    char *to, *from;
    void *staged; /* freed with the item */
    size_t bytes;
    int byte;
    hn_event until;
} item;

typedef struct far {
    hn_device device;
    hn_device *kernels;
    region *regions;
    item *first, *last;
    uint64_t n_queued, n_done, may_do; /* items that may be begun */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool ends;
    uint64_t coin;
    size_t memory, taken; /* 0: no bound */
    atomic_size_t staged; /* bytes of the host's that wait in the queue */
    _Atomic bool is_broken; /* its thread came upon what is not its own */
} far;

/* What this thread, a host's, gave calls to and did not wait for yet: what others do there is theirs. */
static _Thread_local const far *amid[HN_MAX_DEVICES];

static const far **amid_slot(const far *of)
{
    for (int i = 0; i < HN_MAX_DEVICES; i++)
        if (amid[i] == of)
            return &amid[i];
    return NULL;
}

static void set_amid(const far *f, bool is_amid)
{
    const far **slot = amid_slot(f);
    if (!slot && is_amid)
        slot = amid_slot(NULL);
    if (slot)
        *slot = is_amid ? f : NULL;
}

static void *must(void *block)
{
    if (!block)
        abort();
    return block;
}

static far *far_of(const hn_device *device)
{
    return (far *)(uintptr_t)device;
}

/* Where [at, at + bytes) really is; all of it must be one buffer's. */
static hn_status find(far *f, const void *at, size_t bytes, char **out)
{
    const char *p = at;
    hn_status status = HN_ERR_PROOF;
    pthread_mutex_lock(&f->lock);
    for (const region *r = f->regions; r && status != HN_OK; r = r->next)
        if (p >= r->fence && p <= r->fence + r->bytes && bytes <= (size_t)(r->fence + r->bytes - p)) {
            *out = r->real + (p - r->fence);
            status = HN_OK;
        }
    pthread_mutex_unlock(&f->lock);
    return status == HN_OK ? status
                           : hn_fail(status, "%s: %zu bytes at %p are no memory of its own", f->device.name, bytes, at);
}

/* ---- the queue ---- */

static void wait_for(far *f, uint64_t seq)
{
    pthread_mutex_lock(&f->lock);
    if (f->may_do < seq)
        f->may_do = seq;
    pthread_cond_broadcast(&f->moved);
    while (f->n_done < seq)
        pthread_cond_wait(&f->moved, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

/* The host waits for less than all: while calls of its own are under way it was made a fence between them. */
static void fence_host(far *f, uint64_t seq)
{
    if (amid_slot(f))
        atomic_fetch_add(&far_all.n_fenced, 1);
    wait_for(f, seq);
}

/* With what the device finds in its own memory when the call's turn has come, at addresses that its kernel may use. */
static hn_status run_captured(far *f, const item *it)
{
    const captured *c = it->call;
    hn_tensor in[HN_MAX_IN], out[HN_MAX_OUT], plain[HN_MAX_IN];
    hn_call call = c->call, shown;
    hn_launch launch = c->launch;
    hn_frame_read(c->frame, &c->call, in, out);
    for (int i = 0; i < call.n_in; i++) {
        char *real = NULL;
        if (!call.in[i])
            continue;
        if (hn_op_reads(call.op, i))
            HN_TRY(find(f, in[i].data, hn_type_span(&in[i].type), &real));
        in[i].data = real;
        call.in[i] = &in[i];
    }
    for (int o = 0; o < call.n_out; o++) {
        char *real = NULL;
        if (!call.out[o])
            continue;
        HN_TRY(find(f, out[o].data, hn_type_span(&out[o].type), &real));
        out[o].data = real;
        call.out[o] = &out[o];
    }
    const unsigned packed = far_shown(&call, plain, &shown);
    launch.call = &shown;
    const hn_status status = f->kernels->backend->submit(f->kernels, &(hn_submission){ .at = &launch, .n = 1, .cancel = it->cancel, .fault = it->fault });
    far_shown_free(packed, plain);
    far_spoil(&call);
    return status;
}

static void work(far *f, item *it)
{
    switch (it->kind) {
    case CALL: f->is_broken = f->is_broken || (!it->fault->kind && run_captured(f, it) != HN_OK); break;
    case FILL: memset(it->to, it->byte, it->bytes); break;
    case WRITE:
    case READ:
    case COPY: memmove(it->to, it->from, it->bytes); break;
    case AWAIT: it->until.device->backend->reach(&it->until); break;
    }
}

static void *serve(void *context)
{
    far *f = context;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        while (!f->ends && (!f->first || f->n_done >= f->may_do))
            pthread_cond_wait(&f->moved, &f->lock);
        if (!f->first)
            break;
        item *it = f->first;
        pthread_mutex_unlock(&f->lock);
        work(f, it);
        pthread_mutex_lock(&f->lock);
        f->first = it->next;
        if (!f->first)
            f->last = NULL;
        f->staged -= it->staged ? it->bytes : 0;
        f->n_done++;
        free(it->staged);
        free(it);
        pthread_cond_broadcast(&f->moved);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static uint64_t put(far *f, item *it)
{
    pthread_mutex_lock(&f->lock);
    it->next = NULL;
    if (f->last)
        f->last->next = it;
    else
        f->first = it;
    f->last = it;
    const uint64_t seq = ++f->n_queued;
    f->coin = f->coin * UINT64_C(6364136223846793005) + 1442695040888963407;
    if (f->coin >> 63)
        f->may_do = seq;
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->lock);
    return seq;
}

static item *item_new(item_kind kind)
{
    item *it = must(calloc(1, sizeof *it));
    it->kind = kind;
    return it;
}

static uint64_t queued(far *f)
{
    pthread_mutex_lock(&f->lock);
    const uint64_t seq = f->n_queued;
    pthread_mutex_unlock(&f->lock);
    return seq;
}

static hn_status far_wait(hn_device *device)
{
    far *f = far_of(device);
    set_amid(f, false);
    wait_for(f, queued(f));
    return f->is_broken ? hn_fail(HN_ERR_PROOF, "%s: a call whose operands are no memory of its own", device->name) : HN_OK;
}

/* ---- the backend ---- */

static size_t available(const hn_device *device)
{
    far *f = far_of(device);
    pthread_mutex_lock(&f->lock);
    const size_t left = f->memory ? f->memory - f->taken : SIZE_MAX;
    pthread_mutex_unlock(&f->lock);
    return left;
}

static hn_status take(far *f, size_t bytes)
{
    const size_t left = available(&f->device);
    if (bytes > left)
        return hn_fail(HN_ERR_MEMORY, "%s: %zu bytes: %zu of its %zu are left", f->device.name, bytes, left, f->memory);
    pthread_mutex_lock(&f->lock);
    f->taken += bytes;
    for (size_t most = far_all.most_taken; f->taken > most && !atomic_compare_exchange_weak(&far_all.most_taken, &most, f->taken);)
        continue;
    pthread_mutex_unlock(&f->lock);
    return HN_OK;
}

static void give_back(far *f, size_t bytes)
{
    pthread_mutex_lock(&f->lock);
    f->taken -= bytes;
    pthread_mutex_unlock(&f->lock);
}

static hn_status buffer_new(hn_device *device, hn_tag tag, size_t bytes, hn_buffer *out)
{
    far *f = far_of(device);
    *out = (hn_buffer){ 0 };
    HN_TRY(take(f, bytes));
    region *r = must(calloc(1, sizeof *r));
    r->real = hn_alloc(device->heap, tag, bytes);
    if (!r->real) {
        give_back(f, bytes);
        free(r);
        return HN_ERR_MEMORY;
    }
    r->bytes = bytes;
    r->fence = fence_new(bytes);
    pthread_mutex_lock(&f->lock);
    r->next = f->regions;
    f->regions = r;
    pthread_mutex_unlock(&f->lock);
    *out = (hn_buffer){ device, r->fence, bytes };
    return HN_OK;
}

static void buffer_free(hn_buffer *buffer)
{
    far *f = far_of(buffer->device);
    wait_for(f, queued(f));
    pthread_mutex_lock(&f->lock);
    region **at = &f->regions;
    while (*at && (*at)->fence != buffer->data)
        at = &(*at)->next;
    region *r = *at;
    if (r)
        *at = r->next;
    pthread_mutex_unlock(&f->lock);
    if (r) {
        fence_free(r->fence, r->bytes);
        hn_free(f->device.heap, r->real);
        give_back(f, r->bytes);
        free(r);
    }
    *buffer = (hn_buffer){ 0 };
}

static hn_status fill(hn_device *device, void *at, int byte, size_t bytes)
{
    char *to;
    HN_TRY(find(far_of(device), at, bytes, &to));
    item *it = item_new(FILL);
    it->to = to, it->byte = byte, it->bytes = bytes;
    put(far_of(device), it);
    return HN_OK;
}

/* What waits to be written lies in so much of the host's memory and no more: who would put more there waits. */
enum { MOST_STAGED = 1 << 19 }; /* two steps of a tiny model that is fed its layers */

static hn_status far_write(hn_device *device, void *to, const void *from, size_t bytes)
{
    far *f = far_of(device);
    char *real;
    HN_TRY(find(f, to, bytes, &real));
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < MOST_STAGED ? bytes - at : MOST_STAGED;
        if (f->staged + n > MOST_STAGED)
            fence_host(f, queued(f));
        item *it = item_new(WRITE);
        it->staged = memcpy(must(malloc(n)), (const char *)from + at, n);
        it->to = real + at, it->from = it->staged, it->bytes = n;
        f->staged += n;
        put(f, it);
    }
    return HN_OK;
}

static hn_status far_send(hn_device *device, void *to, const void *from, size_t bytes)
{
    char *real;
    far *f = far_of(device);
    HN_TRY(find(f, to, bytes, &real));
    item *it = item_new(WRITE);
    it->to = real, it->from = (char *)(uintptr_t)from, it->bytes = bytes;
    put(f, it);
    return HN_OK;
}

static hn_status far_fetch(hn_device *device, void *to, const void *from, size_t bytes)
{
    char *real;
    far *f = far_of(device);
    HN_TRY(find(f, from, bytes, &real));
    item *it = item_new(READ);
    it->to = to, it->from = real, it->bytes = bytes;
    far_all.n_read += bytes;
    put(f, it);
    return HN_OK;
}

static hn_status pack(hn_device *device, const hn_type *type, void *to, const hn_plain_rows *from)
{
    far *f = far_of(device);
    char *real;
    HN_TRY(find(f, to, hn_type_bytes(type), &real));
    HN_TRY(far_wait(device));
    return f->kernels->backend->pack(f->kernels, type, real, from);
}

static void record(hn_device *device, hn_event *out)
{
    *out = (hn_event){ device, queued(far_of(device)) };
}

static void reach(const hn_event *event)
{
    fence_host(far_of(event->device), event->number);
}

static hn_status await(hn_device *device, const hn_event *event)
{
    item *it = item_new(AWAIT);
    it->until = *event;
    put(far_of(device), it);
    return HN_OK;
}

static hn_status copy(hn_device *device, void *to, hn_device *source, const void *from, size_t bytes)
{
    far *f = far_of(device), *s = far_of(source);
    item *it = item_new(COPY);
    it->bytes = bytes;
    hn_status status = find(f, to, bytes, &it->to);
    if (status == HN_OK)
        status = find(s, from, bytes, &it->from);
    if (status != HN_OK) {
        free(it);
        return status;
    }
    put(f, it);
    return HN_OK;
}

static void supports(const hn_device *device, const hn_call *call, hn_support *out)
{
    const far *f = far_of(device);
    hn_tensor plain[HN_MAX_IN];
    hn_call shown;
    far_shown(call, plain, &shown); /* what its kernels read in panels it has in its own layout, too */
    f->kernels->backend->supports(f->kernels, &shown, out);
    out->runs = !far_is_off(call->op->name);
}

static const hn_layout *prefers(const hn_device *device, hn_dtype dtype, int rank)
{
    return far_preferred(far_number_of(device->name), dtype, rank);
}

static hn_status capture(far *f, const hn_launch *l, captured *c)
{
    char *real;
    int n = 0;
    c->launch = *l;
    c->call = *l->call;
    c->upper = must(calloc((size_t)(c->call.n_in + c->call.n_out), sizeof *c->upper));
    for (int i = 0; i < c->call.n_in; i++)
        if (c->call.in[i])
            c->upper[n] = *c->call.in[i], c->call.in[i] = &c->upper[n++];
    for (int o = 0; o < c->call.n_out; o++)
        if (c->call.out[o])
            c->upper[n] = *c->call.out[o], c->call.out[o] = &c->upper[n++];
    HN_TRY(find(f, l->frame, hn_frame_words(l->call) * sizeof *c->frame, &real));
    c->frame = (const int64_t *)(const void *)real;
    if (l->scratch) {
        HN_TRY(find(f, l->scratch, l->shared_scratch + (size_t)f->device.n_threads * l->thread_scratch, &real));
        c->launch.scratch = real;
    }
    return HN_OK;
}

static void captured_free(captured *all, int n)
{
    for (int i = 0; i < n; i++)
        free(all[i].upper);
    free(all);
}

static hn_status compile(hn_device *device, hn_launch *launches, int n)
{
    far *f = far_of(device);
    captured *all = must(calloc((size_t)n + 1, sizeof *all));
    hn_status status = f->kernels->backend->compile(f->kernels, launches, n);
    for (int i = 0; i < n && status == HN_OK; i++) {
        status = capture(f, &launches[i], &all[i]);
        launches[i].binding = &all[i];
    }
    if (status != HN_OK || !n)
        captured_free(all, n);
    far_all.n_captured += n;
    return status;
}

static void discard(hn_device *device, hn_launch *launches, int n)
{
    far *f = far_of(device);
    captured *all = n ? (captured *)(uintptr_t)launches[0].binding : NULL;
    wait_for(f, queued(f));
    for (int i = 0; i < n; i++)
        launches[i].binding = all[i].launch.binding;
    f->kernels->backend->discard(f->kernels, launches, n);
    captured_free(all, n);
}

/* Looks at nothing of the host's but which of the captured calls these are. */
static hn_status submit(hn_device *device, const hn_submission *s)
{
    far *f = far_of(device);
    char *fault;
    HN_TRY(find(f, s->fault, sizeof *s->fault, &fault));
    set_amid(f, true);
    for (int i = 0; i < s->n; i++) {
        item *it = item_new(CALL);
        it->call = (captured *)(uintptr_t)s->at[i].binding;
        it->cancel = s->cancel;
        it->fault = (hn_fault *)(void *)fault;
        device->n_calls += it->call->launch.apply != NULL;
        put(f, it);
    }
    return HN_OK;
}

static void shuffle(hn_device *device, uint64_t seed)
{
    far *f = far_of(device);
    wait_for(f, queued(f));
    f->kernels->backend->shuffle(f->kernels, seed);
}

static void describe(const hn_device *device, char *text, size_t bytes)
{
    const far *f = far_of(device);
    const int n = snprintf(text, bytes, "memory of its own, ");
    f->kernels->backend->describe(f->kernels, text + n, bytes - (size_t)n);
}

static void far_close(hn_device *device)
{
    if (!device)
        return;
    far *f = far_of(device);
    wait_for(f, queued(f));
    pthread_mutex_lock(&f->lock);
    f->ends = true;
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    atomic_fetch_add(&far_all.n_far, (long long)device->n_calls);
    atomic_fetch_add(&far_all.n_host, (long long)device->host->n_calls);
    device->host->backend->close(device->host);
    f->kernels->backend->close(f->kernels);
    hn_free(device->heap, f);
}

static hn_status far_open(hn_device **out, hn_heap *heap, const hn_device_options *options)
{
    const hn_device_options own = { .name = "cpu", .n_threads = options->n_threads, .isa = options->isa };
    *out = NULL;
    far *f = hn_alloc(heap, HN_TAG_DEVICE, sizeof *f);
    if (!f)
        return HN_ERR_MEMORY;
    f->device = (hn_device){ .backend = &hn_backend_far, .heap = heap };
    snprintf(f->device.name, sizeof f->device.name, "%s", options->name ? options->name : "far");
    hn_status status = hn_backend_find("cpu")->open(&f->kernels, heap, &own);
    if (status == HN_OK) {
        status = hn_device_open_spare(&f->device.host, heap, options);
        if (status != HN_OK)
            f->kernels->backend->close(f->kernels);
    }
    if (status != HN_OK) {
        hn_free(heap, f);
        return status;
    }
    f->device.n_threads = f->kernels->n_threads;
    f->coin = 12345;
    f->memory = far_memory_of(f->device.name);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->moved, NULL);
    if (pthread_create(&f->thread, NULL, serve, f) != 0)
        abort();
    *out = &f->device;
    return HN_OK;
}

const hn_backend hn_backend_far = {
    .name = "far",
    .summary = "the CPU's kernels behind memory that the host may not touch, for tests",
    .gives_cpu_bits = true,
    .open = far_open,
    .close = far_close,
    .available = available,
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .fill = fill,
    .write = far_write,
    .send = far_send,
    .fetch = far_fetch,
    .pack = pack,
    .copy = copy,
    .record = record,
    .reach = reach,
    .await = await,
    .supports = supports,
    .layouts = far_layouts,
    .prefers = prefers,
    .compile = compile,
    .discard = discard,
    .submit = submit,
    .wait = far_wait,
    .shuffle = shuffle,
    .describe = describe,
};
