/* low_rank leaves rows alone that have nothing to be added: without an adapter, with one of rank 0, of no expert. They are
 * compared by their bits, as -0 is 0 to every other comparison: by the kernel and by the op's own forward, in place and not. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <string.h>

enum { T = 4, N = 3, K = 2, R = 2 };

static hn_engine *engine;

/* ids: nobody's, the first's (rank 1), the second's (rank 0), nobody's. All of y is -0. */
static void check_rows(const char *type, bool has_experts, hn_exec_plan plan)
{
    static const int32_t ids[T] = { -1, 0, 1, -1 }, ranks[2] = { 1, 0 }, experts[T * 2] = { 0, 1, 1, -1, 0, 1, -1, -1 };
    static const float scales[2] = { 2, 2 };
    const int64_t used = has_experts ? 2 : 1, rows = T * used;
    const bool is_narrow = !strcmp(type, "bf16");
    float x[T * 2 * K], a[2 * 2 * R * K], b[2 * 2 * N * R], got[T * 2 * N];
    uint16_t narrow_x[T * 2 * K], narrow_got[T * 2 * N];
    static const uint32_t minus = 0x80000000u;
    float y[T * 2 * N];
    uint16_t narrow_y[T * 2 * N];
    for (size_t i = 0; i < T * 2 * N; i++) {
        memcpy(&y[i], &minus, sizeof minus);
        narrow_y[i] = 0x8000;
    }
    for (size_t i = 0; i < T * 2 * K; i++)
        x[i] = 1, narrow_x[i] = 0x3f80; /* 1 */
    for (size_t i = 0; i < sizeof a / sizeof *a; i++)
        a[i] = 1;
    for (size_t i = 0; i < sizeof b / sizeof *b; i++)
        b[i] = 1;
    hn_builder *g;
    hn_exec *e = NULL;
    if (!CHECK_OK(hn_builder_new(&g, engine)))
        return;
    const int32_t more = has_experts;
    hn_node *in[8] = {
        hn_builder_leaf(g, "input", "y", type, 2 + more, has_experts ? (int64_t[]){ T, 2, N } : (int64_t[]){ T, N }),
        hn_builder_leaf(g, "input", "x", type, 2, (int64_t[]){ T, K }),
        hn_builder_leaf(g, "input", "ids", "i32", 1, (int64_t[]){ T }),
        hn_builder_leaf(g, "input", "ranks", "i32", 1, (int64_t[]){ 2 }),
        hn_builder_leaf(g, "input", "scales", "f32", 1, (int64_t[]){ 2 }),
        hn_builder_leaf(g, "input", "a", "f32", 3 + more, has_experts ? (int64_t[]){ 2, 2, R, K } : (int64_t[]){ 2, R, K }),
        hn_builder_leaf(g, "input", "b", "f32", 3 + more, has_experts ? (int64_t[]){ 2, 2, N, R } : (int64_t[]){ 2, N, R }),
        has_experts ? hn_builder_leaf(g, "input", "experts", "i32", 2, (int64_t[]){ T, 2 }) : NULL,
    };
    /* y is made in the graph, so that its memory may be taken over. */
    hn_node *made = hn_builder_op(g, "reshape", has_experts ? "shape=4,2,3" : "shape=4,3", 1, in);
    hn_node *given = in[0];
    in[0] = hn_builder_op(g, "neg", NULL, 1, &made);
    in[0] = hn_builder_op(g, "neg", NULL, 1, in);
    hn_node *out = hn_builder_op(g, "low_rank", NULL, 7 + more, in);
    if (CHECK_OK(hn_exec_new(&e, g, 1, &out, hn_exec_plan_name(plan)))) {
        const size_t n = (size_t)(rows * N), bytes = n * (is_narrow ? 2 : 4);
        CHECK_OK(hn_exec_write(e, given, is_narrow ? (const void *)narrow_y : y, bytes));
        CHECK_OK(hn_exec_write(e, in[1], is_narrow ? (const void *)narrow_x : x, T * K * (is_narrow ? 2 : 4)));
        CHECK_OK(hn_exec_write(e, in[2], ids, sizeof ids));
        CHECK_OK(hn_exec_write(e, in[3], ranks, sizeof ranks));
        CHECK_OK(hn_exec_write(e, in[4], scales, sizeof scales));
        CHECK_OK(hn_exec_write(e, in[5], a, sizeof a / (has_experts ? 1 : 2)));
        CHECK_OK(hn_exec_write(e, in[6], b, sizeof b / (has_experts ? 1 : 2)));
        if (has_experts)
            CHECK_OK(hn_exec_write(e, in[7], experts, sizeof experts));
        CHECK_OK(hn_exec_run(e));
        CHECK_OK(hn_exec_read(e, 0, is_narrow ? (void *)narrow_got : got, bytes));
        for (size_t i = 0; i < n; i++) {
            const size_t row = i / N, token = row / (size_t)used;
            const bool has = ids[token] == 0 && (!has_experts || experts[row] >= 0);
            uint32_t bits;
            memcpy(&bits, &got[i], sizeof bits);
            bits = is_narrow ? (uint32_t)narrow_got[i] << 16 : bits;
            CHECK_THAT(bits == (has ? 0x40800000u : minus), "row %zu: %08x", row, bits); /* 2 * 1 * (1 + 1) is 4 */
        }
    }
    hn_exec_free(e);
    hn_builder_free(g);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    const hn_engine_options o = { .size = sizeof o, .n_threads = 1 };
    if (CHECK_OK(hn_engine_new(&engine, &o))) {
        static const char *const types[] = { "f32", "bf16" };
        for (int t = 0; t < 2; t++)
            for (hn_exec_plan plan = HN_EXEC_INPLACE; plan <= HN_EXEC_POISON; plan++) {
                check_group(types[t]);
                check_rows(types[t], false, plan);
                check_rows(types[t], true, plan);
            }
    }
    hn_engine_free(engine);
    return check_close();
}
