/* What devices refuse is told alike by all of them: the words of the first step that was refused, whatever was copied over the ids
 * since; the next run knows nothing of it. And the processor beside a device with a queue of its own makes nobody wait. */
#include "backend/fault.h"

#include "backend/executable.h"
#include "ops/ops.h"
#include "tests/far/far.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 10, WIDTH = 32, N_IDS = 6, N_SUMS = 300 }; /* so many that the processor's queue is full */

static hn_heap heap;

/* The third and fourth: processors with queues of their own. */
static const struct {
    const char *devices;
    bool beside_others;
} lists[] = { { "cpu", false }, { "cpu,cpu", false }, { "cpu", true }, { "cpu,cpu", true },
              { "far", false }, { "far,far", false }, { "cpu,far", false }, { "far,cpu", false } };

/* Rows of a table by ids that the first device makes out of a weight, plus weights of the other and the first by turns, and the same
 * by ids of the last. */
typedef struct net {
    int n;
    hn_device *devices[HN_MAX_DEVICES];
    hn_graph *g;
    hn_executable *x;
    hn_leaf *ids[2], *table[2], *sums[N_SUMS];
    hn_node *out;
} net;

static hn_node *weight(net *t, int device, hn_dtype dtype, int rank, const int64_t *dims, hn_leaf **leaf)
{
    static int number;
    char name[16];
    snprintf(name, sizeof name, "w%d", number++);
    hn_node *w = hn_graph_leaf(t->g, HN_LEAF_WEIGHT, name, dtype, rank, dims);
    w->leaf->device = device;
    *leaf = w->leaf;
    return w;
}

static hn_node *rows_by(net *t, int device, int of)
{
    const int64_t table[2] = { ROWS, WIDTH }, ids[2] = { 2, N_IDS / 2 };
    hn_node *w = weight(t, device, HN_F32, 2, table, &t->table[of]), *i = weight(t, device, HN_I32, 2, ids, &t->ids[of]);
    hn_node *turned = hn_apply_named(t->g, "transpose", NULL, 1, &i);
    hn_node *made = hn_apply_named(t->g, "contiguous", NULL, 1, &turned); /* in the workspace, and needed once */
    hn_node *rows = hn_apply_named(t->g, "gather", NULL, 2, (hn_node *[]){ w, made });
    return hn_apply_named(t->g, "reshape", "shape=6,32", 1, &rows);
}

static bool net_open(net *t, const char *list, bool beside_others)
{
    const int64_t dims[2] = { N_IDS, WIDTH };
    *t = (net){ 0 };
    const hn_device_options options = { .beside_others = beside_others };
    if (!CHECK_OK(hn_devices_open(&heap, list, &options, &t->n, t->devices)) || !CHECK_OK(hn_graph_new(&t->g, &heap)))
        return false;
    const int n = t->n;
    hn_node *x = rows_by(t, 0, 0);
    for (int i = 0; i < N_SUMS; i++) {
        hn_node *w = weight(t, (i + 1) % n, HN_F32, 2, dims, &t->sums[i]);
        x = hn_apply_named(t->g, "add", NULL, 2, (hn_node *[]){ x, w });
    }
    hn_node *last = rows_by(t, n - 1, 1);
    t->out = hn_apply_named(t->g, "add", NULL, 2, (hn_node *[]){ x, last });
    return CHECK_OK(hn_graph_finish(t->g)) && CHECK_OK(hn_executable_new(&t->x, t->g, n, t->devices)) &&
           CHECK_OK(hn_executable_plan(t->x, 1, &t->out, &(hn_plan_options){ 0 })) && CHECK_OK(hn_executable_make(t->x));
}

static void net_close(net *t)
{
    hn_executable_free(t->x);
    hn_graph_free(t->g);
    hn_devices_close(t->n, t->devices);
}

/* Ids 0, 1, 2 ..; element `at` of them is `id`. */
static void set_ids(net *t, int of, int at, int32_t id)
{
    int32_t ids[N_IDS];
    for (int i = 0; i < N_IDS; i++)
        ids[i] = i == at ? id : i;
    CHECK_OK(hn_storage_write(hn_executable_storage(t->x), t->ids[of], 0, ids, sizeof ids));
}

static void fill_weights(net *t)
{
    float rows[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++)
        rows[i] = (float)(i / WIDTH);
    for (int of = 0; of < 2; of++)
        CHECK_OK(hn_storage_write(hn_executable_storage(t->x), t->table[of], 0, rows, sizeof rows));
    for (int i = 0; i < N_IDS * WIDTH; i++)
        rows[i] = 1;
    for (int i = 0; i < N_SUMS; i++)
        CHECK_OK(hn_storage_write(hn_executable_storage(t->x), t->sums[i], 0, rows, N_IDS * WIDTH * sizeof *rows));
}

static void check_passes(net *t)
{
    static const int made[N_IDS] = { 0, 3, 1, 4, 2, 5 };
    hn_program *program = hn_executable_program(t->x, 0);
    hn_tensor y;
    set_ids(t, 0, -1, 0);
    set_ids(t, 1, -1, 0);
    if (!CHECK_OK(hn_program_run(program, NULL)) || !CHECK_OK(hn_program_result(program, 0, &y)))
        return;
    for (int i = 0; i < N_IDS * WIDTH; i++)
        CHECK(hn_get(&y, i) == 2 * made[i / WIDTH] + N_SUMS);
}

static void check_ids(net *t)
{
    hn_program *program = hn_executable_program(t->x, 0);
    hn_tensor y;
    set_ids(t, 0, 4, 77); /* turned: element 3 */
    CHECK_FAILS(hn_program_run(program, NULL), HN_ERR_ARGUMENT, "element 3 of ids is 77: expected 0 to 9");
    CHECK_FAILS(hn_program_result(program, 0, &y), HN_ERR_ARGUMENT, "before a run that came to its end");
    set_ids(t, 1, 2, -5);
    CHECK_FAILS(hn_program_run(program, NULL), HN_ERR_ARGUMENT, "element 3 of ids is 77: expected 0 to 9");
    set_ids(t, 0, -1, 0);
    CHECK_FAILS(hn_program_run(program, NULL), HN_ERR_ARGUMENT, "element 4 of ids is -5: expected 0 to 9");
    check_passes(t);
}

/* However many looks at the flag find nothing before one finds it set: the run ends as cancelled, or has its result. */
static void check_cancelled(net *t)
{
    hn_program *program = hn_executable_program(t->x, 0);
    int n_ended = 0;
    for (int64_t after = 1; after < 700; after += 11) {
        _Atomic int64_t looks = after;
        const hn_cancel_flag flag = { .looks = &looks };
        const hn_status status = hn_program_run(program, &(hn_run_options){ .cancel = &flag });
        CHECK_THAT(status == HN_OK || status == HN_ERR_CANCELLED, "after %lld looks: %s", (long long)after, hn_error_message());
        CHECK((status == HN_OK) == (atomic_load(&looks) > 0));
        n_ended += status == HN_ERR_CANCELLED;
    }
    CHECK(n_ended > 5);
    check_passes(t);
}

static void check_list(const char *list, bool beside_others)
{
    net t;
    check_group(list);
    if (net_open(&t, list, beside_others)) {
        const long long fenced = hn_far_fenced();
        fill_weights(&t);
        for (int i = 0; i < 20; i++)
            check_passes(&t);
        check_ids(&t);
        check_cancelled(&t);
        CHECK_INT(0, hn_far_fenced() - fenced);
    }
    net_close(&t);
}

/* ---- words, without a device ---- */

static void check_words(void)
{
    hn_fault fault = { .kind = HN_FAULT_ROW, .row = 3, .element = 1, .value = -INFINITY };
    hn_call call = { .op = hn_op_find("add"), .n_in = 2, .n_out = 1 };
    const hn_launch launch = { .call = &call };
    check_group("words");
    CHECK_FAILS(hn_fault_say(&fault, &launch, NULL), HN_ERR_PROOF, "refused row 3, which is finite"); /* add asks for no numbers */
    call.op = hn_op_find("linear_id_int8");
    CHECK_FAILS(hn_fault_say(&fault, &launch, NULL), HN_ERR_NUMERIC, "row 3 of x () is not finite: element 1 is -inf");
    fault.value = 0;
    CHECK_FAILS(hn_fault_say(&fault, &launch, NULL), HN_ERR_PROOF, "refused row 3, which is finite");
    fault.kind = HN_FAULT_STOPPED;
    CHECK_FAILS(hn_fault_say(&fault, &launch, NULL), HN_ERR_CANCELLED, "cancelled");
    fault.kind = 77;
    CHECK_FAILS(hn_fault_say(&fault, &launch, NULL), HN_ERR_PROOF, "error word is 77");
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    setenv("HN_TEST_DEVICES", "far", 1); /* which adds it */
    hn_far_install();
    hn_heap_init(&heap, NULL);
    hn_backend_add(&hn_backend_far, NULL); /* "cpu" is the processor */
    check_words();
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        check_list(lists[i].devices, lists[i].beside_others);
    CHECK_INT(0, atomic_load(&heap.live_bytes));
    return check_close();
}
