/* The words of a launch lie together, as a kernel reads them; a value that five launches read stands there five times. */
#include "backend/frame.h"

#include "backend/fault.h"

static size_t words_of(const hn_type *type)
{
    return 1 + 2 * (size_t)type->rank;
}

size_t hn_frame_words(const hn_call *call)
{
    size_t n = 0;
    for (int i = 0; i < call->n_in; i++)
        n += call->in[i] ? words_of(&call->in[i]->type) : 0;
    for (int o = 0; o < call->n_out; o++)
        n += call->out[o] ? words_of(&call->out[o]->type) : 0;
    return n;
}

/* One word put in its place: whether another stood there. */
static bool put(int64_t **at, int64_t word)
{
    const bool differs = **at != word;
    *(*at)++ = word;
    return differs;
}

static bool put_operand(int64_t **at, const hn_tensor *t)
{
    bool differs = put(at, (int64_t)(uintptr_t)t->data);
    for (int i = 0; i < t->type.rank; i++)
        differs |= put(at, t->type.dim[i]);
    for (int i = 0; i < t->type.rank; i++)
        differs |= put(at, t->type.stride[i]);
    return differs;
}

static bool put_call(int64_t **at, const hn_call *call)
{
    bool differs = false;
    for (int i = 0; i < call->n_in; i++)
        differs |= call->in[i] && put_operand(at, call->in[i]);
    for (int o = 0; o < call->n_out; o++)
        differs |= call->out[o] && put_operand(at, call->out[o]);
    return differs;
}

static void get_operand(const int64_t **at, const hn_tensor *compiled, hn_tensor *t)
{
    hn_type type = compiled->type;
    void *data = (void *)(uintptr_t)*(*at)++;
    for (int i = 0; i < type.rank; i++)
        type.dim[i] = *(*at)++;
    for (int i = 0; i < type.rank; i++)
        type.stride[i] = *(*at)++;
    *t = hn_tensor_at(&type, data);
}

void hn_frame_read(const int64_t *words, const hn_call *call, hn_tensor in[HN_MAX_IN], hn_tensor out[HN_MAX_OUT])
{
    for (int i = 0; i < call->n_in; i++)
        if (call->in[i])
            get_operand(&words, call->in[i], &in[i]);
    for (int o = 0; o < call->n_out; o++)
        if (call->out[o])
            get_operand(&words, call->out[o], &out[o]);
}

static size_t planned(const hn_plan *plan, int n, const int *values)
{
    size_t words = 0;
    for (int i = 0; i < n; i++)
        words += values[i] >= 0 ? words_of(&plan->values[values[i]].type) : 0;
    return words;
}

/* Types at their upper bounds. */
static void planned_call(const hn_plan *plan, const hn_step *step, hn_tensor in[HN_MAX_IN], hn_call *call)
{
    *call = (hn_call){ .op = step->op, .n_in = step->n_in };
    for (int i = 0; i < step->n_in; i++) {
        if (step->in[i] < 0)
            continue;
        in[i] = hn_tensor_at(&plan->values[step->in[i]].type, NULL);
        call->in[i] = &in[i];
    }
}

hn_frame_bytes hn_frame_measure(const hn_plan *plan, int device)
{
    size_t words = 0, evidence = 0, n = 0;
    for (int s = 0; s < plan->n_steps; s++) {
        const hn_step *step = &plan->steps[s];
        hn_tensor in[HN_MAX_IN];
        hn_call call;
        if (step->device != device || step->crosses || hn_step_is_view(step))
            continue;
        planned_call(plan, step, in, &call);
        const size_t of_this = hn_host_checks(plan, step) ? 0 : hn_evidence_bytes(&call);
        evidence = of_this > evidence ? of_this : evidence;
        words += planned(plan, step->n_in, step->in) + planned(plan, step->n_out, step->out);
        n++;
    }
    const size_t before = n ? sizeof(hn_fault) + evidence : 0;
    if (plan->targets[device].is_host)
        return (hn_frame_bytes){ .of_host = before };
    return (hn_frame_bytes){ .of_device = before + words * sizeof(int64_t), .of_host = words * sizeof(int64_t) };
}

static void measure(hn_frame *f, bool is_host)
{
    for (int i = 0; i < f->n; i++) {
        const size_t evidence = f->launches[i].checks ? hn_evidence_bytes(f->launches[i].call) : 0;
        f->evidence = evidence > f->evidence ? evidence : f->evidence;
        f->n_words += is_host ? 0 : hn_frame_words(f->launches[i].call);
    }
}

hn_status hn_frame_new(hn_frame *f, hn_heap *heap, hn_device *device, hn_launch *launches, int n)
{
    *f = (hn_frame){ .heap = heap, .launches = launches, .n = n };
    if (!n)
        return HN_OK;
    measure(f, hn_device_is_host(device));
    f->words = f->n_words ? hn_alloc_array(heap, HN_TAG_PLAN, f->n_words, sizeof *f->words) : NULL;
    if (f->n_words && !f->words)
        return HN_ERR_MEMORY;
    const size_t before = sizeof *f->fault + f->evidence;
    const hn_tag tag = hn_device_is_host(device) ? HN_TAG_PLAN : HN_TAG_WORKSPACE;
    HN_TRY(device->backend->buffer_new(device, tag, before + f->n_words * sizeof *f->words, &f->memory));
    f->fault = f->memory.data; /* the device's: counted with, not looked at */
    const int64_t *at = (const int64_t *)(const void *)((const char *)f->memory.data + before);
    for (int i = 0; i < n && f->n_words; i++) {
        launches[i].frame = at;
        at += hn_frame_words(launches[i].call);
    }
    return HN_OK;
}

void hn_frame_free(hn_frame *f)
{
    if (f->memory.device)
        f->memory.device->backend->buffer_free(&f->memory);
    hn_free(f->heap, f->words);
    *f = (hn_frame){ 0 };
}

void hn_frame_set(hn_frame *f)
{
    int64_t *at = f->words;
    for (int i = 0; i < f->n && f->words; i++)
        if (put_call(&at, f->launches[i].call))
            f->is_written = false;
}

static hn_status write_words(hn_frame *f)
{
    if (!f->words || f->is_written)
        return HN_OK;
    const size_t bytes = f->n_words * sizeof *f->words;
    HN_TRY(f->memory.device->backend->write(f->memory.device, (char *)f->memory.data + f->memory.bytes - bytes, f->words, bytes));
    f->is_written = true;
    return HN_OK;
}

hn_status hn_frame_send(hn_frame *f)
{
    if (!f->n)
        return HN_OK;
    if (f->is_doubtful)
        HN_TRY(f->memory.device->backend->fill(f->memory.device, f->fault, 0, sizeof *f->fault));
    f->is_doubtful = true;
    return write_words(f);
}

hn_status hn_frame_fault(hn_frame *f, hn_fault *out)
{
    *out = (hn_fault){ 0 };
    if (!f->n)
        return HN_OK;
    HN_TRY(hn_device_read(f->memory.device, out, f->fault, sizeof *out));
    f->is_doubtful = out->kind != HN_FAULT_NONE;
    HN_REQUIRE(out->launch >= 0 && out->launch < f->n, HN_ERR_PROOF, "%s: its error word names call %lld of %d",
               f->memory.device->name, (long long)out->launch, f->n);
    return HN_OK;
}

hn_status hn_frame_say(const hn_frame *f, const hn_fault *fault)
{
    void *evidence = hn_alloc(f->heap, HN_TAG_PLAN, f->evidence + 1);
    if (!evidence)
        return HN_ERR_MEMORY;
    hn_status status = hn_device_read(f->memory.device, evidence, f->fault + 1, f->evidence);
    if (status == HN_OK)
        status = hn_fault_say(fault, &f->launches[fault->launch], evidence);
    hn_free(f->heap, evidence);
    return status;
}
