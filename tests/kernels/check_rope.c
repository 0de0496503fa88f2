/* Both layouts of rotation against their reference. */
#include "tests/harness/kernel_check.h"
#include "tests/kernels/at_level.h"

typedef void (*rope_kernel)(HN_SHARED_rope);

static void check_rope(const char *name, rope_kernel ref, rope_kernel opt)
{
    static const int64_t shapes[][4] = {
        /* heads, head_dim, first, n_rot */
        { 1, 2, 0, 2 },   { 3, 64, 0, 64 }, { 2, 128, 0, 128 }, { 5, 80, 16, 32 },
        { 2, 96, 0, 72 }, { 4, 33, 1, 30 }, { 1, 256, 64, 192 }
    };
    if (!kc_begin(name, (kc_function)ref, (kc_function)opt))
        return;
    for (size_t at = 0; at < sizeof shapes / sizeof *shapes; at++) {
        const int64_t heads = shapes[at][0], dim = shapes[at][1];
        const int64_t first = shapes[at][2], n_rot = shapes[at][3];
        const size_t n = (size_t)(heads * dim), half = (size_t)n_rot / 2;
        kc_note("heads %d, dim %d", (int)heads, (int)dim);
        while (kc_next_flavour()) {
            float *x = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
            const float *cos = kc_floats(half), *sin = kc_floats(half);
            for (int way = -1; way <= 1; way += 2) {
                const float direction = (float)way;
                ref(heads, dim, first, n_rot, cos, sin, direction, x, want);
                opt(heads, dim, first, n_rot, cos, sin, direction, x, got);
                kc_same_bits(want, got, n);
            }
            KC_BENCH(opt(heads, dim, first, n_rot, cos, sin, 1, x, got));
            opt(heads, dim, first, n_rot, cos, sin, 1, x, x);
            kc_same_bits(want, x, n);
        }
    }
}

int main(int argc, char **argv)
{
    hn_rope_kernels ref, opt;
    kc_open(argc, argv);
    ref = at_level(HN_ISA(ref))->rope;
    for (hn_isa isa = 0; kc_next_isa(&isa);) {
        opt = at_level(isa)->rope;
        check_rope("rope_halves_f32", ref.rope_halves_f32, opt.rope_halves_f32);
        check_rope("rope_pairs_f32", ref.rope_pairs_f32, opt.rope_pairs_f32);
    }
    return kc_close();
}
