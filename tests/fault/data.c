/* Every allocation that reading training data makes fails once: a status, no leak, and the next
 * try is as if nothing had happened. */
#include "tests/harness/data.h"
#include "data/pack.h"
#include "data/steps.h"

static data_bench bench;

static hn_status read_all(const hn_dataset_options *o)
{
    hn_dataset *d = NULL;
    hn_preflight r;
    hn_steps steps;
    hn_data_step step = { 0 };
    hn_example e = hn_example_on(&bench.heap);
    hn_pack pack = hn_pack_on(&bench.heap);
    const hn_steps_options by = { .batch = 2, .epochs = 1, .window = 2 };
    hn_status status = hn_dataset_open(&d, &bench.heap, o);
    CHECK((status == HN_OK) == (d != NULL));
    if (status == HN_OK)
        status = hn_preflight_run(d, &r, NULL, NULL);
    if (status == HN_OK)
        status = hn_steps_init(&steps, &bench.heap, d, &by);
    if (status == HN_OK)
        status = hn_steps_at(&steps, 0, &step);
    for (size_t i = 0; i < step.n && status == HN_OK; i++) {
        status = hn_dataset_read(d, step.examples[i], &e);
        if (status == HN_OK)
            status = hn_pack_add_example(&pack, &e);
    }
    hn_data_step_free(&bench.heap, &step);
    hn_pack_free(&pack);
    hn_example_free(&e);
    hn_dataset_close(d);
    return status;
}

static void fails(const char *name, const char *text, bool has_blocks)
{
    char path[128], file_name[64];
    check_group(name);
    snprintf(file_name, sizeof file_name, "%s.%s", name, text[0] == '{' ? "jsonl" : text[0] == '[' ? "json" : strchr(text, ',') ? "csv" : "txt");
    data_bench_write(&bench, file_name, text, path);
    const hn_data_file file = { .path = path };
    const hn_dataset_options o = { .files = &file,
                                   .n_files = 1,
                                   .rule = { .tok = bench.tok,
                                             .chat = bench.chat,
                                             .template_name = has_blocks ? NULL : "unmarked",
                                             .wants_roles = true },
                                   .held_fraction = 0.1,
                                   .drop_empty = true };
    const int64_t n_blocks = atomic_load(&bench.heap.live_blocks);
    int n = 0;
    hn_status status = HN_ERR_MEMORY;
    for (; status != HN_OK && n < 5000; n++) {
        atomic_store(&bench.heap.n_calls, 0);
        atomic_store(&bench.heap.fail_at, n + 1);
        status = read_all(&o);
        CHECK_THAT(status == HN_OK || status == HN_ERR_MEMORY, "allocation %d: %s", n,
                   hn_error_message());
        CHECK_INT(n_blocks, atomic_load(&bench.heap.live_blocks));
    }
    atomic_store(&bench.heap.fail_at, 0);
    CHECK_THAT(n > 20 && n < 5000, "%d allocations", n);
    hn_os_remove(path);
}

int main(int argc, char **argv)
{
    static const char unmarked[] =
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}<|im_end|>"
        "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
    check_open(argc, argv);
    data_bench_open(&bench);
    CHECK_OK(hn_chat_format_add(bench.chat, "unmarked", unmarked, sizeof unmarked - 1));
    for (int has_blocks = 0; has_blocks < 2; has_blocks++) {
        fails("messages",
              "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
              "\"q\"}]},"
              "{\"role\":\"assistant\",\"content\":\"a\",\"weight\":1}]}\n"
              "{\"messages\":[{\"role\":\"user\",\"content\":\"r\"},{\"role\":\"assistant\","
              "\"content\":\"b\"}]}",
              has_blocks);
        fails("sharegpt",
              "[{\"conversations\":[{\"from\":\"human\",\"value\":\"q\"},{\"from\":\"gpt\","
              "\"value\":\"a\"}],\"tools\":\"[{\\\"name\\\":\\\"f\\\"}]\"}]",
              has_blocks);
        fails("pairs", "{\"prompt\":\"p\",\"chosen\":\"c\",\"rejected\":\"r\"}", has_blocks);
        fails("texts", "one\n\ntwo\n\nthree", has_blocks);
        fails("table", "prompt,completion,score\na,\"b\"\"c\",1.5\nd,e,2\n", has_blocks);
    }
    data_bench_close(&bench);
    return check_close();
}
