/* The words of a launch lie together, as a kernel reads them; a value that five launches read stands there five times. */
#include "backend/frame.h"

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

size_t hn_frame_bytes(const hn_plan *plan, int device)
{
    size_t words = 0;
    for (int s = 0; s < plan->n_steps && !plan->targets[device].is_host; s++) {
        const hn_step *step = &plan->steps[s];
        if (step->device == device && !step->crosses && !hn_step_is_view(step))
            words += planned(plan, step->n_in, step->in) + planned(plan, step->n_out, step->out);
    }
    return words * sizeof(int64_t);
}

hn_status hn_frame_new(hn_frame *f, hn_heap *heap, hn_device *device, hn_launch *launches, int n)
{
    size_t words = 0;
    *f = (hn_frame){ .heap = heap, .launches = launches, .n = n };
    for (int i = 0; i < n && !hn_device_is_host(device); i++)
        words += hn_frame_words(launches[i].call);
    if (!words)
        return HN_OK;
    f->words = hn_alloc_array(heap, HN_TAG_PLAN, words, sizeof *f->words);
    if (!f->words)
        return HN_ERR_MEMORY;
    HN_TRY(device->backend->buffer_new(device, HN_TAG_WORKSPACE, words * sizeof *f->words, &f->memory));
    const int64_t *at = f->memory.data; /* the device's: counted with, not looked at */
    for (int i = 0; i < n; i++) {
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

hn_status hn_frame_send(hn_frame *f)
{
    if (!f->words || f->is_written)
        return HN_OK;
    HN_TRY(f->memory.device->backend->write(f->memory.device, f->memory.data, f->words, f->memory.bytes));
    f->is_written = true;
    return HN_OK;
}
