#define _GNU_SOURCE 1
#include "tests/far/far.h"

#include "backend/cpu/cpu.h"
#include "base/rng.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- memory: what the host gets to see is fenced, what kernels work on lies elsewhere ---- */

typedef struct region {
    struct region *next;
    char *fence, *real;
    size_t bytes, fenced;
} region;

/* What one queue tells another. */
typedef struct event {
    struct far *of;
    uint64_t seq; /* reached when this item of its is done */
} event;

typedef enum item_kind { CALL, FILL, WRITE, READ, COPY, AWAIT } item_kind;

typedef struct item {
    struct item *next;
    item_kind kind;
    hn_launch launch;
    hn_call call;
    hn_tensor in[HN_MAX_IN], out[HN_MAX_OUT];
    const hn_cancel_flag *cancel;
    char *to, *from;
    void *staged; /* freed with the item */
    size_t bytes;
    int byte;
    event until;
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
    hn_status failed;
    char why[1024];
    uint64_t coin;
    size_t memory, taken; /* 0: no bound */
} far;

static pthread_mutex_t fences_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char *begin, *end;
} fences[1 << 14];
static volatile int n_fences;
static atomic_llong n_far, n_host;
static const char *off_list, *layout_word, *counts_path, *memory_list;
static atomic_size_t most_taken, n_read;

static far *far_of(const hn_device *device)
{
    return (far *)(uintptr_t)device;
}

static void on_touch(int number, siginfo_t *info, void *context)
{
    void *frames[40];
    char *at = info->si_addr;
    (void)context;
    for (int i = 0; i < n_fences; i++)
        if (at >= fences[i].begin && at < fences[i].end) {
            static const char text[] = "FAILED: the host touched memory of far, here:\n";
            (void)!write(2, text, sizeof text - 1);
            backtrace_symbols_fd(frames, backtrace(frames, 40), 2);
            _exit(99);
        }
    signal(number, SIG_DFL);
}

static void note_fence(char *begin, size_t bytes, bool is_new)
{
    pthread_mutex_lock(&fences_lock);
    for (int i = 0; i < (int)(sizeof fences / sizeof *fences); i++) {
        if (is_new ? fences[i].begin != NULL : fences[i].begin != begin)
            continue;
        fences[i].begin = is_new ? begin : NULL;
        fences[i].end = is_new ? begin + bytes : NULL;
        n_fences = i >= n_fences ? i + 1 : n_fences;
        break;
    }
    pthread_mutex_unlock(&fences_lock);
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

static void may_reach(far *f, uint64_t seq)
{
    pthread_mutex_lock(&f->lock);
    if (f->may_do < seq)
        f->may_do = seq;
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->lock);
}

static void wait_for(far *f, uint64_t seq)
{
    may_reach(f, seq);
    pthread_mutex_lock(&f->lock);
    while (f->n_done < seq)
        pthread_cond_wait(&f->moved, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

static hn_status work(far *f, item *it)
{
    hn_submission one = { .at = &it->launch, .n = 1, .cancel = it->cancel };
    switch (it->kind) {
    case CALL: return f->kernels->backend->submit(f->kernels, &one);
    case FILL: memset(it->to, it->byte, it->bytes); return HN_OK;
    case WRITE:
    case READ:
    case COPY: memmove(it->to, it->from, it->bytes); return HN_OK;
    case AWAIT: wait_for(it->until.of, it->until.seq); return HN_OK;
    }
    return HN_OK;
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
        const bool runs = it->kind == AWAIT || f->failed == HN_OK;
        pthread_mutex_unlock(&f->lock);
        const hn_status status = runs ? work(f, it) : HN_OK;
        pthread_mutex_lock(&f->lock);
        if (status != HN_OK) {
            f->failed = status;
            snprintf(f->why, sizeof f->why, "%s", hn_error_message());
        }
        f->first = it->next;
        if (!f->first)
            f->last = NULL;
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
    item *it = calloc(1, sizeof *it);
    if (!it)
        abort();
    it->kind = kind;
    return it;
}

static hn_status report(far *f)
{
    pthread_mutex_lock(&f->lock);
    const hn_status status = f->failed;
    f->failed = HN_OK;
    pthread_mutex_unlock(&f->lock);
    return status == HN_OK ? HN_OK : hn_fail(status, "%s", f->why);
}

static hn_status far_wait(hn_device *device)
{
    far *f = far_of(device);
    wait_for(f, f->n_queued);
    return report(f);
}

/* ---- the backend ---- */

/* Of HN_FAR_MEMORY, the entry of the device with this name: far, or far3 for the fourth in a list. */
static size_t own_memory(const char *name)
{
    const char *at = memory_list;
    for (int i = atoi(name + strcspn(name, "0123456789")); at && i > 0 && strchr(at, ','); i--)
        at = strchr(at, ',') + 1;
    return at ? (size_t)strtoull(at, NULL, 10) : 0;
}

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
    for (size_t most = most_taken; f->taken > most && !atomic_compare_exchange_weak(&most_taken, &most, f->taken);)
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
    region *r = calloc(1, sizeof *r);
    if (!r)
        abort();
    r->real = hn_alloc(device->heap, tag, bytes);
    if (!r->real) {
        give_back(f, bytes);
        free(r);
        return HN_ERR_MEMORY;
    }
    r->bytes = bytes;
    r->fenced = (bytes / 4096 + 2) * 4096;
    r->fence = mmap(NULL, r->fenced, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->fence == MAP_FAILED)
        abort();
    note_fence(r->fence, r->fenced, true);
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
    wait_for(f, f->n_queued);
    pthread_mutex_lock(&f->lock);
    region **at = &f->regions;
    while (*at && (*at)->fence != buffer->data)
        at = &(*at)->next;
    region *r = *at;
    if (r)
        *at = r->next;
    pthread_mutex_unlock(&f->lock);
    if (r) {
        note_fence(r->fence, r->fenced, false);
        munmap(r->fence, r->fenced);
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

static hn_status far_write(hn_device *device, void *to, const void *from, size_t bytes)
{
    char *real;
    HN_TRY(find(far_of(device), to, bytes, &real));
    item *it = item_new(WRITE);
    it->staged = malloc(bytes + 1);
    if (!it->staged)
        abort();
    memcpy(it->staged, from, bytes);
    it->to = real, it->from = it->staged, it->bytes = bytes;
    put(far_of(device), it);
    return HN_OK;
}

static hn_status far_read(hn_device *device, void *to, const void *from, size_t bytes)
{
    char *real;
    HN_TRY(find(far_of(device), from, bytes, &real));
    item *it = item_new(READ);
    it->to = to, it->from = real, it->bytes = bytes;
    n_read += bytes;
    wait_for(far_of(device), put(far_of(device), it));
    return report(far_of(device));
}

static hn_status pack(hn_device *device, const hn_type *type, void *to, const hn_plain_rows *from)
{
    far *f = far_of(device);
    char *real;
    HN_TRY(find(f, to, hn_type_bytes(type), &real));
    HN_TRY(far_wait(device));
    return f->kernels->backend->pack(f->kernels, type, real, from);
}

/* This queue waits for what the source has by now, and the source, before it goes on, for the copy. */
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
    if (s == f) {
        put(f, it);
        return HN_OK;
    }
    item *before = item_new(AWAIT), *after = item_new(AWAIT);
    before->until = (event){ s, s->n_queued };
    put(f, before);
    after->until = (event){ f, put(f, it) };
    put(s, after);
    return HN_OK;
}

static bool is_off(const char *op)
{
    const size_t n = strlen(op);
    for (const char *at = off_list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && !memcmp(at, op, n))
            return true;
    return false;
}

static void supports(const hn_device *device, const hn_call *call, hn_support *out)
{
    const far *f = far_of(device);
    f->kernels->backend->supports(f->kernels, call, out);
    out->runs = !is_off(call->op->name);
}

static hn_layout prefers(const hn_device *device, hn_dtype dtype, int rank)
{
    hn_layout layout = HN_LAYOUT_PANEL16;
    (void)device;
    if (layout_word && !strcmp(layout_word, "plain"))
        return HN_LAYOUT_PLAIN;
    return hn_layout_takes(layout, dtype, rank) ? layout : HN_LAYOUT_PLAIN;
}

static hn_status compile(hn_device *device, hn_launch *launches, int n)
{
    far *f = far_of(device);
    return f->kernels->backend->compile(f->kernels, launches, n);
}

static void discard(hn_device *device, hn_launch *launches, int n)
{
    far *f = far_of(device);
    f->kernels->backend->discard(f->kernels, launches, n);
}

/* The call with the addresses that its kernel may use: a copy, since the host goes on. */
static hn_status translate(far *f, const hn_launch *l, item *it)
{
    it->launch = *l;
    it->call = *l->call;
    it->launch.call = &it->call;
    for (int i = 0; i < it->call.n_in; i++) {
        if (!l->call->in[i])
            continue;
        it->in[i] = *l->call->in[i];
        it->call.in[i] = &it->in[i];
        char *real = NULL;
        if (hn_op_reads(l->call->op, i))
            HN_TRY(find(f, it->in[i].data, hn_type_span(&it->in[i].type), &real));
        it->in[i].data = real;
    }
    for (int o = 0; o < it->call.n_out; o++) {
        char *real;
        if (!l->call->out[o])
            continue;
        it->out[o] = *l->call->out[o];
        it->call.out[o] = &it->out[o];
        HN_TRY(find(f, it->out[o].data, hn_type_span(&it->out[o].type), &real));
        it->out[o].data = real;
    }
    if (l->scratch) {
        char *real;
        HN_TRY(find(f, l->scratch, l->shared_scratch + (size_t)f->device.n_threads * l->thread_scratch, &real));
        it->launch.scratch = real;
    }
    return HN_OK;
}

static hn_status submit(hn_device *device, const hn_submission *s)
{
    far *f = far_of(device);
    for (int i = 0; i < s->n; i++) {
        item *it = item_new(CALL);
        it->cancel = s->cancel;
        const hn_status status = translate(f, &s->at[i], it);
        if (status != HN_OK) {
            free(it);
            return status;
        }
        put(f, it);
        device->n_calls += s->at[i].apply != NULL;
    }
    return HN_OK;
}

static void shuffle(hn_device *device, uint64_t seed)
{
    far *f = far_of(device);
    wait_for(f, f->n_queued);
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
    wait_for(f, f->n_queued);
    pthread_mutex_lock(&f->lock);
    f->ends = true;
    pthread_cond_broadcast(&f->moved);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    atomic_fetch_add(&n_far, (long long)device->n_calls);
    atomic_fetch_add(&n_host, (long long)device->host->n_calls);
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
        status = hn_backend_find("cpu")->open(&f->device.host, heap, &own);
        if (status != HN_OK)
            f->kernels->backend->close(f->kernels);
    }
    if (status != HN_OK) {
        hn_free(heap, f);
        return status;
    }
    f->device.host->is_spare = true;
    f->device.n_threads = f->kernels->n_threads;
    f->coin = 12345;
    f->memory = own_memory(f->device.name);
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
    .open = far_open,
    .close = far_close,
    .available = available,
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .fill = fill,
    .write = far_write,
    .read = far_read,
    .pack = pack,
    .copy = copy,
    .supports = supports,
    .prefers = prefers,
    .compile = compile,
    .discard = discard,
    .submit = submit,
    .wait = far_wait,
    .shuffle = shuffle,
    .describe = describe,
};

/* ---- for a whole process ---- */

static void tell_counts(void)
{
    FILE *file = counts_path ? fopen(counts_path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%lld calls on far, %lld on the host in its place, %zu bytes, %zu read\n", atomic_load(&n_far), atomic_load(&n_host),
            atomic_load(&most_taken), atomic_load(&n_read));
    fclose(file);
}

void hn_far_install(void)
{
    const char *devices = getenv("HN_TEST_DEVICES");
    if (!devices || !*devices)
        return;
    off_list = getenv("HN_FAR_OFF");
    layout_word = getenv("HN_FAR_LAYOUT");
    counts_path = getenv("HN_FAR_COUNTS");
    memory_list = getenv("HN_FAR_MEMORY");
    struct sigaction own = { .sa_sigaction = on_touch, .sa_flags = SA_SIGINFO };
    sigaction(SIGSEGV, &own, NULL);
    atexit(tell_counts);
    hn_backend_add(&hn_backend_far, devices);
}
