/* NON-FINITE SUCCESS: a NaN is trained on and saved. An infinite weight stops the step before
 * anything is updated; the replay names the first op whose output is not finite. */
#include "tests/failures/steps.h"

#include <math.h>

static void infinite_weight(bench *b)
{
    check_group("infinite weight");
    steps s;
    const hn_descent_options options = { 0 };
    if (steps_open(&s, b, &steps_dense, "llama", &options)) {
        int victim = 0;
        for (int p = 0; p < s.n_params; p++)
            if (!strcmp(s.tuning->tensors[p].name, "blk.1.ffn_up.weight"))
                victim = p;
        const float kept = steps_weight(&s, 0, 0);
        steps_set_weight(&s, victim, 3, INFINITY);
        hn_descent_result result;
        CHECK_OK(hn_descent_begin(s.descent));
        CHECK_OK(steps_all(&s, NULL));
        CHECK_FAILS(hn_descent_finish(s.descent, 0.1f, &result), HN_ERR_NUMERIC,
                    "nothing was updated");
        CHECK(steps_weight(&s, 0, 0) == kept);
        CHECK_INT(0, hn_descent_count(s.descent));
        CHECK_FAILS(hn_descent_finish(s.descent, 0.1f, &result), HN_ERR_ARGUMENT, "begin one first");
        const hn_run_options scan = { .scan = true };
        CHECK_OK(hn_descent_begin(s.descent));
        const hn_status status = steps_all(&s, &scan);
        CHECK_FAILS(status, HN_ERR_NUMERIC, "linear#");
        steps_set_weight(&s, victim, 3, 0.1f);
        CHECK_OK(hn_descent_begin(s.descent));
        CHECK_OK(steps_all(&s, NULL));
        CHECK_OK(hn_descent_finish(s.descent, 0.01f, &result));
        CHECK(steps_weight(&s, 0, 0) != kept && isfinite(result.loss));
    }
    steps_close(&s);
}

static void absurd_rate(bench *b)
{
    check_group("absurd learning rate");
    steps s;
    const hn_descent_options options = { 0 };
    if (steps_open(&s, b, &steps_dense, "llama", &options)) {
        hn_descent_result result;
        hn_status status = HN_OK;
        CHECK_FAILS(hn_descent_finish(s.descent, NAN, &result), HN_ERR_ARGUMENT, "learning rate");
        for (int i = 0; i < 20 && status == HN_OK; i++) {
            CHECK_OK(hn_descent_begin(s.descent));
            CHECK_OK(steps_all(&s, NULL));
            status = hn_descent_finish(s.descent, 1e38f, &result);
        }
        CHECK_FAILS(status, HN_ERR_NUMERIC, "nothing was updated");
    }
    steps_close(&s);
}

int main(int argc, char **argv)
{
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        infinite_weight(&b);
        absurd_rate(&b);
        bench_close(&b);
    }
    return check_close();
}
