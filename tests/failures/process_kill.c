/* PROCESS-KILL AND LATE-OOM: a library that ends its host, or memory that creeps. Through the public
 * interface: allocation n fails for every n; arguments of every wrong kind; a thousand steps with
 * flat memory. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <string.h>

/* Builds, differentiates, compiles, trains two steps. */
static hn_status work(hn_engine *engine)
{
    hn_builder *b = NULL;
    hn_trainer *t = NULL;
    static const float data[36] = { 1, -2, 3, -4, 5, 6 };
    const float one = 4;
    hn_status status = hn_builder_new(&b, engine);
    if (status != HN_OK)
        return status;
    hn_node *x = hn_builder_leaf(b, "input", "x", "f32", 2, (int64_t[]){ 4, 6 });
    hn_node *w = hn_builder_leaf(b, "weight", "w", "f32", 2, (int64_t[]){ 6, 6 });
    hn_node *count = hn_builder_leaf(b, "step", "count", "f32", 0, NULL);
    hn_node *h = hn_builder_op(b, "linear", NULL, 2, (hn_node *[]){ x, w });
    h = hn_builder_op(b, "rms_norm", "eps=1e-5", 1, &h);
    hn_node *loss = hn_builder_op(b, "mse", NULL, 4, (hn_node *[]){ h, x, NULL, count });
    status = hn_trainer_new(&t, b, loss, 1, &w, NULL);
    if (status == HN_OK)
        status = hn_trainer_write(t, w, data, sizeof data);
    if (status == HN_OK)
        status = hn_trainer_write(t, x, data, 4 * 6 * sizeof *data);
    if (status == HN_OK)
        status = hn_trainer_write(t, count, &one, sizeof one);
    for (int i = 0; i < 2 && status == HN_OK; i++) {
        status = hn_trainer_begin(t);
        if (status == HN_OK)
            status = hn_trainer_micro(t);
        if (status == HN_OK)
            status = hn_trainer_finish(t, 0.01f, NULL, NULL);
    }
    hn_trainer_free(t);
    hn_builder_free(b);
    return status;
}

static void every_allocation_may_fail(void)
{
    check_group("out of memory");
    hn_engine *engine;
    if (!CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 1 })))
        return;
    int64_t before, after;
    hn_engine_memory(engine, &before, NULL, NULL);
    hn_status status = HN_ERR_MEMORY;
    int n = 0;
    while (status != HN_OK && n < 5000) {
        hn_engine_fail_allocation(engine, ++n);
        status = work(engine);
        hn_engine_fail_allocation(engine, 0);
        if (status != HN_OK)
            CHECK_FAILS(status, HN_ERR_MEMORY, "out of memory");
        hn_engine_memory(engine, &after, NULL, NULL);
        CHECK_INT(before, after); /* nothing is left behind */
    }
    CHECK_THAT(status == HN_OK && n > 20, "%d allocations", n);
    CHECK_OK(work(engine));
    hn_engine_free(engine);
    CHECK_FAILS(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .memory_limit = 64 }), HN_ERR_MEMORY,
                "out of memory");
    CHECK(engine == NULL);
}

static void refused(hn_engine *engine, const char *op, const char *attributes, int32_t rank,
                    const int64_t *dim, const char *words)
{
    hn_builder *b;
    if (!CHECK_OK(hn_builder_new(&b, engine)))
        return;
    hn_node *x = hn_builder_leaf(b, "input", "x", "f32", rank, dim);
    hn_node *y = hn_builder_op(b, op, attributes, 1, &x);
    hn_exec *exec;
    hn_status status = hn_builder_status(b);
    if (status == HN_OK) {
        status = hn_exec_new(&exec, b, 1, &y, NULL);
        if (status == HN_OK)
            hn_exec_free(exec);
    }
    CHECK_THAT(status != HN_OK, "%s %s was accepted", op, attributes ? attributes : "");
    CHECK_THAT(strstr(hn_error_message(), words), "'%s' lacks '%s'", hn_error_message(), words);
    hn_builder_free(b);
}

static void wrong_arguments(void)
{
    check_group("wrong arguments");
    hn_engine *engine;
    if (!CHECK_OK(hn_engine_new(&engine, NULL)))
        return;
    const int64_t ok[2] = { 2, 3 }, none[2] = { 2, 0 }, negative[2] = { -7, 2 };
    const int64_t huge[2] = { INT64_MAX / 2, 4 }, large[2] = { 1 << 20, (int64_t)1 << 33 };
    refused(engine, "rms_norm", "eps=nan", 2, ok, "expected a number");
    refused(engine, "rms_norm", "epsilon=1", 2, ok, "unknown attribute");
    refused(engine, "rms_norm", "eps=1 eps=2", 2, ok, "given twice");
    refused(engine, "no_such_op", NULL, 2, ok, "unknown op");
    refused(engine, "rms_norm", NULL, 2, none, "at least 1");
    refused(engine, "rms_norm", NULL, 2, negative, "dimension 0");
    refused(engine, "rms_norm", NULL, 2, huge, "too large");
    refused(engine, "rms_norm", NULL, 2, large, "out of memory");
    refused(engine, "rms_norm", NULL, 9, ok, "rank 9");
    refused(engine, "linear", NULL, 2, ok, "input w is missing");
    refused(engine, "reshape", "shape=5", 2, ok, "do not make");
    refused(engine, "permute", "order=0,0", 2, ok, "permutation");
    CHECK_FAILS(hn_engine_new(NULL, NULL), HN_ERR_ARGUMENT, "NULL");
    hn_engine *other = engine;
    CHECK_FAILS(hn_engine_new(&other, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = -1 }), HN_ERR_ARGUMENT, "-1");
    CHECK(other == NULL);
    CHECK_FAILS(hn_engine_new(&other, &(hn_engine_options){ .size = sizeof(hn_engine_options), .devices = "gpu" }), HN_ERR_ARGUMENT, "gpu");
    CHECK_FAILS(hn_engine_new(&other, &(hn_engine_options){ .size = sizeof(hn_engine_options), .isa = "avx9" }), HN_ERR_ARGUMENT, "avx9");
    CHECK_OK(work(engine)); /* the engine has survived it all */
    hn_engine_cancel(engine);
    CHECK_FAILS(work(engine), HN_ERR_CANCELLED, "cancelled");
    hn_engine_resume(engine);
    CHECK_OK(work(engine));
    hn_engine_free(engine);
}

static void two_engines(void)
{
    check_group("two engines");
    hn_engine *a, *b;
    if (!CHECK_OK(hn_engine_new(&a, NULL)))
        return;
    if (CHECK_OK(hn_engine_new(&b, &(hn_engine_options){ .size = sizeof(hn_engine_options), .isa = "ref", .n_threads = 1 }))) {
        hn_engine_cancel(b);
        CHECK_OK(work(a));
        CHECK_FAILS(work(b), HN_ERR_CANCELLED, "cancelled");
        hn_engine_free(b);
    }
    hn_engine_free(a);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    every_allocation_may_fail();
    wrong_arguments();
    two_engines();
    return check_close();
}
