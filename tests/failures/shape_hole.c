/* SHAPE-HOLE and NON-DETERMINISM: right for the shapes that were tested, wrong for others; other
 * bits with other threads. Random transformers: GQA ratios 1, 2, 3, 8, lengths 1, 31, 32, 33,
 * windows, experts, adapters; gradients against differences, and every way of running against one.
 * Nothing is skipped. */
#include "prove/check_model.h"
#include "tests/failures/bench.h"

enum { SHAPES = 6, QUICK_SHAPES = 2 };

int main(int argc, char **argv)
{
    bench b;
    check_open(argc, argv);
    if (bench_open(&b)) {
        hn_instance_spec spec;
        const int shapes = check_flag("--quick") ? QUICK_SHAPES : SHAPES;
        for (int i = 0; i < shapes; i++) {
            hn_instance_at(hn_instance_count() + i, check_seed(), &spec);
            CHECK_OK(hn_check_model(&b.env, &spec));
        }
        for (int i = 0; i < b.report.n; i++)
            CHECK_THAT(b.report.rows[i].n_failed == 0, "%s: %s", hn_check_kind_name(b.report.rows[i].kind),
                       b.report.rows[i].where);
        CHECK(hn_report_checks(&b.report) > 20 * shapes);
        bench_close(&b);
    }
    return check_close();
}
