/* Judges a model, and it with each of some adapters, on examples, through the installed library:
 *     cc evaluate.c $(pkg-config --cflags --libs hone) -o evaluate
 *     ./evaluate MODEL DATA [ADAPTER]...
 * A line each: the loss, how many tokens are right of a hundred, and of how many. */
#include <hone/hone.h>

#include <stdio.h>

static hn_status judge(hn_examples *examples, const char *adapter)
{
    const hn_examples_judge_options options = { .size = sizeof options, .adapter = adapter };
    hn_examples_judgement found;
    hn_status status = hn_examples_judge(examples, &options, &found, sizeof found, NULL, 0);
    if (status == HN_OK)
        printf("%s %.5f %.2f %lld\n", adapter ? adapter : "base", found.loss, 100 * found.accuracy,
               (long long)found.n);
    return status;
}

/* What is wrong with the data is told first; what may not be trained is refused. */
static hn_status check(hn_examples *examples)
{
    const hn_examples_found *found;
    hn_status status = hn_examples_check(examples);
    for (int i = 0; (found = hn_examples_get_found(examples, (hn_examples_finding)i)) != NULL; i++)
        if (found->n)
            fprintf(stderr, "%llu examples %s: %s line %llu\n", (unsigned long long)found->n, found->about,
                    found->path, (unsigned long long)found->line);
    return status;
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    hn_examples *examples = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: evaluate MODEL DATA [ADAPTER]...\n");
        return 2;
    }
    const char *data = argv[2];
    const hn_examples_spec spec = { .size = sizeof spec, .model = argv[1], .data = &data, .n_data = 1 };
    hn_status status = hn_engine_new(&engine, NULL);
    if (status == HN_OK)
        status = hn_examples_open(&examples, engine, &spec);
    if (status == HN_OK)
        status = check(examples);
    for (int i = 2; i < argc && status == HN_OK; i++)
        status = judge(examples, i > 2 ? argv[i] : NULL);
    if (status != HN_OK)
        fprintf(stderr, "%s\n", hn_error_message());
    hn_examples_close(examples);
    hn_engine_free(engine);
    return status == HN_OK ? 0 : 1;
}
