/* Runs at once in submit: the thread that calls is the queue, and its pool does the work. Beside devices with queues of their own
 * a thread is (queue.h), and does the same in its turn.
 *
 *     submit     launch  launch  launch            one after the other: a launch sees all that those before it wrote
 *     launch     phase 0 | phase 1 | ...           a barrier at each bar: hn_pool_run returns when all units are done
 *     phase      unit unit unit unit ...           on any threads, in any order, none sees what another writes
 *
 * So there is nothing to wait for between calls, and copies are memmove: where the caller is the queue, an event is reached when it is
 * recorded. And no bit depends on
 * threads: a unit's elements are its own, computed whole by the one who has it. A thread's scratch is good for its unit alone; shared
 * scratch is what phases hand to each other.
 *
 * Shared scratch also lives on into the next launch. Where that is the same op over the same rows (the k and v of one x), what the
 * first phases made of them still lies there, and is not made again: finds_rows holds it to binding, place, size and the very input,
 * which the call before must not have written over. It asks the launch directly before and no other, so nobody wrote there since,
 * and a binding that has a rows_phase leaves alone in later phases what those up to it made.
 *
 * Kernels cannot fail: all that could was asked before, in `supports`, ids by the op's check. What only they see, a row that is not
 * finite, they mark (bad_row, the first of all); the phases that follow are left out, and the fault has the row.
 *
 * An op without a binding runs by its `forward`, as one unit: slowly, in any layout, and taking no memory over. */
#include "backend/cpu/cpu.h"

#include "backend/cpu/panel16.h"
#include "backend/fault.h"
#include "base/os/memory.h"

#include <stdio.h>
#include <string.h>

#define HN_BIND(op) extern const hn_cpu_binding hn_cpu_##op;
#include "backend/cpu/bindings.def"
#undef HN_BIND

static const hn_cpu_binding *const bindings[] = {
#define HN_BIND(op) &hn_cpu_##op,
#include "backend/cpu/bindings.def"
#undef HN_BIND
    NULL,
};

const hn_cpu_binding *hn_cpu_binding_of(const hn_op *op)
{
    for (int i = 0; bindings[i]; i++)
        if (bindings[i]->op == op)
            return bindings[i];
    return NULL;
}

static hn_cpu *cpu_of(hn_device *device)
{
    return (hn_cpu *)(void *)device;
}

static void close_device(hn_device *device)
{
    if (!device)
        return;
    hn_cpu *cpu = cpu_of(device);
    hn_queue_free(cpu->queue);
    hn_pool_free(cpu->pool);
    hn_free(device->heap, cpu);
}

static hn_status open_device(hn_device **out, hn_heap *heap, const hn_device_options *options);

static hn_status buffer_new(hn_device *device, hn_tag tag, size_t bytes, hn_buffer *out)
{
    *out = (hn_buffer){ .device = device, .data = hn_alloc(device->heap, tag, bytes),
                        .bytes = bytes };
    if (out->data)
        return HN_OK;
    *out = (hn_buffer){ 0 };
    return HN_ERR_MEMORY;
}

static hn_status await_all(hn_device *device)
{
    hn_queue *queue = cpu_of(device)->queue;
    return queue ? hn_queue_wait(queue) : HN_OK;
}

static void buffer_free(hn_buffer *buffer)
{
    (void)await_all(buffer->device);
    hn_free(buffer->device->heap, buffer->data);
    *buffer = (hn_buffer){ 0 };
}

static hn_status fill(hn_device *device, void *at, int byte, size_t bytes)
{
    hn_queue *queue = cpu_of(device)->queue;
    if (queue)
        hn_queue_put(queue, &(hn_queued){ .kind = HN_QUEUED_FILL, .to = at, .byte = byte, .bytes = bytes });
    else
        memset(at, byte, bytes);
    return HN_OK;
}

/* When its turn has come, which is at once where the queue is the thread that calls. */
static hn_status transfer(hn_device *device, void *to, const void *from, size_t bytes)
{
    hn_queue *queue = cpu_of(device)->queue;
    if (queue)
        hn_queue_put(queue, &(hn_queued){ .kind = HN_QUEUED_MOVE, .to = to, .from = from, .bytes = bytes });
    else
        memmove(to, from, bytes);
    return HN_OK;
}

/* What is taken is the caller's again. */
static hn_status write_bytes(hn_device *device, void *to, const void *from, size_t bytes)
{
    HN_TRY(transfer(device, to, from, bytes));
    return await_all(device);
}

static hn_status copy(hn_device *device, void *to, hn_device *source, const void *from,
                      size_t bytes)
{
    (void)source;
    return transfer(device, to, from, bytes);
}

static void record(hn_device *device, hn_event *out)
{
    hn_queue *queue = cpu_of(device)->queue;
    *out = queue ? (hn_event){ .device = device, .number = hn_queue_put_so_far(queue) } : (hn_event){ 0 };
}

static void reach(const hn_event *event)
{
    hn_queue_reach(cpu_of(event->device)->queue, event->number);
}

static hn_status await(hn_device *device, const hn_event *event)
{
    hn_queue *queue = cpu_of(device)->queue;
    if (queue)
        hn_queue_put(queue, &(hn_queued){ .kind = HN_QUEUED_EVENT, .until = *event });
    else
        event->device->backend->reach(event);
    return HN_OK;
}

typedef struct pack_job {
    const hn_type *type;
    const hn_plain_rows *from;
    void *to;
} pack_job;

static void pack_units(void *context, int64_t begin, int64_t end, int thread)
{
    const pack_job *job = context;
    (void)thread;
    job->type->layout->pack(job->type, job->from, job->to, begin, end);
}

static hn_status pack(hn_device *device, const hn_type *type, void *to, const hn_plain_rows *from)
{
    pack_job job = { type, from, to };
    if (!type->layout)
        return write_bytes(device, to, from->data, hn_type_bytes(type));
    HN_TRY(await_all(device));
    hn_pool_run(cpu_of(device)->pool, hn_layout_units(type), 1, pack_units, &job);
    return HN_OK;
}

static void supports(const hn_device *device, const hn_call *call, hn_support *out)
{
    const hn_cpu *cpu = (const hn_cpu *)(const void *)device;
    const hn_cpu_binding *binding = hn_cpu_binding_of(call->op);
    hn_support asked = { .runs = true, .has_kernel = true };
    memcpy(asked.may_overwrite, call->op->may_overwrite, sizeof asked.may_overwrite);
    if (binding && binding->supports(cpu, call, &asked)) {
        asked.shared_scratch = hn_round_scratch(asked.shared_scratch);
        asked.thread_scratch = hn_round_scratch(asked.thread_scratch);
        *out = asked;
        return;
    }
    /* forward may read an input again after writing: no take-overs; it reads every layout */
    *out = (hn_support){ .runs = true, .packed = ~0u };
}

static const hn_layout *const layouts[] = { &hn_layout_panel16, NULL };

static const hn_layout *prefers(const hn_device *device, hn_dtype dtype, int rank)
{
    (void)device;
    return hn_layout_takes(&hn_layout_panel16, dtype, rank) ? &hn_layout_panel16 : NULL;
}

static hn_status compile(hn_device *device, hn_launch *launches, int n)
{
    for (int i = 0; i < n; i++) {
        hn_support support;
        supports(device, launches[i].call, &support);
        launches[i].binding = support.has_kernel ? hn_cpu_binding_of(launches[i].call->op) : NULL;
    }
    return HN_OK;
}

static void discard(hn_device *device, hn_launch *launches, int n)
{
    (void)device, (void)launches, (void)n;
}

typedef struct phase_job {
    const hn_cpu_binding *binding;
    const hn_cpu_task *task;
    int phase;
} phase_job;

static void run_units(void *context, int64_t begin, int64_t end, int thread)
{
    const phase_job *job = context;
    job->binding->run(job->task, job->phase, begin, end, thread);
}

static void run_forward(void *context, int64_t begin, int64_t end, int thread)
{
    const hn_call *call = context;
    (void)begin, (void)end, (void)thread;
    call->op->forward(call);
}

/* A chunk should be worth the handing over: about this many bytes, or flops / 4. Rows that are made of x alone are worth x. */
static int64_t smallest_chunk(const hn_call *call, int64_t units, bool makes_rows)
{
    enum { WORTH = 32 * 1024 };
    const double work = makes_rows ? (double)hn_type_bytes(&call->in[0]->type) : hn_call_bytes(call) + hn_call_flops(call) / 4;
    const double per_unit = work / (double)units;
    const double n = per_unit > 0 ? WORTH / per_unit : 1;
    return n < 1 ? 1 : n > (double)units ? units : (int64_t)n;
}

/* A row that turns out to have numbers alone is told as well: whoever has the words says so. */
static void refuse_row(const hn_launch *launch, int64_t row, hn_fault *fault)
{
    if (!hn_launch_refuse_row(launch, row, fault))
        *fault = (hn_fault){ .kind = HN_FAULT_ROW, .launch = launch->number, .row = row };
}

/* An input is what it was in the call before, which did not write over it. */
static bool is_kept(const hn_launch *before, const hn_launch *launch, int input)
{
    const hn_tensor *x = launch->call->in[input], *then = before->call->in[input];
    return x->data == then->data && hn_same_shape(&x->type, &then->type) && before->call->out[0]->data != x->data;
}

/* What phases up to rows_phase make lies in shared scratch already: the call before was of the same op and shapes over the same rows. */
static bool finds_rows(const hn_launch *before, const hn_launch *launch)
{
    const hn_cpu_binding *binding = launch->binding;
    if (!before || !binding || !binding->rows_phase || before->binding != binding || before->scratch != launch->scratch ||
        before->shared_scratch != launch->shared_scratch)
        return false;
    return is_kept(before, launch, 0) && (!binding->rows_by || is_kept(before, launch, binding->rows_by));
}

static void run_launch(hn_cpu *cpu, const hn_launch *launch, const hn_launch *before, hn_fault *fault)
{
    const hn_cpu_binding *binding = launch->binding;
    if (!hn_launch_passes(launch, !binding || !binding->sees_rows, fault))
        return;
    if (!binding) {
        hn_call call = *launch->call;
        hn_pool_run(cpu->pool, 1, 1, run_forward, &call);
        return;
    }
    _Atomic int64_t bad_row = INT64_MAX;
    const hn_cpu_task task = { .cpu = cpu, .call = launch->call, .shared = launch->scratch,
                               .threads = launch->scratch
                                              ? (char *)launch->scratch + launch->shared_scratch
                                              : NULL,
                               .thread_bytes = launch->thread_scratch, .bad_row = &bad_row };
    const int n_phases = binding->phases ? binding->phases(&task) : 1, found = finds_rows(before, launch) ? binding->rows_phase : 0;
    for (int phase = found; phase < n_phases; phase++) {
        phase_job job = { binding, &task, phase };
        const int64_t units = binding->units(&task, phase);
        if (units > 0)
            hn_pool_run(cpu->pool, units, smallest_chunk(launch->call, units, phase < binding->rows_phase), run_units, &job);
        if (atomic_load(&bad_row) != INT64_MAX) {
            refuse_row(launch, bad_row, fault);
            return;
        }
    }
}

/* The first of launches [from, n) that streams: threads ask memory for it while they have nothing else to do. */
static int tell_next(hn_cpu *cpu, const hn_submission *stretch, int from)
{
    for (int i = from; i < stretch->n; i++) {
        const hn_cpu_binding *binding = stretch->at[i].binding;
        const hn_tensor *read = binding && binding->streams ? binding->streams(stretch->at[i].call) : NULL;
        if (!read)
            continue;
        hn_pool_will_read(cpu->pool, read->data, hn_type_bytes(&read->type));
        return i;
    }
    return stretch->n;
}

static hn_status run_stretch(hn_device *device, const hn_submission *stretch)
{
    hn_cpu *cpu = cpu_of(device);
    int next = -1;
    for (int i = 0; i < stretch->n && !stretch->fault->kind; i++) {
        if (hn_is_cancelled(stretch->cancel)) {
            hn_launch_stop(&stretch->at[i], stretch->fault);
            break;
        }
        if (next <= i)
            next = tell_next(cpu, stretch, i + 1);
        run_launch(cpu, &stretch->at[i], i ? &stretch->at[i - 1] : NULL, stretch->fault);
        device->n_calls += stretch->at[i].apply != NULL;
    }
    return HN_OK;
}

static hn_status submit(hn_device *device, const hn_submission *stretch)
{
    hn_queue *queue = cpu_of(device)->queue;
    if (!queue)
        return run_stretch(device, stretch);
    hn_queue_put(queue, &(hn_queued){ .kind = HN_QUEUED_CALLS, .calls = *stretch });
    return HN_OK;
}

static void describe(const hn_device *device, char *text, size_t bytes)
{
    const hn_cpu *cpu = (const hn_cpu *)(const void *)device;
    hn_isa_text level;
    snprintf(text, bytes, "%d thread%s, kernels for %s", device->n_threads,
             device->n_threads == 1 ? "" : "s", hn_isa_name(cpu->isa, &level));
}

/* Nine tenths of what the machine and the groups of the process have free: others live there too. */
static size_t available(const hn_device *device)
{
    const hn_free_memory left = hn_memory_free();
    const hn_heap *heap = device->heap;
    const size_t live = (size_t)atomic_load(&heap->live_bytes), most = heap->limit_bytes;
    const size_t in_heap = !most ? SIZE_MAX : most > live ? most - live : 0;
    const size_t there = left.physical < left.address ? left.physical / 10 * 9 : left.address / 10 * 9;
    return in_heap < there ? in_heap : there;
}

static void shuffle(hn_device *device, uint64_t seed)
{
    (void)await_all(device);
    hn_pool_set_shuffle(cpu_of(device)->pool, seed);
}

const hn_backend hn_backend_cpu = {
    .name = "cpu",
    .gives_cpu_bits = true,
    .summary = "this processor",
    .open = open_device,
    .close = close_device,
    .available = available,
    .buffer_new = buffer_new,
    .buffer_free = buffer_free,
    .fill = fill,
    .write = write_bytes,
    .send = transfer,
    .fetch = transfer,
    .pack = pack,
    .copy = copy,
    .record = record,
    .reach = reach,
    .await = await,
    .supports = supports,
    .layouts = layouts,
    .prefers = prefers,
    .compile = compile,
    .discard = discard,
    .submit = submit,
    .wait = await_all,
    .shuffle = shuffle,
    .describe = describe,
};

static hn_status refuse_level(const hn_heap *heap, const char *name)
{
    hn_isa isa;
    hn_isa_text level;
    HN_TRY(hn_isa_allowed(HN_ISA_ALL, !heap->asks_nothing, &isa));
    return hn_fail(HN_ERR_UNSUPPORTED, "instruction-set level %s: this processor, or HN_ISA_MASK, allows %s", name,
                   hn_isa_name(isa, &level));
}

static hn_status open_device(hn_device **out, hn_heap *heap, const hn_device_options *options)
{
    *out = NULL;
    hn_isa isa, asked = HN_ISA_ALL;
    if (options->isa)
        HN_TRY(hn_isa_parse(options->isa, &asked));
    HN_TRY(hn_isa_allowed(asked, !heap->asks_nothing, &isa));
    if (options->isa && isa != asked)
        return refuse_level(heap, options->isa);
    HN_REQUIRE(options->n_threads >= 0 && options->n_threads <= HN_POOL_MAX_THREADS,
               HN_ERR_ARGUMENT, "%d threads: expected 1 to %d", options->n_threads,
               HN_POOL_MAX_THREADS);
    hn_cpu *cpu = hn_alloc(heap, HN_TAG_DEVICE, sizeof *cpu);
    if (!cpu)
        return HN_ERR_MEMORY;
    cpu->device.backend = &hn_backend_cpu;
    cpu->device.heap = heap;
    cpu->device.host = &cpu->device;
    cpu->isa = isa;
    snprintf(cpu->device.name, sizeof cpu->device.name, "%s",
             options->name ? options->name : "cpu");
    hn_status status = hn_pool_new(heap, options->n_threads, &cpu->pool);
    if (status == HN_OK && options->beside_others)
        status = hn_queue_new(&cpu->queue, &cpu->device, run_stretch);
    if (status != HN_OK) {
        close_device(&cpu->device);
        return status;
    }
    cpu->device.n_threads = hn_pool_threads(cpu->pool);
    hn_families_init(&cpu->kernels, isa);
    *out = &cpu->device;
    return HN_OK;
}
