/* hone train: from a model and examples to an adapter, or to a model where whole tensors were
 * trained. */
#include "base/option_value.h"
#include "base/os/terminal.h"
#include "cli/cache_folder.h"
#include "cli/command_line.h"
#include "cli/data_report.h"
#include "cli/interrupt.h"
#include "cli/machine_options.h"
#include "cli/memory.h"
#include "cli/progress.h"
#include "cli/tied.h"
#include "hone/finetune.h"
#include "hone/prove.h"

#include <math.h>

typedef struct train_args {
    hn_settings settings;
    hn_list files;
    hn_machine_args machine; /* threads, memory and numerics are settings */
    hn_sink out;
    bool resume, dry_run, tied, proves;
    int64_t samples;
} train_args;

static const hn_option options[] = {
    HN_GROUP("the run"),
    HN_ENGINE_OPTIONS(train_args),
    HN_LIST(train_args, files, "data", "FILE[:WEIGHT]", "examples; may be given again"),
    HN_OUT_FOLDER(train_args, out, "out", "DIR", "the run's folder"),
    HN_FLAG(train_args, resume, "resume", "go on with the run in DIR: without MODEL, as it was told then"),
    HN_INT(train_args, samples, "samples", "N", 0, 64,
           "answers before and after, for the report (3)"),
    HN_FLAG(train_args, proves, "prove",
            "at the end what `hone prove` shows of this model, data and targets, certificate.json; what does not hold is a failure"),
    HN_FLAG(train_args, tied, "tied",
            "for programs that start it: a byte on standard input asks it to save and end, its end ends it at once, and others go first"),
    HN_FLAG(train_args, dry_run, "dry-run", "say what would be done, and train nothing"),
    HN_SETTINGS(train_args, settings, hn_finetune_setting),
    HN_GROUP("how examples become tokens"),
    HN_SETTINGS(train_args, settings, hn_examples_setting),
    HN_OPTION_END,
};

static const train_args defaults = { .samples = HN_FINETUNE_SAMPLES };
_Static_assert(HN_FINETUNE_SAMPLES == 3, "the help of --samples says 3");

static void print_targets(const hn_finetune_layout *l, FILE *out)
{
    static const char *const ways[] = { "lora", "dora", "full" };
    const int32_t n[] = { l->n_lora, l->n_dora, l->n_full };
    fprintf(out, "trained: %lld numbers in %lld tensors, for", (long long)l->estimate->n_trained,
            (long long)l->estimate->n_tensors);
    for (int i = 0; i < 3; i++)
        if (n[i])
            fprintf(out, " %d weights (%s)", (int)n[i], ways[i]);
    fprintf(out, " that hold %.1f %% of the active parameters\n", 100 * l->share);
}

static void print_plan(const hn_finetune_layout *l, FILE *out)
{
    const hn_finetune_estimate *e = l->estimate;
    print_targets(l, out);
    fprintf(out, "%lld steps in %s, rate %g (%s), %s in f32, seed %lld\n", (long long)e->n_steps,
            hn_lm_numerics_name(l->numerics), l->rate, l->schedule, l->optimizer, (long long)l->seed);
    fprintf(out, "micro-batches of %lld tokens at most, ", (long long)e->micro_tokens);
    if (e->recompute)
        fprintf(out, "every %lld. layer kept and the rest recomputed\n", (long long)e->recompute);
    else
        fprintf(out, "nothing recomputed\n");
    fprintf(out, "memory %.2f GiB: weights %.2f, workspace %.2f, trained with gradients and moments "
                 "%.2f, evaluation %.2f\n",
            (double)e->total_bytes / 0x1p30, (double)e->weights_bytes / 0x1p30, (double)e->workspace_bytes / 0x1p30,
            (double)e->trained_bytes / 0x1p30, (double)e->evaluation_bytes / 0x1p30);
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

static void on_step(void *context, const hn_finetune_step *r)
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

static void on_evaluation(void *context, const hn_finetune_evaluation *e)
{
    const display *d = context;
    char when[32];
    snprintf(when, sizeof when, "step %lld", (long long)e->step);
    fprintf(stderr, "%s%s: held-out loss %.4f, ", d->is_terminal ? "\r\033[K" : "",
            e->step ? when : "before training", e->loss);
    if (!d->judges_answers)
        fprintf(stderr, "perplexity %.4g, ", exp(e->loss));
    fprintf(stderr, "%.1f %% %s of %lld%s\n", 100 * e->accuracy, d->judges_answers ? "preferred" : "right",
            (long long)e->n, e->is_best ? ", the best so far" : "");
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

static hn_status train(hn_finetune_run *run, const display *d, const char *folder, hn_finetune_result *result, FILE *out)
{
    hn_interrupt_begin(true);
    hn_status status = hn_finetune_run_go(run);
    if (d->is_terminal)
        fputs("\r\033[K", stderr);
    hn_interrupt_end();
    if (status == HN_ERR_CANCELLED)
        return say_how_to_go_on(status, folder);
    if (status == HN_OK)
        status = hn_finetune_run_finish(run, result, sizeof *result);
    if (status != HN_OK)
        return status;
    if (d->seconds > 0)
        fprintf(out, "%lld steps in %.1f s, %.0f tokens/s\n", (long long)d->steps, d->seconds,
                (double)d->tokens / d->seconds);
    fprintf(out, "%s\n%s\nsha256 %s\n", result->verdict, result->path, result->sha256);
    return HN_OK;
}

/* The page that shows the run; what training took has been given back. */
static hn_status leave_report(hn_finetune_run *run, FILE *out)
{
    hn_finetune_page page;
    const hn_status status = hn_finetune_run_report(run, &page, sizeof page);
    if (page.left_out[0])
        fprintf(out, "no samples: %s\n", page.left_out);
    if (page.path[0])
        fprintf(out, "%s\n", page.path);
    if (status == HN_OK && hn_memory_peak())
        fprintf(out, "at most %.3f GiB of memory from the first byte to here\n",
                (double)hn_memory_peak() / 0x1p30);
    return status;
}

/* ---- the certificate ---- */

/* The first that does not hold, and how many. */
static hn_status say_what_fails(const hn_certificate *c)
{
    const hn_certificate_sum *sum = hn_certificate_get_sum(c);
    const hn_certificate_row *row;
    for (size_t i = 0; (row = hn_certificate_get_row(c, i)); i++)
        if (row->n_failed)
            return hn_fail(HN_ERR_PROOF, "certificate.json: %s, %s: error %.3g, bound %.3g (%s); %lld of %lld checks do not hold", row->subject,
                           row->kind, row->worst, row->bound, row->where, (long long)sum->n_failed, (long long)sum->n_checks);
    return hn_fail(HN_ERR_PROOF, "certificate.json: %s; %lld checks were due and could not be made", sum->skipped, (long long)sum->n_skipped);
}

static hn_status keep_certificate(const hn_certificate *c, const char *folder, FILE *out)
{
    char path[4096];
    const hn_certificate_sum *sum = hn_certificate_get_sum(c);
    snprintf(path, sizeof path, "%s/certificate.json", folder);
    HN_TRY(hn_certificate_write(c, path, true));
    fprintf(out, "%lld checks in %.1f s: %lld failed, %lld skipped\n%s\n", (long long)sum->n_checks, sum->seconds, (long long)sum->n_failed,
            (long long)sum->n_skipped, path);
    return HN_OK;
}

/* Once training has given its memory back. What was trained is there: where the proof has no room it is said, as of samples. */
static hn_status leave_certificate(const train_args *args, const hn_finetune_layout *l, const char *result, hn_examples *examples, FILE *out)
{
    const char *rank = hn_settings_value(&args->settings, "rank");
    hn_examples_prove_options o = { .size = sizeof o, .targets = hn_settings_value(&args->settings, "targets"), .numerics = l->numerics,
                                    .seed = (uint64_t)l->seed, .result = result };
    hn_certificate *c = NULL;
    if (rank)
        HN_TRY(hn_option_int("rank", rank, 1, 65536, &o.rank));
    hn_interrupt_begin(true);
    hn_status status = hn_examples_prove(examples, &o, &c);
    hn_interrupt_end();
    if (status == HN_ERR_MEMORY) {
        fprintf(out, "no certificate: %s\n", hn_error_message());
        return HN_OK;
    }
    if (status == HN_ERR_CANCELLED)
        return say_how_to_go_on(status, args->out.path);
    if (c) {
        const hn_status kept = keep_certificate(c, args->out.path, out);
        status = kept != HN_OK ? kept : status == HN_ERR_PROOF ? say_what_fails(c) : status;
    }
    hn_certificate_free(c);
    return status;
}

static hn_status resume(hn_finetune_run *run, FILE *out)
{
    int64_t step;
    int32_t is_old;
    HN_TRY(hn_finetune_run_resume(run, &step, &is_old));
    if (step)
        fprintf(out, "going on after step %lld%s\n", (long long)step, is_old ?
                ", of a checkpoint of version 1, which tells its base by a sample" : "");
    else
        fprintf(out, "no step was saved: going on from the beginning\n");
    return HN_OK;
}

static hn_status run_examples(const train_args *args, hn_examples *examples, const hn_setting_words *words,
                              const char *command, FILE *out)
{
    display d = { .is_terminal = hn_os_is_terminal(stderr) };
    const hn_finetune_run_options o = { .size = sizeof o, .settings = (const char *const *)words->at,
                                        .n_settings = words->n, .out = args->out.path,
                                        .overwrite = args->out.over == HN_OVER_OLD, .samples = (int32_t)args->samples,
                                        .command = command, .context = &d, .on_step = on_step,
                                        .on_evaluation = on_evaluation };
    hn_finetune_result result;
    hn_finetune_run *run;
    HN_TRY(hn_finetune_run_new(&run, examples, &o));
    d.judges_answers = hn_finetune_run_get_layout(run)->judges_answers != 0;
    print_plan(hn_finetune_run_get_layout(run), out);
    fflush(out);
    hn_status status = HN_OK;
    if (args->resume && !args->dry_run)
        status = resume(run, out);
    if (status == HN_OK && !args->dry_run)
        status = train(run, &d, args->out.path, &result, out);
    if (status == HN_OK && !args->dry_run)
        status = leave_report(run, out);
    if (status == HN_OK && !args->dry_run && args->proves)
        status = leave_certificate(args, hn_finetune_run_get_layout(run), result.path, examples, out);
    hn_finetune_run_free(run);
    return status;
}

/* What was called, for the report. */
static hn_status run_called(const train_args *args, hn_examples *examples, const hn_setting_words *words, hn_heap *heap,
                            FILE *out)
{
    hn_str line = hn_str_on(heap);
    hn_command_line_write(&line);
    hn_status status = hn_str_status(&line);
    if (status == HN_OK)
        status = run_examples(args, examples, words, line.text, out);
    hn_str_free(&line);
    return status;
}

static hn_status run_model(const train_args *args, const char *model, const hn_setting_words *words, hn_heap *heap,
                           FILE *out)
{
    const char *threads = hn_settings_value(&args->settings, "threads");
    hn_machine_args machine = args->machine;
    hn_engine *engine;
    hn_examples *examples = NULL;
    if (threads)
        HN_TRY(hn_option_int("threads", threads, 0, 256, &machine.threads));
    HN_TRY(hn_machine_engine(&machine, &engine));
    hn_status status =
        hn_examples_of_epochs(&examples, engine, model, &args->files, &args->settings, hn_cache_folder());
    if (status == HN_OK)
        status = hn_data_check(engine, examples, out);
    if (status == HN_OK)
        status = run_called(args, examples, words, heap, out);
    hn_examples_close(examples);
    hn_machine_engine_free(engine);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const train_args *args = parsed;
    hn_heap heap;
    hn_setting_words words;
    HN_REQUIRE(args->out.path || args->dry_run, HN_ERR_ARGUMENT, "expected --out DIR");
    if (args->tied)
        HN_TRY(hn_tied_begin());
    hn_heap_init(&heap, NULL);
    hn_status status = hn_setting_words_of(&words, &heap, &args->settings, hn_finetune_setting, "threads");
    if (status == HN_OK)
        status = hn_finetune_check_settings((const char *const *)words.at, words.n);
    if (status == HN_OK)
        status = run_model(args, operands[0], &words, &heap, out);
    hn_setting_words_close(&words);
    return status;
}

static const hn_option_rule rules[] = {
    { "overwrite", HN_NOT_WITH, "resume", "a run that goes on keeps what is there" },
    { "epochs", HN_NOT_WITH, "steps!=0", "they say how long the run is" },
    { "batch", HN_NOT_WITH, "batch-tokens!=0", "its tokens say how many examples a step has" },
    { "eval-every", HN_ONLY_WITH, "held|held-fraction!=0", NULL },
    { NULL, 0, NULL, NULL },
};

const hn_command hn_cmd_train = {
    .name = "train",
    .operands = "MODEL | run.toml | (with --resume) nothing",
    .summary = "fine-tune a model: low-rank, or whole tensors",
    .details = "A file run.toml holds the same options: model = \"m.gguf\", data = [\"a.jsonl\"], "
               "rank = 8.\nOptions on the command line come after it.\n",
    .example = "train m.gguf --data chats.jsonl --held-fraction 0.1 --out run",
    .options = options,
    .rules = rules,
    .letters = "o:out",
    .run_file_operand = "model",
    .resumes_in = "out",
    .defaults = &defaults,
    .args_size = sizeof(train_args),
    .min_operands = 1,
    .max_operands = 1,
    .run = run,
};
