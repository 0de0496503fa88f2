/* Fine-tunes a model file through the installed library:
 *     cc finetune.c $(pkg-config --cflags --libs hone) -o finetune
 *     ./finetune MODEL DATA FOLDER [OPTION=VALUE]...
 * Ctrl-C finishes the step and saves; the same command goes on, to the same bits. */
#include <hone/hone.h>

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

static void on_step(void *engine, const hn_finetune_step *s)
{
    printf("step %lld of %lld: loss %.4f, %.0f tokens/s\n", (long long)s->step,
           (long long)s->n_steps, s->loss, (double)s->tokens / s->seconds);
    if (is_interrupted)
        hn_engine_cancel(engine);
}

static hn_status finetune(hn_engine *engine, hn_finetune_spec *spec)
{
    hn_finetune_estimate plan;
    hn_finetune_result result;
    hn_status status = hn_finetune_plan(engine, spec, &plan, sizeof plan);
    if (status != HN_OK)
        return status;
    printf("%lld steps, %lld numbers in %lld tensors, %.2f GiB\n", (long long)plan.n_steps,
           (long long)plan.n_trained, (long long)plan.n_tensors,
           (double)plan.total_bytes / (1 << 30));
    status = hn_finetune(engine, spec, &result, sizeof result);
    if (status == HN_OK)
        printf("%s\nsha256 %s\n", result.path, result.sha256);
    return status;
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    struct stat found;
    if (argc < 4) {
        fprintf(stderr, "usage: finetune MODEL DATA FOLDER [OPTION=VALUE]...\n");
        return 2;
    }
    if (hn_engine_new(&engine, NULL) != HN_OK) {
        fprintf(stderr, "%s\n", hn_error_message());
        return 1;
    }
    signal(SIGINT, on_interrupt);
    const char *data = argv[2];
    hn_finetune_spec spec = { .size = sizeof spec, .model = argv[1], .data = &data, .n_data = 1, .out = argv[3],
                              .settings = (const char *const *)(argv + 4), .n_settings = argc - 4,
                              .resume = stat(argv[3], &found) == 0, .context = engine,
                              .on_step = on_step };
    const hn_status status = finetune(engine, &spec);
    if (status != HN_OK)
        fprintf(stderr, "%s\n", hn_error_message());
    hn_engine_free(engine);
    return status == HN_OK ? 0 : 1;
}
