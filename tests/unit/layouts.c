/* A weight in a layout that its device alone reads: found by name, read there as it lies, and in plain rows wherever another
 * device reads it, which planner and verifier say alike. */
#include "backend/executable.h"
#include "ops/ops.h"
#include "tests/far/far.h"
#include "tests/far/layout.h"
#include "tests/far/process.h"
#include "tests/harness/check.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, COLUMNS = 64, TOKENS = 3 };

static hn_heap heap;

static void check_names(void)
{
    const hn_layout *found;
    const int64_t dims[3] = { 3, ROWS, COLUMNS };
    char text[HN_TYPE_TEXT];
    hn_type type;
    check_group("names");
    CHECK(hn_layout_find("plain", &found) == HN_OK && !found);
    CHECK(hn_layout_find("panel16", &found) == HN_OK && found == far_layouts[1]);
    CHECK(hn_layout_find("far", &found) == HN_OK && found == far_layouts[0]);
    CHECK_FAILS(hn_layout_find("panel17", &found), HN_ERR_ARGUMENT, "layout 'panel17': expected plain or panel16 or far");
    CHECK(CHECK_OK(hn_type_make(&type, HN_TYPE_q8_0, 3, dims)) && CHECK_OK(hn_type_set_layout(&type, far_layouts[0])));
    CHECK_TEXT("q8_0@far[3,40,64]", hn_type_text(&type, text));
    CHECK_INT(3 * (64 + ROWS * 2 * 34), (int64_t)hn_type_bytes(&type));
    CHECK_INT(64 + ROWS * 2 * 34, type.stride[0]);
    CHECK(CHECK_OK(hn_type_make(&type, HN_I32, 3, dims)));
    CHECK_FAILS(hn_type_set_layout(&type, far_layouts[0]), HN_ERR_UNSUPPORTED, "i32[3,40,64] cannot be packed as far");
}

/* y = x w: a graph of one product. */
typedef struct product {
    hn_graph *g;
    hn_executable *x;
    hn_node *in, *w, *out;
} product;

static bool open_graph(product *p, const hn_layout *layout)
{
    const int64_t rows[2] = { TOKENS, COLUMNS }, weight[2] = { ROWS, COLUMNS };
    *p = (product){ 0 };
    if (!CHECK_OK(hn_graph_new(&p->g, &heap)))
        return false;
    p->in = hn_graph_leaf(p->g, HN_LEAF_INPUT, "x", HN_F32, 2, rows);
    p->w = hn_graph_weight(p->g, "w", HN_F32, layout, 2, weight);
    p->w->leaf->device = 0;
    p->out = hn_linear(p->g, p->in, p->w);
    return CHECK_OK(hn_graph_finish(p->g));
}

static void close_graph(product *p)
{
    hn_executable_free(p->x);
    hn_graph_free(p->g);
}

static bool run(product *p, int n, hn_device *const *devices, float y[TOKENS * ROWS])
{
    float x[TOKENS * COLUMNS], w[ROWS * COLUMNS];
    hn_tensor got;
    for (int i = 0; i < TOKENS * COLUMNS; i++)
        x[i] = (float)(i % 17) / 3 - 2;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        w[i] = (float)(i * 7 % 23) / 7 - 1;
    if (!CHECK_OK(hn_executable_new(&p->x, p->g, n, devices)) ||
        !CHECK_OK(hn_executable_plan(p->x, 1, &p->out, &(hn_plan_options){ 0 })) || !CHECK_OK(hn_executable_make(p->x)))
        return false;
    hn_storage *storage = hn_executable_storage(p->x);
    if (!CHECK_OK(hn_storage_pack(storage, p->w->leaf, &(hn_plain_rows){ w, HN_F32, 0 })) ||
        !CHECK_OK(hn_storage_bind(storage, p->in->leaf, x, sizeof x)) ||
        !CHECK_OK(hn_program_run(hn_executable_program(p->x, 0), NULL)) ||
        !CHECK_OK(hn_program_result(hn_executable_program(p->x, 0), 0, &got)))
        return false;
    for (int i = 0; i < TOKENS * ROWS; i++)
        y[i] = (float)hn_get(&got, i);
    return true;
}

/* Of the product: on which device it runs, and the layout of the weight as it reads it. */
static const hn_step *product_of(const product *p, const hn_layout **read)
{
    const hn_plan *plan = hn_executable_look(p->x, 0);
    for (int s = 0; s < plan->n_steps; s++)
        if (plan->steps[s].apply == p->out->by) {
            *read = plan->values[plan->steps[s].in[1]].type.layout;
            return &plan->steps[s];
        }
    return NULL;
}

/* The bits of plain rows on the host; read in `read`. */
static void check_bits(const char *what, const hn_layout *layout, int stretch, const hn_layout *read, int n, hn_device *const *devices)
{
    float want[TOKENS * ROWS], y[TOKENS * ROWS];
    product plain, packed;
    check_group(what);
    if (open_graph(&plain, NULL) && run(&plain, 1, &devices[n - 1], want) && open_graph(&packed, layout)) {
        packed.w->leaf->stretch = stretch;
        const hn_layout *is = NULL;
        if (run(&packed, n, devices, y)) {
            const hn_step *step = product_of(&packed, &is);
            CHECK(!memcmp(want, y, sizeof y));
            CHECK(step && step->support.has_kernel && is == read);
        }
        close_graph(&packed);
    }
    close_graph(&plain);
}

/* A plan that keeps a weight as it lies where nobody reads it so, and one whose product reads it so. */
static void check_verifier(int n, hn_device *const *devices)
{
    hn_target targets[HN_MAX_DEVICES];
    hn_plan *plan;
    product p;
    check_group("the verifier");
    for (int d = 0; d < n; d++)
        targets[d] = hn_device_target(devices[d]);
    if (!open_graph(&p, far_layouts[0]) ||
        !CHECK_OK(hn_plan_new(&plan, p.g, 1, &p.out, n, targets, &(hn_plan_options){ .copy = &hn_op_contiguous })))
        return;
    int kept = 0;
    while (kept < plan->n_values && !hn_root_is_copy(plan, &plan->roots[plan->values[kept].root]))
        kept++;
    if (CHECK(kept < plan->n_values) && CHECK_OK(hn_plan_verify(plan, 1, &p.out))) {
        hn_value *value = &plan->values[kept];
        plan->roots[value->root].bytes = hn_type_bytes(&p.w->leaf->type);
        value->type = p.w->leaf->type;
        CHECK_FAILS(hn_plan_verify(plan, 1, &p.out), HN_ERR_PROOF, "a copy of w is kept that may not be");
        value->type.layout = far_layouts[1];
        CHECK_FAILS(hn_plan_verify(plan, 1, &p.out), HN_ERR_PROOF, "a copy of w is kept that may not be");
    }
    hn_plan_free(plan);
    p.w->leaf->stretch = 1; /* it lies with the host, where a copy makes rows of it */
    if (CHECK_OK(hn_plan_new(&plan, p.g, 1, &p.out, n, targets, &(hn_plan_options){ .copy = &hn_op_contiguous }))) {
        hn_step *step = &plan->steps[plan->n_steps - 1];
        while (step > plan->steps && step->apply != p.out->by)
            step--;
        CHECK_OK(hn_plan_verify(plan, 1, &p.out));
        step->in[1] = plan->leaf_value[p.w->leaf->id];
        CHECK_FAILS(hn_plan_verify(plan, 1, &p.out), HN_ERR_PROOF, "input 1 is packed as its device does not read it");
        hn_plan_free(plan);
    }
    close_graph(&p);
}

/* Nobody but the host brings back to plain rows what a device does not read. */
static void check_refusal(int n, hn_device *const *devices)
{
    hn_backend other = hn_backend_far;
    product p;
    check_group("a device that does not read what lies there");
    other.layouts = far_layouts + 1;
    devices[0]->backend = &other;
    if (open_graph(&p, far_layouts[0]) && CHECK_OK(hn_executable_new(&p.x, p.g, n, devices)))
        CHECK_FAILS(hn_executable_plan(p.x, 1, &p.out, &(hn_plan_options){ 0 }), HN_ERR_UNSUPPORTED,
                    "w is f32@far[40,64], in a layout that its device does not read");
    close_graph(&p);
    devices[0]->backend = &hn_backend_far;
}

int main(int argc, char **argv)
{
    hn_device *devices[HN_MAX_DEVICES];
    int n;
    check_open(argc, argv);
    setenv("HN_TEST_DEVICES", "far", 1);
    hn_far_install();
    hn_heap_init(&heap, NULL);
    check_names();
    if (CHECK_OK(hn_devices_open(&heap, "cpu", NULL, &n, devices)) && CHECK_OK(hn_devices_add_host(&n, devices))) {
        const hn_layout *own = far_layouts[0], *panels = far_layouts[1];
        check_bits("on its device", own, 0, own, n, devices);
        check_bits("on its device, streamed", own, 1, own, n, devices);
        check_bits("the kernels' own layout", panels, 0, panels, n, devices);
        check_refusal(n, devices);
        far_all.off = "linear";
        check_bits("on the host in its place", own, 0, NULL, n, devices);
        check_bits("on the host in its place, streamed", own, 1, NULL, n, devices);
        check_bits("on the host in its place, whose layout it is", panels, 0, panels, n, devices);
        check_verifier(n, devices);
        hn_devices_close(1, devices);
    }
    CHECK_INT(0, (int64_t)atomic_load(&heap.live_bytes));
    return check_close();
}
