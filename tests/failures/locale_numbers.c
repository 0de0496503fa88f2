/* LOCALE-NUMBERS: under a locale with a decimal comma the library cannot train, and what it writes no
 * other machine can read. The same bits, the same files, the same words as in the C locale; and the
 * host's locale is as it was, in callbacks too. */
#include "tests/harness/comma.h"
#include "tests/harness/small_run.h"

#include "base/host.h"
#include "base/json.h"

static void sees_own_locale(void *context, const hn_finetune_step *step)
{
    char text[32];
    int *n = context;
    snprintf(text, sizeof text, "%.2f", 1.5);
    CHECK_TEXT("1,50", text);
    CHECK(step->loss > 0);
    ++*n;
}

/* What a run writes, but for the time that it took. */
static void same_metrics(const char *a, const char *b)
{
    char command[1500];
    snprintf(command, sizeof command,
             "for f in %s %s; do sed 's/,\"seconds\":[^,]*,\"memory\":[^,}]*//' $f/metrics.jsonl >$f/told; "
             "done; cmp %s/told %s/told && ! grep -q '[0-9],[0-9]*[,}]' %s/told",
             a, b, a, b, b);
    CHECK_THAT(system(command) == 0, "%s", command);
}

static void trains(small_run *run, const hn_finetune_result *want, const char *want_out)
{
    hn_finetune_result result;
    int n = 0;
    check_group("training");
    const hn_status status = small_run_train(run, sees_own_locale, &n, &result);
    CHECK_TEXT(",", localeconv()->decimal_point);
    if (!CHECK_OK(status))
        return;
    CHECK_INT(4, n);
    CHECK_TEXT(want->sha256, result.sha256);
    CHECK_TEXT(want->verdict, result.verdict);
    same_metrics(want_out, run->out);
}

/* A graph whose attributes are text, and one whose attributes are values. */
static void builds(bool by_value, double out[2])
{
    static const float data[6] = { 1, -2, 3, -4, 5, 6 };
    const hn_attribute eps[] = { { .size = sizeof *eps, .name = "eps", .kind = HN_ATTRIBUTE_NUMBER, .number = 0.25 } };
    const hn_attribute scale[] = { { .size = sizeof *scale, .name = "a", .kind = HN_ATTRIBUTE_NUMBER, .number = 1.5 },
                                   { .size = sizeof *scale, .name = "b", .kind = HN_ATTRIBUTE_NUMBER, .number = 0.5 } };
    hn_engine *engine;
    hn_builder *b;
    hn_exec *x = NULL;
    float y[6] = { 0 };
    if (!CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 1 })))
        return;
    CHECK_OK(hn_builder_new(&b, engine));
    hn_node *in = hn_builder_leaf(b, "input", "x", "f32", 2, (int64_t[]){ 2, 3 });
    hn_node *h = by_value ? hn_builder_apply(b, "rms_norm", 1, eps, 1, &in)
                          : hn_builder_op(b, "rms_norm", "eps=0.25", 1, &in);
    h = by_value ? hn_builder_apply(b, "scale", 2, scale, 1, &h)
                 : hn_builder_op(b, "scale", "a=1.5 b=0.5", 1, &h);
    if (CHECK_OK(hn_exec_new(&x, b, 1, &h, NULL))) {
        CHECK_OK(hn_exec_write(x, in, data, sizeof data));
        CHECK_OK(hn_exec_run(x));
        CHECK_OK(hn_exec_read(x, 0, y, sizeof y));
    }
    out[0] = (double)y[0];
    out[1] = (double)y[5];
    CHECK(hn_builder_apply(b, "rms_norm", 1, scale, 1, &in) && hn_builder_status(b) == HN_ERR_ARGUMENT &&
          strstr(hn_error_message(), "rms_norm: unknown attribute 'a'"));
    hn_exec_free(x);
    hn_builder_free(b);
    hn_engine_free(engine);
}

static void refuses_with_points(void)
{
    hn_engine *engine;
    hn_builder *b;
    check_group("words");
    if (!CHECK_OK(hn_engine_new(&engine, NULL)))
        return;
    CHECK_OK(hn_builder_new(&b, engine));
    hn_node *in = hn_builder_leaf(b, "input", "x", "f32", 1, (int64_t[]){ 2 });
    hn_builder_op(b, "scale", "a=1,5", 1, &in);
    CHECK_FAILS(hn_builder_status(b), HN_ERR_ARGUMENT, "scale: attribute a=1,5: expected a number");
    hn_builder_free(b);
    hn_engine_free(engine);
}

/* What everything else is written with. */
static void writes_points(void)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_str text = hn_str_on(&heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_text *read;
    char plain[32];
    check_group("writing");
    hn_json_begin_array(&json);
    hn_json_add_double(&json, 0.1);
    hn_json_add_double(&json, -2.5e-300);
    hn_json_end_array(&json);
    CHECK_TEXT("[0.1,-2.5e-300]", text.text);
    hn_str_clear(&text);
    hn_str_print(&text, "%.17g %.2f", 0.1, 2.5);
    CHECK_TEXT("0.10000000000000001 2.50", text.text);
    hn_text_print(plain, sizeof plain, "%g", 1.25);
    CHECK_TEXT("1.25", plain);
    hn_fail(HN_ERR_ARGUMENT, "found %g", 1.25);
    CHECK_TEXT("found 1.25", hn_error_message());
    if (CHECK_OK(hn_json_read(&heap, "text", "[1.5]", 5, &read))) {
        double x = 0;
        CHECK_OK(hn_json_want_double(hn_json_at(hn_json_root(read), 0), "x", &x));
        CHECK(x >= 1.5 && x <= 1.5);
    }
    hn_json_free(read);
    hn_str_free(&text);
}

int main(int argc, char **argv)
{
    small_run run = { 0 };
    hn_finetune_result want;
    double text[2], value[2], again[2];
    char want_out[300];
    check_open(argc, argv);
    if (small_run_open(&run) && CHECK_OK(small_run_train(&run, NULL, NULL, &want))) {
        memcpy(want_out, run.out, sizeof want_out);
        builds(false, text);
        builds(true, value);
        CHECK(!memcmp(text, value, sizeof text));
        if (comma_set(run.dir)) {
            trains(&run, &want, want_out);
            builds(false, again);
            CHECK(!memcmp(text, again, sizeof text));
            builds(true, again);
            CHECK(!memcmp(text, again, sizeof text));
            refuses_with_points();
            writes_points();
        } else {
#if defined(__GLIBC__)
            CHECK_THAT(false, "no locale with a comma could be set");
#endif
        }
    }
    check_group(NULL);
    small_run_close(&run);
    return check_close();
}
