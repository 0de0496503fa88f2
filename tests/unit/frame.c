/* What differs from run to run reaches a device as words in its own memory: one capture serves every length, and what
 * the host does to its own tables after it has submitted reaches nobody. */
#include "backend/frame.h"

#include "backend/executable.h"
#include "ops/ops.h"
#include "tests/far/far.h"
#include "tests/harness/check.h"

#include <string.h>

enum { MOST = 32, WIDTH = 6, N = MOST * WIDTH, N_RUNS = 8, NONE = 0xff };

static hn_heap heap;

static hn_tensor rows_at(int64_t n, const hn_buffer *buffer, int64_t row)
{
    hn_type type;
    CHECK_OK(hn_type_make(&type, HN_F32, 2, (int64_t[]){ n, WIDTH }));
    return hn_tensor_at(&type, (char *)buffer->data + row * WIDTH * 4);
}

/* y = x + x on rows of its own in each run. */
typedef struct sums {
    hn_device *far;
    hn_buffer x, y;
    hn_tensor in, out;
    hn_call call;
    hn_launch launch;
    hn_frame frame;
} sums;

static bool sums_open(sums *s, hn_device *far)
{
    float x[N];
    *s = (sums){ .far = far };
    for (int i = 0; i < N; i++)
        x[i] = (float)i;
    if (!CHECK_OK(far->backend->buffer_new(far, HN_TAG_DEVICE, sizeof x, &s->x)) ||
        !CHECK_OK(far->backend->buffer_new(far, HN_TAG_DEVICE, sizeof x, &s->y)) ||
        !CHECK_OK(far->backend->write(far, s->x.data, x, sizeof x)) ||
        !CHECK_OK(far->backend->fill(far, s->y.data, NONE, sizeof x)))
        return false;
    s->in = rows_at(MOST, &s->x, 0);
    s->out = rows_at(MOST, &s->y, 0);
    s->call = (hn_call){ .op = hn_op_find("add"), .n_in = 2, .n_out = 1, .in = { &s->in, &s->in }, .out = { &s->out } };
    s->launch = (hn_launch){ .call = &s->call };
    return CHECK_OK(hn_frame_new(&s->frame, &heap, far, &s->launch, 1)) &&
           CHECK_OK(far->backend->compile(far, &s->launch, 1));
}

static void sums_close(sums *s)
{
    s->far->backend->discard(s->far, &s->launch, 1);
    hn_frame_free(&s->frame);
    s->far->backend->buffer_free(&s->x);
    s->far->backend->buffer_free(&s->y);
}

/* Rows [at, at + n); nothing waits for them. What the host knew of them is gone when it returns. */
static bool submit(sums *s, int64_t at, int64_t n)
{
    s->in = rows_at(n, &s->x, at);
    s->out = rows_at(n, &s->y, at);
    hn_frame_set(&s->frame);
    const bool ok = CHECK_OK(hn_frame_send(&s->frame)) &&
                    CHECK_OK(s->far->backend->submit(s->far, &(hn_submission){ .at = &s->launch, .n = 1, .fault = s->frame.fault }));
    memset(&s->in, 0xee, sizeof s->in);
    memset(&s->out, 0xee, sizeof s->out);
    s->call = (hn_call){ .op = s->call.op, .n_in = 2, .n_out = 1, .in = { &s->in, &s->in }, .out = { &s->out } };
    memset(s->frame.words, 0xee, s->frame.n_words * sizeof *s->frame.words);
    s->frame.is_written = false;
    return ok;
}

/* Runs of 1, 2, 3 .. rows with a row between them, all under way at once. */
static void check_in_flight(hn_device *far)
{
    static const int64_t rows[] = { 1, 2, 3, 5, 4, 7, 2 };
    float y[N], none;
    sums s;
    int64_t at = 0;
    check_group("runs under way");
    memset(&none, NONE, sizeof none);
    const long long before = hn_far_captured();
    bool ok = sums_open(&s, far);
    for (size_t i = 0; i < sizeof rows / sizeof *rows && ok; i++) {
        ok = submit(&s, at, rows[i]);
        at += rows[i] + 1;
    }
    CHECK(ok && at <= MOST && CHECK_OK(hn_device_read(far, y, s.y.data, sizeof y)));
    at = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && ok; i++) {
        for (int64_t k = at * WIDTH; k < (at + rows[i]) * WIDTH; k++)
            CHECK(y[k] == (float)(2 * k));
        at += rows[i];
        CHECK(!memcmp(&y[at * WIDTH], &none, sizeof none));
        at++;
    }
    CHECK_INT(1, hn_far_captured() - before);
    sums_close(&s);
}

/* ---- through a program ---- */

typedef struct net {
    hn_graph *g;
    hn_executable *x;
    hn_program *program;
    hn_node *in, *out;
    int extent;
} net;

/* Views whose places depend on the length, a product over it, rows that lie far apart. */
static bool net_open(net *t, hn_device *device)
{
    *t = (net){ 0 };
    if (!CHECK_OK(hn_graph_new(&t->g, &heap)))
        return false;
    t->extent = hn_graph_extent(t->g, "tokens", MOST);
    const int64_t dims[2] = { hn_extent_dim(t->extent), WIDTH };
    t->in = hn_graph_leaf(t->g, HN_LEAF_INPUT, "x", HN_F32, 2, dims);
    hn_node *turned = hn_apply_named(t->g, "transpose", NULL, 1, &t->in);
    hn_node *half = hn_apply_named(t->g, "slice", "dim=0 begin=2 end=5", 1, &turned);
    hn_node *norm = hn_apply_named(t->g, "mul", NULL, 2, (hn_node *[]){ half, half });
    t->out = hn_apply_named(t->g, "softmax", NULL, 1, &norm);
    return CHECK_OK(hn_graph_finish(t->g)) && CHECK_OK(hn_executable_new(&t->x, t->g, 1, &device)) &&
           CHECK_OK(hn_executable_plan(t->x, 1, &t->out, &(hn_plan_options){ 0 })) &&
           CHECK_OK(hn_executable_make(t->x)) && (t->program = hn_executable_program(t->x, 0)) != NULL;
}

static void net_close(net *t)
{
    hn_executable_free(t->x);
    hn_graph_free(t->g);
}

/* While a device is at work: another length for the runs that follow. */
static void change_length(void *context, double done)
{
    const net *t = context;
    (void)done;
    CHECK_OK(hn_program_set_extent(t->program, t->extent, MOST));
}

static bool run(net *t, const float *x, int64_t n, float *out)
{
    hn_tensor y;
    if (!CHECK_OK(hn_storage_bind(hn_executable_storage(t->x), t->in->leaf, x, (size_t)n * WIDTH * 4)) ||
        !CHECK_OK(hn_program_set_extent(t->program, t->extent, n)) ||
        !CHECK_OK(hn_program_run(t->program, &(hn_run_options){ .progress = change_length, .progress_context = t })) ||
        !CHECK_OK(hn_program_result(t->program, 0, &y)) || !CHECK_INT(3 * n, hn_count(&y.type)))
        return false;
    for (int64_t i = 0; i < 3 * n; i++)
        out[i] = (float)hn_get(&y, i);
    return true;
}

static void check_program(hn_device *cpu, hn_device *far)
{
    static const int64_t lengths[N_RUNS] = { MOST, 1, 7, 7, 16, 2, MOST, 3 };
    static float x[N_RUNS][N];
    float want[N], got[N];
    net a, b;
    check_group("lengths of a program");
    if (!net_open(&a, cpu) || !net_open(&b, far))
        return;
    const long long captured = hn_far_captured();
    const uint64_t calls = far->n_calls;
    for (int r = 0; r < N_RUNS; r++) {
        for (int i = 0; i < N; i++)
            x[r][i] = (float)((i * 37 + r * 11) % 19) / 8 - 1;
        if (run(&a, x[r], lengths[r], want) && run(&b, x[r], lengths[r], got))
            CHECK_THAT(!memcmp(want, got, (size_t)lengths[r] * 3 * 4), "%lld rows: other bits than cpu's", (long long)lengths[r]);
    }
    CHECK_INT(captured, hn_far_captured());
    CHECK((far->n_calls - calls) % N_RUNS == 0 && far->n_calls > calls);
    net_close(&a);
    net_close(&b);
}

int main(int argc, char **argv)
{
    hn_device *far, *cpu;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK_OK(hn_backend_find("cpu")->open(&cpu, &heap, &(hn_device_options){ 0 })) &&
        CHECK_OK(hn_backend_far.open(&far, &heap, &(hn_device_options){ .name = "far" }))) {
        check_in_flight(far);
        check_program(cpu, far);
        far->backend->close(far);
        cpu->backend->close(cpu);
    }
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
