/* The kernel harness finds what it is for: a wrong bit, a write before, a read past the end.
 * Each planted fault runs in a child process, which must fail and say the kernel's name. */
#include "tests/harness/kernel_check.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef void scale_function(size_t n, const float *x, float *y);
typedef struct kernels {
    scale_function *scale_f32;
} kernels;

static void scale_right(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = 2 * x[i];
}

static void scale_wrong_bit(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++)
        y[i] = i == 96 ? 0.0f : 2 * x[i];
}

static void scale_writes_before(size_t n, const float *x, float *y)
{
    scale_right(n, x, y);
    y[-1] = 0;
}

static void scale_reads_past(size_t n, const float *x, float *y)
{
    scale_right(n, x, y);
    y[0] = 2 * x[0] + 0 * ((const volatile float *)x)[n];
}

static void scale_runs_nowhere(size_t n, const float *x, float *y)
{
    scale_right(n, x, y);
    __builtin_trap();
}

static void check_scale(const kernels *ref, const kernels *opt)
{
    if (!KC_BEGIN(ref, opt, scale_f32))
        return;
    for (size_t n; kc_next_length(&n);) {
        float *x = kc_floats(n), *want = kc_blank(n), *got = kc_blank(n);
        ref->scale_f32(n, x, want);
        opt->scale_f32(n, x, got);
        kc_same_bits(want, got, n);
        KC_BENCH(opt->scale_f32(n, x, got));
    }
}

static int run_family(scale_function *candidate)
{
    char name[] = "planted", seed[] = "--seed", number[] = "2";
    char *argv[] = { name, seed, number, NULL };
    kc_open(3, argv); /* not the default seed: no digests here */
    const kernels ref = { scale_right }, opt = { candidate };
    for (hn_isa isa = 0; kc_next_isa(&isa);)
        check_scale(&ref, isa ? &opt : &ref);
    return kc_close();
}

/* The exit code of a child that runs `candidate`; what it printed goes to `out`. */
static int run_child(scale_function *candidate, char *out, size_t bytes)
{
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        const int code = run_family(candidate);
        fflush(stdout);
        _exit(code);
    }
    close(ends[1]);
    size_t n_read = 0;
    char rest[512];
    for (ssize_t n = 1; n > 0;) {
        const bool has_room = n_read + 1 < bytes;
        n = read(ends[0], has_room ? out + n_read : rest,
                 has_room ? bytes - 1 - n_read : sizeof rest);
        n_read += n > 0 && has_room ? (size_t)n : 0;
    }
    out[n_read] = '\0';
    close(ends[0]);
    int code = 0;
    waitpid(child, &code, 0);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -2;
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_isa host = HN_ISA_ref;
    CHECK_OK(hn_isa_available(&host));
    static const struct {
        const char *name, *words;
        scale_function *candidate;
        int code;
    } cases[] = {
        { "right", "0 failed", scale_right, 0 },
        { "wrong bit", "[96] expected", scale_wrong_bit, 1 },
        { "writes before", "bytes before a buffer", scale_writes_before, 1 },
        { "reads past", "SIGSEGV in scale_f32 at", scale_reads_past, 1 },
        { "illegal", "in scale_f32 at", scale_runs_nowhere, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[8192];
        check_group(cases[i].name);
        if (!host && cases[i].code) {
            check_skip(cases[i].name, "this host has no level above ref");
            continue;
        }
        CHECK_INT(cases[i].code, run_child(cases[i].candidate, out, sizeof out));
        CHECK_THAT(strstr(out, cases[i].words) != NULL, "\"%s\" is not in:\n%s", cases[i].words,
                   out);
    }
    return check_close();
}
