/* The pass over all examples: what it counts, which examples it leaves out, holds out and finds
 * twice. */
#include "base/sha256.h"
#include "tests/harness/data.h"

#define COUNT(want, got) CHECK_INT((int64_t)(want), (int64_t)(got))

static data_bench bench;

static hn_dataset *open_files(const hn_data_file *files, int n, const hn_dataset_options *o)
{
    hn_dataset *d = NULL;
    hn_dataset_options options = *o;
    options.files = files;
    options.n_files = n;
    options.rule.tok = bench.tok;
    options.rule.chat = bench.chat;
    CHECK_OK(hn_dataset_open(&d, &bench.heap, &options));
    return d;
}

static void counts(void)
{
    static const char text[] = "{\"text\":\"abc\"}\n"      /* 4 tokens, 3 supervised */
                               "{\"text\":\"\"}\n"         /* EOS alone: nothing to supervise */
                               "{\"text\":\"abc\"}\n"      /* again */
                               "{\"text\":\"abcdefg\"}\n"; /* 8 tokens, 7 supervised */
    const hn_dataset_options drop = { .drop_empty = true };
    hn_dataset *d = NULL;
    hn_preflight r;
    check_group("counts");
    if (!CHECK_OK(data_bench_load(&bench, text, &drop, &d)))
        return;
    CHECK_OK(hn_preflight_run(d, &r, NULL, NULL));
    COUNT(3, r.n_examples);
    COUNT(1, r.n_dropped);
    COUNT(1, r.empty.n);
    COUNT(1, r.empty.first);
    COUNT(16, r.n_tokens);
    COUNT(13, r.n_supervised);
    COUNT(8, r.longest);
    COUNT(1, r.histogram[0]);
    COUNT(2, r.histogram[2]);
    COUNT(1, r.histogram[3]);
    COUNT(1, r.repeated.n);
    COUNT(2, r.repeated.first);
    COUNT(0, r.shared.n + r.cut.n + r.unended.n + r.double_bos.n);
    CHECK_OK(hn_preflight_verdict(&r, d));
    COUNT(3, d->files[0].n_trained);
    CHECK(d->files[0].trained && d->files[0].trained[1] == 2);
    COUNT(4, d->tokens[0]);
    hn_dataset_close(d);
    data_bench_refuses(&bench, text, NULL, "line 2: expected supervised tokens, found none");
    data_bench_refuses(&bench, "{\"text\":\"\"}", &drop,
                       "expected examples to train, found none");
}

static void finds_shared(void)
{
    char train[128], held[128];
    hn_preflight r;
    check_group("shared");
    data_bench_write(&bench, "t.jsonl", "{\"text\":\"abc\"}\n{\"text\":\"x\"}", train);
    data_bench_write(&bench, "h.txt", "held\n\nabc\n\nheld\n", held);
    const hn_data_file files[] = { { .path = train }, { .path = held, .is_held = true } };
    hn_dataset *d = open_files(files, 2, &(hn_dataset_options){ 0 });
    if (d && CHECK_OK(hn_preflight_run(d, &r, NULL, NULL))) {
        COUNT(2, r.n_examples);
        COUNT(3, r.n_held);
        COUNT(1, r.shared.n);
        COUNT(0, r.shared.first);
        COUNT(3, r.shared_held);
        COUNT(1, r.repeated_held.n);
        COUNT(4, r.repeated_held.first);
        COUNT(3, d->n_held);
        COUNT(2, d->held[0]);
    }
    hn_dataset_close(d);
    hn_os_remove(held);
    data_bench_write(&bench, "h.jsonl", "{\"chosen\":\"a\",\"rejected\":\"b\"}", held);
    d = NULL;
    const hn_dataset_options mixed = { .files = files, .n_files = 2, .rule.tok = bench.tok };
    CHECK_FAILS(hn_dataset_open(&d, &bench.heap, &mixed), HN_ERR_FORMAT,
                "expected single examples, as in");
    const hn_data_file weighed = { .path = held, .is_held = true, .weight = 2 };
    const hn_dataset_options one = { .files = &weighed, .n_files = 1, .rule.tok = bench.tok };
    CHECK_FAILS(hn_dataset_open(&d, &bench.heap, &one), HN_ERR_ARGUMENT, "expected no weight");
    hn_os_remove(train);
    hn_os_remove(held);
}

/* By a hash: the share is about right, equal examples go together, and the order of the file
 * does not matter. */
static void splits(void)
{
    enum { N = 2000 };
    hn_str text = hn_str_on(&bench.heap);
    const hn_dataset_options o = { .held_fraction = 0.1 };
    hn_dataset *d = NULL;
    hn_preflight r;
    check_group("split");
    for (int i = 0; i < N; i++)
        hn_str_print(&text, "{\"text\":\"number %d\"}\n", i % (N / 2));
    if (CHECK_OK(data_bench_load(&bench, text.text, &o, &d)) &&
        CHECK_OK(hn_preflight_run(d, &r, NULL, NULL))) {
        CHECK_THAT(r.n_held > 140 && r.n_held < 260, "%d held out", (int)r.n_held);
        COUNT(N, r.n_held + r.n_examples);
        COUNT(0, r.shared.n);
        COUNT(N / 2, r.repeated.n + r.repeated_held.n);
        for (int i = 0; i < N / 2; i++)
            COUNT(d->fates[i], d->fates[i + N / 2]);
    }
    hn_dataset_close(d);
    hn_str_free(&text);
}

/* What a run keeps to know whether its data changed. */
static void takes_digests(void)
{
    hn_dataset *d = NULL;
    char digest[65];
    check_group("digest");
    if (CHECK_OK(data_bench_load(&bench, "abc", NULL, &d))) {
        hn_sha256_text(d->files[0].source.digest, digest);
        CHECK_TEXT("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", digest);
    }
    hn_dataset_close(d);
}

/* Bytes of files in this process's memory; -1 where the system does not say. */
static long mapped_bytes(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[200];
    long kilobytes = -1;
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "RssFile:", 8))
            kilobytes = strtol(line + 8, NULL, 10);
    if (file)
        fclose(file);
    return kilobytes < 0 ? -1 : kilobytes * 1024;
}

/* A file that was read does not stay in memory. */
static void lets_go(void)
{
    enum { N = 24000, BYTES = 1000 };
    char path[128];
    hn_dataset *d = NULL;
    hn_example e = hn_example_on(&bench.heap);
    check_group("memory");
    snprintf(path, sizeof path, "%s/large.jsonl", bench.dir);
    FILE *file = fopen(path, "wb");
    for (int i = 0; file && i < N; i++)
        fprintf(file, "{\"text\":\"%0*d\"}\n", BYTES, i);
    CHECK(file && !fclose(file));
    const long before = mapped_bytes();
    const hn_data_file large = { .path = path };
    const hn_dataset_options o = { .files = &large, .n_files = 1, .rule.tok = bench.tok };
    if (before < 0) {
        check_skip("memory of a mapped file", "the system does not tell");
    } else if (CHECK_OK(hn_dataset_open(&d, &bench.heap, &o))) {
        CHECK_INT(N, (int64_t)d->n);
        CHECK_THAT(mapped_bytes() - before < 4 << 20, "%ld bytes after the index",
                   mapped_bytes() - before);
        for (uint64_t i = 0; i < d->n; i += 20)
            if (!CHECK_OK(hn_dataset_read(d, i, &e)))
                break;
        CHECK_THAT(mapped_bytes() - before < 4 << 20, "%ld bytes after reading",
                   mapped_bytes() - before);
    }
    hn_example_free(&e);
    hn_dataset_close(d);
    hn_os_remove(path);
}

static bool stop(void *context, uint64_t done, uint64_t n)
{
    (void)context;
    return done < 64 || n < 64;
}

static void can_be_stopped(void)
{
    hn_str text = hn_str_on(&bench.heap);
    hn_dataset *d = NULL;
    hn_preflight r;
    check_group("stop");
    for (int i = 0; i < 100; i++)
        hn_str_add(&text, "x\n\n");
    if (CHECK_OK(data_bench_load(&bench, text.text, NULL, &d)))
        CHECK_FAILS(hn_preflight_run(d, &r, stop, NULL), HN_ERR_CANCELLED, "stopped");
    CHECK(d && !d->is_scanned);
    hn_dataset_close(d);
    hn_str_free(&text);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    data_bench_open(&bench);
    counts();
    finds_shared();
    splits();
    takes_digests();
    can_be_stopped();
    lets_go();
    data_bench_close(&bench);
    return check_close();
}
