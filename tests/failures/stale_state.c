/* STALE-STATE: accumulators or moments not zeroed, or another graph's program run. The same batch
 * twice, other lengths in between, a step that was given up: the same bits. */
#include "tests/failures/steps.h"

static void same_batch_twice(bench *b, const hn_instance_spec *spec, const char *arch)
{
    check_group(spec->name);
    steps s;
    const hn_descent_options options = { .mode = HN_PLAN_POISON };
    if (steps_open(&s, b, spec, arch, &options)) {
        CHECK_OK(hn_descent_begin(s.descent));
        CHECK_OK(steps_all(&s, NULL));
        const uint64_t first = steps_digest(&s);
        CHECK(first != 0);
        CHECK_OK(hn_descent_begin(s.descent)); /* other lengths in between */
        CHECK_OK(steps_micro(&s, 0, 1, NULL));
        CHECK(steps_digest(&s) != first);
        CHECK_OK(hn_descent_begin(s.descent)); /* given up in the middle */
        CHECK_OK(steps_micro(&s, 0, 1, NULL));
        CHECK_OK(steps_micro(&s, 1, 2, NULL));
        CHECK_OK(hn_descent_begin(s.descent));
        CHECK_OK(steps_all(&s, NULL));
        CHECK(steps_digest(&s) == first);
        CHECK_OK(hn_descent_begin(s.descent));
        CHECK_OK(steps_all(&s, NULL));
        CHECK(steps_digest(&s) == first);
    }
    steps_close(&s);
}

static void cancelled_step_is_discarded(bench *b)
{
    check_group("cancelled");
    steps s;
    const hn_descent_options options = { 0 };
    if (steps_open(&s, b, &steps_dense, "llama", &options)) {
        hn_descent_result result;
        hn_cancel_flag cancel = { .is_set = true };
        const hn_run_options stop = { .cancel = &cancel };
        CHECK_OK(hn_descent_begin(s.descent));
        CHECK_OK(steps_all(&s, NULL));
        const uint64_t want = steps_digest(&s);
        CHECK_OK(hn_descent_begin(s.descent));
        CHECK_FAILS(steps_all(&s, &stop), HN_ERR_CANCELLED, "cancelled");
        CHECK_FAILS(hn_descent_finish(s.descent, 0.1f, &result), HN_ERR_ARGUMENT, "begin one first");
        CHECK_OK(hn_descent_begin(s.descent));
        CHECK_OK(steps_all(&s, NULL));
        CHECK(steps_digest(&s) == want);
    }
    steps_close(&s);
}

int main(int argc, char **argv)
{
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        same_batch_twice(&b, &steps_dense, "llama");
        same_batch_twice(&b, &steps_experts, "qwen3moe");
        cancelled_step_is_discarded(&b);
        bench_close(&b);
    }
    return check_close();
}
