/* hone train: from a model and examples to an adapter, or to a model where whole tensors were
 * trained. */
#include "base/os/clock.h"
#include "base/os/terminal.h"
#include "cli/command_line.h"
#include "cli/interrupt.h"
#include "cli/memory.h"
#include "cli/progress.h"
#include "cli/train_options.h"
#include "train/adapter_write.h"
#include "train/origin.h"
#include "train/report.h"
#include "train/samples.h"

#include <math.h>
#include <string.h>

typedef struct train_args {
    hn_train_config config;
    hn_data_args data;
    hn_list files;
    hn_machine_args machine; /* threads are the configuration's */
    hn_sink out;
    bool resume, dry_run;
    int64_t samples;
} train_args;

static const hn_option options[] = {
    HN_GROUP("the run"),
    HN_PLACE_OPTIONS(train_args),
    HN_LIST(train_args, files, "data", "FILE[:WEIGHT]", "examples; may be given again"),
    HN_OUT_FOLDER(train_args, out, "out", "DIR", "the run's folder"),
    HN_FLAG(train_args, resume, "resume", "go on with the run in DIR: without MODEL, as it was told then"),
    HN_INT(train_args, samples, "samples", "N", 0, 64,
           "answers before and after, for the report (3)"),
    HN_FLAG(train_args, dry_run, "dry-run", "say what would be done, and train nothing"),
#define HN_TRAIN_GROUP(title) HN_GROUP(title),
#define HN_TRAIN(kind, field, option, value, otherwise, low, high, counts, help)                \
    HN_TRAIN_OPTION_##kind(train_args, config.field, option, value, low, high, help)
#include "train/config.def"
#undef HN_TRAIN
    HN_GROUP("how examples become tokens"),
#define HN_DATA(kind, field, option, value, low, high, help)                                    \
    HN_DATA_OPTION_##kind(train_args, data, field, option, value, low, high, help)
#include "train/data_choice.def"
    HN_OPTION_END,
};

static const train_args defaults = { .config = {
#define HN_TRAIN(kind, field, option, value, otherwise, low, high, counts, help) .field = otherwise,
#include "train/config.def"
#undef HN_TRAIN
}, .samples = 3 };

static void print_targets(const hn_tuning *t, FILE *out)
{
    static const char *const ways[] = { "lora", "dora", "full" };
    int64_t rank = -1;
    int n[3] = { 0 };
    for (int i = 0; i < t->n_tuned; i++) {
        n[t->tuned[i].settings.how]++;
        rank = t->tuned[i].settings.how != HN_TUNE_FULL ? t->tuned[i].settings.rank : rank;
    }
    fprintf(out, "trained: %lld numbers in %d tensors, for", (long long)t->n_params, t->n_tensors);
    for (int i = 0; i < 3; i++)
        if (n[i])
            fprintf(out, " %d weights (%s)", n[i], ways[i]);
    fprintf(out, " that hold %.1f %% of the active parameters\n",
            100 * (double)t->n_matched / (double)t->n_base);
}

static void print_plan(const hn_train_run *run, const train_args *args, FILE *out)
{
    const hn_train_plan p = hn_train_run_plan(run);
    print_targets(hn_train_run_tuning(run), out);
    fprintf(out, "%lld steps, rate %g (%s), %s in f32, seed %lld\n", (long long)p.n_steps,
            args->config.rate, args->config.schedule, args->config.optimizer,
            (long long)args->config.seed);
    fprintf(out, "micro-batches of %lld tokens at most, ", (long long)p.micro_tokens);
    if (p.recompute)
        fprintf(out, "every %lld. layer kept and the rest recomputed\n", (long long)p.recompute);
    else
        fprintf(out, "nothing recomputed\n");
    fprintf(out, "memory %.2f GiB: weights %.2f, workspace %.2f, trained with gradients and moments "
                 "%.2f, evaluation %.2f\n",
            (double)p.total_bytes / 0x1p30, (double)p.weights_bytes / 0x1p30,
            (double)p.bytes.workspace / 0x1p30,
            (double)(p.bytes.parameters + p.bytes.sums + p.bytes.moments) / 0x1p30,
            (double)p.evaluation_bytes / 0x1p30);
}

/* ---- while it runs ---- */

typedef struct display {
    bool is_terminal;
    double seconds; /* of steps since the start, and how many */
    int64_t steps, tokens;
    bool judges_answers; /* evaluations count those preferred, not tokens */
} display;

static void show_time(double seconds, char text[32])
{
    const long s = (long)(seconds + 0.5);
    if (s < 3600)
        snprintf(text, 32, "%ld:%02ld", s / 60, s % 60);
    else
        snprintf(text, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

static void on_step(void *context, const hn_step_report *r)
{
    display *d = context;
    char rest[32];
    d->seconds += r->seconds;
    d->tokens += r->tokens;
    d->steps++;
    const bool is_line = !d->is_terminal;
    if (is_line && r->step % (r->n_steps / 20 > 0 ? r->n_steps / 20 : 1) && r->step != r->n_steps)
        return;
    char figures[6][48];
    show_time(d->seconds / (double)d->steps * (double)(r->n_steps - r->step), rest);
    snprintf(figures[0], sizeof *figures, "%lld/%lld", (long long)r->step, (long long)r->n_steps);
    snprintf(figures[1], sizeof *figures, "loss %.4f", r->loss);
    snprintf(figures[2], sizeof *figures, "%s left", rest);
    snprintf(figures[3], sizeof *figures, "|g| %.3g", r->grad_norm);
    snprintf(figures[4], sizeof *figures, "%.0f tokens/s", (double)d->tokens / d->seconds);
    snprintf(figures[5], sizeof *figures, "%.2f GiB", (double)r->resident_bytes / 0x1p30);
    hn_progress_line((double)r->step / (double)r->n_steps, 6, figures);
}

static void on_evaluated(void *context, int64_t step, const hn_evaluation *e, bool is_best)
{
    const display *d = context;
    char when[32];
    snprintf(when, sizeof when, "step %lld", (long long)step);
    fprintf(stderr, "%s%s: held-out loss %.4f, ", d->is_terminal ? "\r\033[K" : "",
            step ? when : "before training", e->loss);
    if (!d->judges_answers)
        fprintf(stderr, "perplexity %.4g, ", exp(e->loss));
    fprintf(stderr, "%.1f %% %s of %lld%s\n", 100 * e->accuracy, d->judges_answers ? "preferred" : "right",
            (long long)e->n, is_best ? ", the best so far" : "");
}

/* What happened first, then a line that can be pasted: the folder knows the rest. */
static hn_status say_how_to_go_on(hn_status status, const char *folder)
{
    const char *const words[] = { "train", "-o", folder, "--resume" };
    char said[512];
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_str line = hn_str_on(&heap);
    hn_command_line_begin(&line);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hn_command_line_add(&line, words[i]);
    snprintf(said, sizeof said, "%s", hn_error_message());
    if (hn_str_status(&line) == HN_OK)
        hn_fail(status, "%s; this goes on with it:\n  %s", said, line.text);
    hn_str_free(&line);
    return status;
}

static hn_status train(hn_train_run *run, const char *folder, FILE *out)
{
    display d = { .is_terminal = hn_os_is_terminal(stderr),
                  .judges_answers =
                      hn_goal_groups(hn_learner_objective(hn_train_run_learner(run))->goal) };
    char path[4096], digest[65];
    hn_interrupt_begin(true);
    const hn_train_watch watch = { .context = &d, .step = on_step, .evaluated = on_evaluated,
                                   .cancel = hn_interrupt_flag() };
    hn_status status = hn_train_run_go(run, &watch);
    if (d.is_terminal)
        fputs("\r\033[K", stderr);
    hn_interrupt_end();
    if (status == HN_ERR_CANCELLED)
        return say_how_to_go_on(status, folder);
    if (status == HN_OK)
        status = hn_train_run_finish(run, path, digest);
    if (status != HN_OK)
        return status;
    if (d.seconds > 0)
        fprintf(out, "%lld steps in %.1f s, %.0f tokens/s\n", (long long)d.steps, d.seconds,
                (double)d.tokens / d.seconds);
    fprintf(out, "%s\n%s\nsha256 %s\n", hn_train_run_verdict(run), path, digest);
    return HN_OK;
}

/* What was called, for the report. */
static hn_status leave_origin(const train_args *args, const hn_train_input *in, const char *model)
{
    hn_str line = hn_str_on(in->heap);
    hn_command_line_write(&line);
    hn_status status = hn_str_status(&line);
    const hn_origin origin = { .command = line.text, .version = HN_VERSION, .model = model,
                               .dataset = in->data.dataset };
    if (status == HN_OK)
        status = hn_origin_write(in->heap, args->out.path, &origin);
    hn_str_free(&line);
    return status;
}

/* The page that shows the run; the learner's memory has been given back. */
static hn_status leave_report(const train_args *args, const hn_train_input *in, const char *model,
                              bool is_model, FILE *out)
{
    char result[4096], path[4096];
    snprintf(result, sizeof result, "%s/%s", args->out.path, is_model ? "model.gguf" : "adapter.gguf");
    hn_samples_options o = { .model = in->model, .dataset = in->data.dataset,
                             .run = in->run, .dir = args->out.path, .result = result,
                             .is_model = is_model, .n = (int)args->samples, .most_tokens = 48,
                             .tokenizer = in->tokenizer, .template = in->template };
    HN_TRY(hn_train_config_numerics(&args->config, &o.run.numerics));
    HN_TRY(leave_origin(args, in, model));
    bool left_out = false;
    hn_status status = hn_samples_write(in->heap, &o, &left_out);
    if (left_out)
        fprintf(out, "no samples: %s\n", hn_error_message());
    if (status != HN_OK) { /* the run is worth what it is: its page first, then what went wrong */
        char said[512];
        snprintf(said, sizeof said, "%s", hn_error_message());
        HN_TRY(hn_run_report_write(in->heap, args->out.path, path));
        fprintf(out, "%s\n", path);
        return hn_fail(status, "samples: %s", said);
    }
    HN_TRY(hn_run_report_write(in->heap, args->out.path, path));
    fprintf(out, "%s\n", path);
    if (hn_memory_peak())
        fprintf(out, "at most %.3f GiB of memory from the first byte to here\n",
                (double)hn_memory_peak() / 0x1p30);
    return HN_OK;
}

static void say_where(const hn_train_run *run, FILE *out)
{
    const long long step = hn_train_run_state(run)->step;
    if (step)
        fprintf(out, "going on after step %lld%s\n", step, hn_train_run_is_old(run) ?
                ", of a checkpoint of version 1, which tells its base by a sample" : "");
    else
        fprintf(out, "no step was saved: going on from the beginning\n");
}

static hn_status run_input(const train_args *args, hn_train_input *in, const char *model, FILE *out)
{
    hn_train_run *run;
    hn_train_subject subject = hn_train_input_subject(in, &args->config, args->out.path);
    subject.makes_samples = args->samples > 0;
    char samples[40];
    snprintf(samples, sizeof samples, "samples = %lld\n", (long long)args->samples);
    subject.more_told = samples;
    subject.over = args->out.over;
    HN_TRY(hn_train_run_new(&run, in->heap, &subject));
    print_plan(run, args, out);
    fflush(out);
    hn_status status = HN_OK;
    if (args->resume && !args->dry_run)
        status = hn_train_run_resume(run);
    if (status == HN_OK && args->resume && !args->dry_run)
        say_where(run, out);
    if (status == HN_OK && !args->dry_run)
        status = train(run, args->out.path, out);
    const bool is_model = hn_tuning_is_full(hn_train_run_tuning(run));
    const size_t limit = in->heap->limit_bytes; /* --memory holds to the last byte */
    hn_lock_file folder = hn_train_run_take_lock(run); /* held to the last byte */
    hn_train_run_free(run);
    in->heap->limit_bytes = limit;
    if (status == HN_OK && !args->dry_run)
        status = leave_report(args, in, model, is_model, out);
    hn_lock_file_release(&folder);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const train_args *args = parsed;
    hn_heap heap;
    HN_REQUIRE(args->out.path || args->dry_run, HN_ERR_ARGUMENT, "expected --out DIR");
    hn_heap_init(&heap, NULL);
    hn_train_input in = { .heap = &heap };
    hn_machine_args machine = args->machine;
    machine.threads = args->config.threads;
    hn_status status = hn_train_config_check(&args->config);
    if (status == HN_OK)
        status = hn_train_args_open(&in, operands[0], &args->data, &args->files,
                                     &machine, out);
    if (status == HN_OK)
        status = run_input(args, &in, operands[0], out);
    hn_train_input_close(&in);
    return status;
}

const hn_command hn_cmd_train = {
    .name = "train",
    .operands = "MODEL | run.toml | (with --resume) nothing",
    .summary = "fine-tune a model: low-rank, or whole tensors",
    .details = "A file run.toml holds the same options: model = \"m.gguf\", data = [\"a.jsonl\"], "
               "rank = 8.\nOptions on the command line come after it.\n",
    .example = "train m.gguf --data chats.jsonl --held-fraction 0.1 --out run",
    .options = options,
    .letters = "o:out",
    .run_file_operand = "model",
    .resumes_in = "out",
    .defaults = &defaults,
    .args_size = sizeof(train_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
