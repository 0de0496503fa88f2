/* What runs a graph holds it: a builder that is freed first, and one that is built on, change nothing of an exec and of a
 * trainer that were made of it. The engine's memory is the test's: what is given back is filled at once and never given
 * again, and behind every block are zeros, so that what is read where nothing is any more is no number that could pass. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdatomic.h>
#include <string.h>

enum { ROOM = 48 << 20, BEHIND = 4096, GONE = 0x25 };

static _Alignas(4096) unsigned char room[ROOM];
static atomic_size_t taken;
static hn_engine *engine;

static void *acquire(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    const size_t all = bytes + alignment + BEHIND;
    const size_t from = atomic_fetch_add(&taken, all);
    if (from + all > ROOM)
        return NULL;
    return room + (from + alignment - 1) / alignment * alignment;
}

static void release(void *context, void *block, size_t bytes)
{
    (void)context;
    memset(block, GONE, bytes);
}

static int64_t live(void)
{
    int64_t bytes;
    hn_engine_memory(engine, &bytes, NULL, NULL);
    return bytes;
}

/* ---- an exec ---- */

typedef struct negation {
    hn_builder *b;
    hn_node *a, *y;
    hn_exec *x;
} negation;

static bool open_negation(negation *n)
{
    *n = (negation){ 0 };
    if (!CHECK_OK(hn_builder_new(&n->b, engine)))
        return false;
    n->a = hn_builder_leaf(n->b, "input", "a", "f32", 1, (int64_t[]){ 3 });
    n->y = hn_builder_op(n->b, "neg", NULL, 1, &n->a);
    return CHECK_OK(hn_exec_new(&n->x, n->b, 1, &n->y, NULL));
}

static void check_negation(const negation *n)
{
    static const float given[3] = { 1, -2, 3 };
    float got[3] = { 0 };
    hn_shape shape = { 0 };
    CHECK_OK(hn_exec_write(n->x, n->a, given, sizeof given));
    CHECK_OK(hn_exec_run(n->x));
    CHECK_OK(hn_exec_read(n->x, 0, got, sizeof got));
    for (int i = 0; i < 3; i++)
        CHECK(got[i] == -given[i]);
    CHECK_OK(hn_exec_read_leaf(n->x, n->a, got, sizeof got));
    CHECK(!memcmp(got, given, sizeof got));
    CHECK_OK(hn_exec_shape(n->x, 0, &shape, sizeof shape));
    CHECK_INT(3, shape.dim[0]);
    CHECK_OK(hn_node_shape(n->a, &shape, sizeof shape)); /* nodes live as long */
    CHECK(hn_exec_workspace(n->x) > 0);
}

static void exec_outlives_its_builder(void)
{
    negation n;
    hn_exec *second = NULL;
    check_group("exec");
    const int64_t before = live();
    if (!open_negation(&n) || !CHECK_OK(hn_exec_new(&second, n.b, 1, &n.y, "poison")))
        return;
    const int64_t held = live();
    hn_builder_free(n.b);
    CHECK_INT(held, live());
    check_negation(&n);
    hn_exec_free(n.x);
    n.x = second; /* and the one holds it for the other */
    check_negation(&n);
    hn_exec_free(n.x);
    CHECK_INT(before, live());

    CHECK_OK(hn_builder_new(&n.b, engine));
    n.a = hn_builder_leaf(n.b, "input", "a", "f32", 1, (int64_t[]){ 3 });
    CHECK_FAILS(hn_exec_new(&n.x, n.b, 1, &n.a, "so-so"), HN_ERR_ARGUMENT, "so-so");
    hn_builder_free(n.b);
    CHECK_INT(before, live()); /* what was not made holds nothing */
}

static void exec_knows_no_later_leaf(void)
{
    negation n;
    check_group("built on");
    if (!open_negation(&n))
        return;
    hn_node *late = NULL;
    for (int i = 0; i < 100; i++)
        late = hn_builder_leaf(n.b, "input", "late", "f32", 1, (int64_t[]){ 3 });
    CHECK_OK(hn_builder_status(n.b));
    check_negation(&n);
    CHECK_FAILS(hn_exec_write(n.x, late, (float[3]){ 0 }, 12), HN_ERR_ARGUMENT, "late has no memory here");
    hn_exec_free(n.x);
    hn_builder_free(n.b);
}

/* ---- a trainer ---- */

typedef struct trained {
    double loss, norm;
    float gradient[36], weights[36];
} trained;

static void train(bool is_freed_first, trained *out)
{
    static const float data[36] = { 1, -2, 3, -4, 5, 6, 7, -8 };
    const float count = 4;
    hn_builder *b;
    hn_trainer *t = NULL;
    memset(out, 0, sizeof *out);
    if (!CHECK_OK(hn_builder_new(&b, engine)))
        return;
    hn_node *x = hn_builder_leaf(b, "input", "x", "f32", 2, (int64_t[]){ 4, 6 });
    hn_node *w = hn_builder_leaf(b, "weight", "w", "f32", 2, (int64_t[]){ 6, 6 });
    hn_node *n = hn_builder_leaf(b, "step", "count", "f32", 0, NULL);
    hn_node *h = hn_builder_op(b, "linear", NULL, 2, (hn_node *[]){ x, w });
    hn_node *loss = hn_builder_op(b, "mse", NULL, 4, (hn_node *[]){ h, x, NULL, n });
    if (!CHECK_OK(hn_trainer_new(&t, b, loss, 1, &w, NULL)))
        return;
    const int64_t held = live();
    if (is_freed_first)
        hn_builder_free(b);
    CHECK_INT(held, live());
    CHECK_OK(hn_trainer_write(t, x, data, 24 * sizeof *data));
    CHECK_OK(hn_trainer_write(t, w, data, sizeof data));
    CHECK_OK(hn_trainer_write(t, n, &count, sizeof count));
    CHECK_OK(hn_trainer_begin(t));
    CHECK_OK(hn_trainer_micro(t));
    CHECK_OK(hn_trainer_gradient(t, 0, out->gradient, sizeof out->gradient));
    CHECK_OK(hn_trainer_finish(t, 0.01f, &out->loss, &out->norm));
    CHECK_OK(hn_trainer_read(t, w, out->weights, sizeof out->weights));
    CHECK(out->loss > 0 && memcmp(out->weights, data, sizeof data));
    hn_trainer_free(t);
    if (!is_freed_first)
        hn_builder_free(b);
}

static void trainer_outlives_its_builder(void)
{
    trained last, first;
    check_group("trainer");
    const int64_t before = live();
    train(false, &last);
    CHECK_INT(before, live());
    train(true, &first);
    CHECK_INT(before, live());
    CHECK(!memcmp(&last, &first, sizeof last));
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    const hn_engine_options o = { .size = sizeof o, .n_threads = 2, .acquire = acquire, .release = release };
    if (CHECK_OK(hn_engine_new(&engine, &o))) {
        exec_outlives_its_builder();
        exec_knows_no_later_leaf();
        trainer_outlives_its_builder();
    }
    hn_engine_free(engine);
    return check_close();
}
