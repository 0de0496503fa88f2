/* NO-SUPERVISION: cutting leaves an example without a label, its loss is 0.0, and nobody hears
 * of it. Here every way to lose all supervision is refused, or counted to the example. */
#include "tests/harness/data.h"

static data_bench bench;

/* Questions of `longest` letters and less, answers of one. */
static void write_chats(hn_str *text, int n, int longest)
{
    hn_str_clear(text);
    for (int i = 0; i < n; i++) {
        hn_str_add(text, "{\"messages\":[{\"role\":\"user\",\"content\":\"");
        for (int k = 0; k < 1 + i * longest / n; k++)
            hn_str_add_char(text, (char)('a' + (i + k) % 26));
        hn_str_add(text, "\"},{\"role\":\"assistant\",\"content\":\"y\"}]}\n");
    }
}

/* What a loop over the tokens themselves finds. */
static int count_lost(const hn_dataset *d)
{
    hn_example e = hn_example_on(&bench.heap);
    int n = 0;
    for (uint64_t i = 0; i < d->n; i++) {
        CHECK_OK(hn_dataset_read(d, i, &e));
        bool has_any = false;
        for (size_t t = 1; t < e.part[0].n; t++)
            has_any |= e.part[0].weights[t] > 0;
        n += !has_any;
    }
    hn_example_free(&e);
    return n;
}

static void loses_some(size_t max_length, hn_cut cut)
{
    enum { N = 60 };
    hn_str text = hn_str_on(&bench.heap);
    hn_dataset *d = NULL;
    hn_preflight r;
    hn_dataset_options o = { .rule = { .max_length = max_length, .cut = cut } };
    write_chats(&text, N, 80);
    o.drop_empty = true;
    if (!CHECK_OK(data_bench_load(&bench, text.text, &o, &d)))
        return;
    CHECK_OK(hn_preflight_run(d, &r, NULL, NULL));
    const int lost = count_lost(d);
    CHECK_INT(lost, (int64_t)r.empty.n);
    CHECK_INT(lost, (int64_t)r.n_dropped);
    CHECK_INT(lost, (int64_t)r.cut_empty.n);
    CHECK_INT(N - lost, (int64_t)r.n_examples);
    CHECK_INT(lost, (int64_t)r.histogram[0]);
    CHECK(cut != HN_CUT_KEEP_START || (lost > 5 && lost < N - 5));
    CHECK(cut != HN_CUT_KEEP_END || lost == 0);
    hn_dataset_close(d);
    o.drop_empty = false;
    if (lost)
        data_bench_refuses(&bench, text.text, &o, "found none left after cutting");
    hn_str_free(&text);
}

static void loses_all(void)
{
    static const char *const texts[] = {
        "{\"messages\":[{\"role\":\"user\",\"content\":\"q\"}]}",
        ("{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\","
         "\"content\":\"a\",\"weight\":0}]}"),
        "{\"weight\":0,\"prompt\":\"p\",\"completion\":\"c\"}",
        "{\"text\":\"\"}",
    };
    const hn_dataset_options drop = { .drop_empty = true };
    for (int i = 0; i < 4; i++) {
        data_bench_refuses(&bench, texts[i], NULL, "expected supervised tokens, found none");
        data_bench_refuses(&bench, texts[i], &drop, "expected examples to train, found none");
    }
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    data_bench_open(&bench);
    loses_some(60, HN_CUT_KEEP_START);
    loses_some(60, HN_CUT_KEEP_END);
    loses_all();
    data_bench_close(&bench);
    return check_close();
}
