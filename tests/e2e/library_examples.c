/* Examples through the public functions alone: what a model sees of them, what is wrong with them, how good it is on
 * them by sums made here of its logits, and gradients, held to differences of the loss; settings, and every refusal. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *hone;
static char dir[256], tiny[300], chats[300], pairs[300], bad[300], held[300];

static bool shell(const char *words)
{
    char line[4096];
    snprintf(line, sizeof line, "cd '%s' && HONE='%s' && { %s; } >out 2>err", dir, hone, words);
    return CHECK_THAT(system(line) == 0, "%s", line);
}

static void writes(char path[300], const char *name, const char *text)
{
    snprintf(path, 300, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

static hn_examples_spec spec_of(const char *const *data, int32_t n, const char *const *settings, int32_t n_settings)
{
    return (hn_examples_spec){ .size = sizeof(hn_examples_spec), .model = tiny, .data = data, .n_data = n,
                               .settings = settings, .n_settings = n_settings };
}

static hn_examples *open_one(hn_engine *engine, const char *path, const char *const *settings, int32_t n)
{
    hn_examples *e = NULL;
    const hn_examples_spec spec = spec_of(&path, 1, settings, n);
    CHECK_OK(hn_examples_open(&e, engine, &spec));
    return e;
}

/* ---- settings ---- */

/* Each is a value of the setting; what it reads is a setting, which no other loss takes; each kind of examples has one. */
static void check_losses(const hn_setting *setting)
{
    const hn_finetune_goal *g, *of[HN_EXAMPLES_LABELLED + 1] = { NULL };
    size_t i = 0, n = 0;
    for (; (g = hn_finetune_goal_at(i)); i++) {
        char goal[64], names[200];
        const char *words[2] = { goal };
        snprintf(goal, sizeof goal, "goal=%s", g->name);
        CHECK_OK(hn_finetune_check_settings(words, 1));
        CHECK(setting && strstr(setting->help, g->about) && (unsigned)g->takes <= HN_EXAMPLES_LABELLED);
        of[g->takes] = of[g->takes] ? of[g->takes] : g;
        n = 0;
        for (const hn_setting *s; (s = hn_finetune_goal_setting(n)); n++) {
            char value[64];
            snprintf(names, sizeof names, " %s ", g->settings);
            snprintf(value, sizeof value, " %s ", s->name);
            const bool reads = strstr(names, value) != NULL;
            snprintf(value, sizeof value, "%s=0.3", s->name);
            words[1] = value;
            CHECK_INT(reads ? HN_OK : HN_ERR_ARGUMENT, hn_finetune_check_settings(words, 2));
        }
    }
    CHECK(i > 4 && n > 3 && of[0] && of[1] && of[2] && setting && !strcmp(of[0]->name, setting->otherwise));
}

static void check_settings(void)
{
    const hn_setting *s, *rank = NULL, *goal = NULL, *flag = NULL, *set = NULL;
    const char *const good[] = { "rank=4", "in-order", "goal=dpo", "beta=0.3" };
    const char *const of_other_goal[] = { "beta=0.3" }, *const unknown[] = { "rnak=4" }, *const range[] = { "rank=0" },
                      *const threads[] = { "threads=2" }, *const of_data[] = { "max-length=9" };
    int groups = 0, n = 0;
    check_group("settings");
    for (size_t i = 0; (s = hn_finetune_setting(i)) != NULL; i++, n++) {
        groups += s->kind == HN_SETTING_GROUP;
        CHECK(s->help && *s->help && (s->kind == HN_SETTING_GROUP) == !s->name);
        CHECK(!s->name || (s->kind == HN_SETTING_FLAG) == !s->value);
        rank = s->name && !strcmp(s->name, "rank") ? s : rank;
        goal = s->name && !strcmp(s->name, "goal") ? s : goal;
        flag = s->name && !strcmp(s->name, "in-order") ? s : flag;
    }
    CHECK_THAT(groups > 4 && n > 40, "%d groups of %d", groups, n);
    if (CHECK(rank && goal && flag)) {
        CHECK(rank->kind == HN_SETTING_INT && rank->low == 1 && rank->high == 65536 && rank->counts);
        CHECK_TEXT("16", rank->otherwise);
        CHECK_TEXT("sft", goal->otherwise);
        CHECK(flag->kind == HN_SETTING_FLAG && !flag->otherwise && strstr(goal->help, "dpo"));
    }
    for (size_t i = 0; (s = hn_examples_setting(i)) != NULL; i++)
        set = !strcmp(s->name, "set") ? s : set;
    CHECK(set && set->kind == HN_SETTING_TEXTS && !hn_finetune_setting(1000) && !hn_examples_setting(1000));
    check_losses(goal);
    CHECK_OK(hn_finetune_check_settings(good, 4));
    CHECK_OK(hn_finetune_check_settings(NULL, 0));
    CHECK_FAILS(hn_finetune_check_settings(of_other_goal, 1), HN_ERR_ARGUMENT, "the goal is sft");
    CHECK_FAILS(hn_finetune_check_settings(unknown, 1), HN_ERR_ARGUMENT, "unknown option --rnak");
    CHECK_FAILS(hn_finetune_check_settings(range, 1), HN_ERR_ARGUMENT, "--rank");
    CHECK_FAILS(hn_finetune_check_settings(threads, 1), HN_ERR_ARGUMENT, "n_threads");
    CHECK_FAILS(hn_finetune_check_settings(of_data, 1), HN_ERR_ARGUMENT, "max-length");
    CHECK_FAILS(hn_finetune_check_settings(NULL, 1), HN_ERR_ARGUMENT, "NULL");
}

/* ---- token by token ---- */

static void check_reading(hn_engine *engine)
{
    hn_examples_place place;
    char answer[256] = "";
    size_t bytes, supervised = 0, asked = 0;
    check_group("reading");
    hn_examples *e = open_one(engine, chats, NULL, 0);
    if (!e)
        return;
    CHECK_INT(3, (int64_t)hn_examples_count(e));
    CHECK_INT(HN_EXAMPLES_SINGLE, hn_examples_kind_of(e));
    CHECK(!hn_examples_get_sum(e) && !hn_examples_get_found(e, HN_EXAMPLES_EMPTY) && !hn_examples_get_sequence(e, 0));
    CHECK_FAILS(hn_examples_read(e, 3, &place, sizeof place), HN_ERR_ARGUMENT, "expected less than 3");
    CHECK_OK(hn_examples_read(e, 1, &place, sizeof place));
    CHECK(place.n_sequences == 1 && place.line == 2 && !strcmp(place.path, chats));
    const hn_examples_sequence *s = hn_examples_get_sequence(e, 0);
    CHECK(s && !hn_examples_get_sequence(e, 1) && !hn_examples_get_token(e, 0, s->n, &bytes));
    for (size_t t = 0; s && t < s->n; t++) {
        const char *text = hn_examples_get_token(e, 0, t, &bytes);
        CHECK(text && bytes);
        asked += s->roles[t] == HN_EXAMPLES_USER;
        if (!(s->weights[t] > 0))
            continue;
        supervised++;
        CHECK_INT(HN_EXAMPLES_ASSISTANT, s->roles[t]);
        CHECK_TEXT("assistant", hn_examples_role_name((hn_examples_role)s->roles[t]));
        strncat(answer, text, bytes);
    }
    CHECK_THAT(asked > 3, "%zu tokens of the user", asked);
    CHECK_TEXT("It was at the lake<|end|>", answer);
    CHECK(s && supervised == s->n_supervised && strlen(s->text) == s->bytes && strstr(s->text, "at the lake"));
    CHECK_TEXT("", hn_examples_role_name((hn_examples_role)99));
    hn_examples_close(e);
}

/* ---- all of them ---- */

static void check_checking(hn_engine *engine)
{
    const char *const drop[] = { "drop-empty" };
    char list[700];
    snprintf(list, sizeof list, "held=%s", held);
    const char *const with_held[] = { list };
    check_group("checking");
    hn_examples *e = open_one(engine, bad, NULL, 0);
    if (e) { /* refused, and what was found is there */
        CHECK_FAILS(hn_examples_check(e), HN_ERR_ARGUMENT, "--drop-empty");
        CHECK_FAILS(hn_examples_check(e), HN_ERR_ARGUMENT, "line 2");
        const hn_examples_found *found = hn_examples_get_found(e, HN_EXAMPLES_HOLLOW);
        CHECK(found && found->n == 1 && found->line == 2 && !strcmp(found->path, bad) && !found->held_path);
        hn_examples_judgement j;
        CHECK_FAILS(hn_examples_judge(e, NULL, &j, sizeof j, NULL, 0), HN_ERR_ARGUMENT, "--drop-empty"); /* and nobody forgets it */
        CHECK(!j.goal && !j.n);
    }
    hn_examples_close(e);
    e = open_one(engine, bad, drop, 1);
    if (e && CHECK_OK(hn_examples_check(e)))
        CHECK(hn_examples_get_sum(e)->n_dropped == 1 && hn_examples_get_sum(e)->n_trained == 1);
    hn_examples_close(e);
    e = open_one(engine, chats, with_held, 1);
    if (e && CHECK_OK(hn_examples_check(e))) {
        const hn_examples_sum *sum = hn_examples_get_sum(e);
        const hn_examples_found *shared = hn_examples_get_found(e, HN_EXAMPLES_SHARED);
        CHECK(sum->n_trained == 3 && sum->n_held == 1 && sum->longest > 10 && sum->n_held_tokens > 10);
        CHECK(shared && shared->n == 1 && shared->line == 2 && shared->held_line == 1 && !strcmp(shared->held_path, held));
        CHECK_TEXT("shared", shared ? shared->name : "");
        CHECK(hn_examples_get_file(e, 1)->is_held && !hn_examples_get_file(e, 0)->is_held && !hn_examples_get_file(e, 2));
        CHECK(strlen(hn_examples_get_file(e, 0)->sha256) == 64 && !strcmp(hn_examples_get_file(e, 0)->format, "messages"));
        CHECK(!hn_examples_get_found(e, (hn_examples_finding)99));
    }
    hn_examples_close(e);
}

/* ---- judging ---- */

/* Loss and right tokens of a file's examples, by the model's logits and nothing of training. */
static void judge_here(hn_engine *engine, hn_examples *e, double *loss, double *right, int64_t *n)
{
    hn_lm *lm;
    *loss = *right = 0;
    *n = 0;
    if (!CHECK_OK(hn_lm_open(&lm, engine, tiny, NULL)))
        return;
    const size_t vocab = (size_t)hn_lm_vocabulary(lm);
    for (uint64_t i = 0; i < hn_examples_count(e); i++) {
        hn_examples_place place;
        CHECK_OK(hn_examples_read(e, i, &place, sizeof place));
        const hn_examples_sequence *s = hn_examples_get_sequence(e, 0);
        float *logits = malloc(s->n * vocab * sizeof *logits);
        CHECK_OK(hn_lm_logits_of(lm, s->ids, s->n, NULL, logits, s->n * vocab));
        for (size_t t = 1; t < s->n; t++) {
            const float *row = logits + (t - 1) * vocab;
            double sum = 0;
            size_t best = 0;
            if (!(s->weights[t] > 0))
                continue;
            for (size_t v = 0; v < vocab; v++) {
                sum += exp((double)row[v]);
                best = row[v] > row[best] ? v : best;
            }
            *loss += log(sum) - (double)row[s->ids[t]];
            *right += best == (size_t)s->ids[t];
            ++*n;
        }
        free(logits);
    }
    *loss /= (double)*n;
    *right /= (double)*n;
    hn_lm_close(lm);
}

typedef struct told {
    int n;
    double last;
} told;

static void on_work(void *context, double done, const char *what)
{
    told *t = context;
    CHECK_THAT(done >= t->last && done <= 1 && what[0], "%s: %g after %g", what, done, t->last);
    t->n++;
    t->last = done;
}

static void on_work_cancel(void *context, double done, const char *what)
{
    (void)done;
    if (strstr(what, "judging"))
        hn_engine_cancel(context);
}

static void check_judging(hn_engine *engine)
{
    hn_examples_judgement all, one, with;
    hn_lm_adapter_trial trial;
    char adapter[300];
    double loss, right;
    int64_t n;
    told work = { .n = 0 };
    check_group("judging");
    hn_examples *e = open_one(engine, chats, NULL, 0);
    hn_engine_on_work(engine, on_work, &work);
    if (e && CHECK_OK(hn_examples_judge(e, NULL, &all, sizeof all, NULL, 0))) {
        hn_engine_on_work(engine, NULL, NULL); /* opening a model is told of too */
        judge_here(engine, e, &loss, &right, &n);
        CHECK_INT(n, all.n);
        CHECK_THAT(fabs(all.loss - loss) < 1e-4, "%.9g, by its logits %.9g", all.loss, loss);
        CHECK_THAT(fabs(all.accuracy - right) < 1e-9, "%.9g, by its logits %.9g", all.accuracy, right);
        CHECK(!strcmp(all.goal, "sft") && all.kind == HN_EXAMPLES_SINGLE && all.n == n);
        CHECK_THAT(work.n > 3 && work.last >= 1, "told %d times, at last of %g", work.n, work.last);
    }
    hn_examples_judge_options o = { .size = sizeof o, .most = 1 };
    CHECK_OK(hn_examples_judge(e, &o, &one, sizeof one, &trial, sizeof trial));
    CHECK(one.n < all.n && !trial.was_tried && !trial.note[0]);
    snprintf(adapter, sizeof adapter, "%s/run/adapter.gguf", dir);
    o = (hn_examples_judge_options){ .size = sizeof o, .adapter = adapter };
    CHECK_OK(hn_examples_judge(e, &o, &with, sizeof with, &trial, sizeof trial));
    CHECK(trial.was_tried && with.loss < all.loss);
    o.scale = 1e-6;
    CHECK_OK(hn_examples_judge(e, &o, &one, sizeof one, NULL, 0));
    CHECK_THAT(fabs(one.loss - all.loss) < 1e-3, "%.9g with next to nothing of the adapter, %.9g without", one.loss, all.loss);
    o.adapter = chats;
    CHECK_FAILS(hn_examples_judge(e, &o, &one, sizeof one, &trial, sizeof trial), HN_ERR_FORMAT, chats);
    hn_engine_on_work(engine, on_work_cancel, engine);
    CHECK_FAILS(hn_examples_judge(e, NULL, &one, sizeof one, NULL, 0), HN_ERR_CANCELLED, "");
    hn_engine_resume(engine);
    hn_engine_on_work(engine, NULL, NULL);
    CHECK_OK(hn_examples_judge(e, NULL, &one, sizeof one, NULL, 0));
    CHECK(!memcmp(&one.loss, &all.loss, sizeof one.loss) && one.n == all.n);
    hn_examples_close(e);
}

static void check_goals(hn_engine *engine)
{
    const char *const beta[] = { "beta=0.3" }, *const sft[] = { "goal=sft" }, *const rate[] = { "rate=1" };
    hn_examples_judgement usual, other;
    hn_examples_judge_options o = { .size = sizeof o, .settings = beta, .n_settings = 1 };
    check_group("goals");
    hn_examples *e = open_one(engine, pairs, NULL, 0);
    if (e && CHECK_OK(hn_examples_judge(e, NULL, &usual, sizeof usual, NULL, 0))) {
        CHECK(!strcmp(usual.goal, "dpo") && usual.kind == HN_EXAMPLES_PAIR && usual.n == 2);
        CHECK_THAT(fabs(usual.loss - log(2)) < 1e-6, "%.9g of a model that is its own base", usual.loss);
        CHECK_OK(hn_examples_judge(e, &o, &other, sizeof other, NULL, 0)); /* it is dpo's, and so is the goal */
        o.settings = sft;
        CHECK_FAILS(hn_examples_judge(e, &o, &other, sizeof other, NULL, 0), HN_ERR_ARGUMENT, "sft");
        o.settings = rate;
        CHECK_FAILS(hn_examples_judge(e, &o, &other, sizeof other, NULL, 0), HN_ERR_ARGUMENT, "--rate");
        o = (hn_examples_judge_options){ .size = sizeof o, .numerics = HN_LM_BF16 };
        CHECK_FAILS(hn_examples_judge(e, &o, &other, sizeof other, NULL, 0), HN_ERR_UNSUPPORTED, "bf16");
        o = (hn_examples_judge_options){ .size = 4 };
        CHECK_FAILS(hn_examples_judge(e, &o, &other, sizeof other, NULL, 0), HN_ERR_ARGUMENT, "size");
    }
    hn_examples_close(e);
}

/* ---- gradients ---- */

typedef struct taken {
    int n, ends_at;
    double squares;
    char first[80];
    size_t numbers;
} taken;

static hn_status take(void *context, const hn_examples_gradient *g)
{
    taken *t = context;
    size_t n = 1;
    for (int32_t d = 0; d < g->rank; d++)
        n *= (size_t)g->dim[d];
    CHECK_INT((int64_t)n, (int64_t)g->n);
    if (!t->n)
        snprintf(t->first, sizeof t->first, "%s", g->name);
    for (size_t i = 0; i < g->n; i++)
        t->squares += (double)g->values[i] * (double)g->values[i];
    t->numbers += g->n;
    return ++t->n == t->ends_at ? HN_ERR_CANCELLED : HN_OK;
}

static void check_gradients(hn_engine *engine)
{
    const char *const norms[] = { "targets=norm:full" }, *const steps[] = { "steps=3" };
    taken t = { .n = 0 };
    char out[300];
    hn_examples_gradients sum;
    hn_examples_gradients_options o = { .size = sizeof o, .settings = norms, .n_settings = 1, .on_gradient = take,
                                        .context = &t };
    check_group("gradients");
    hn_examples *e = open_one(engine, chats, NULL, 0);
    if (!e)
        return;
    snprintf(out, sizeof out, "%s/g.safetensors", dir);
    o.out = out;
    if (CHECK_OK(hn_examples_differentiate(e, &o, &sum, sizeof sum))) {
        hn_examples_judgement j;
        CHECK_OK(hn_examples_judge(e, NULL, &j, sizeof j, NULL, 0));
        CHECK_THAT(fabs(j.loss - sum.loss) < 1e-5, "%.9g, judged %.9g", sum.loss, j.loss);
        CHECK_INT(sum.n_tensors, t.n);
        CHECK_THAT(fabs(sqrt(t.squares) / sum.norm - 1) < 1e-5, "%.9g, told %.9g", sqrt(t.squares), sum.norm);
        CHECK(sum.n_sequences == 3 && (int64_t)sum.n_supervised == j.n && strstr(t.first, "norm") && !access(out, F_OK));
        shell("$HONE grads tiny.gguf --data chats.jsonl --targets norm:full --out p.safetensors && cmp g.safetensors p.safetensors");
    }
    CHECK_FAILS(hn_examples_differentiate(e, &o, &sum, sizeof sum), HN_ERR_ARGUMENT, "g.safetensors"); /* there already */
    o.out = NULL;
    t = (taken){ .ends_at = 2 };
    CHECK_INT(HN_ERR_CANCELLED, hn_examples_differentiate(e, &o, &sum, sizeof sum));
    CHECK(t.n == 2 && !sum.n_tensors);
    o.settings = steps;
    CHECK_FAILS(hn_examples_differentiate(e, &o, &sum, sizeof sum), HN_ERR_ARGUMENT, "--steps");
    o.on_gradient = NULL;
    CHECK_FAILS(hn_examples_differentiate(e, &o, &sum, sizeof sum), HN_ERR_ARGUMENT, "found NULL");
    hn_examples_close(e);
}

/* ---- refusals ---- */

static void check_refusals(hn_engine *engine)
{
    hn_examples *e = (hn_examples *)(uintptr_t)1;
    const char *data = chats;
    const char *const of_run[] = { "rank=3" }, *const bad_value[] = { "max-length=none" };
    hn_examples_spec spec = spec_of(&data, 1, of_run, 1);
    check_group("refusals");
    CHECK_FAILS(hn_examples_open(&e, engine, &spec), HN_ERR_ARGUMENT, "unknown option --rank");
    CHECK(!e);
    spec.settings = bad_value;
    CHECK_FAILS(hn_examples_open(&e, engine, &spec), HN_ERR_ARGUMENT, "--max-length");
    spec = spec_of(&data, 0, NULL, 0);
    CHECK_FAILS(hn_examples_open(&e, engine, &spec), HN_ERR_ARGUMENT, "--data");
    spec = spec_of(&data, 1, NULL, 0);
    spec.model = NULL;
    CHECK_FAILS(hn_examples_open(&e, engine, &spec), HN_ERR_ARGUMENT, "model");
    spec.size = 8;
    CHECK_FAILS(hn_examples_open(&e, engine, &spec), HN_ERR_ARGUMENT, "size");
    CHECK_FAILS(hn_examples_open(&e, engine, NULL), HN_ERR_ARGUMENT, "NULL");
    CHECK_FAILS(hn_examples_check(NULL), HN_ERR_ARGUMENT, "NULL");
    hn_examples_close(NULL);
    CHECK(!hn_examples_count(NULL) && !hn_examples_get_file(NULL, 0) && !hn_examples_get_sequence(NULL, 0));
}

/* Every allocation on the way refused once: a status, and nothing lost. */
static void check_memory(hn_engine *engine)
{
    const char *data = chats;
    const hn_examples_spec spec = spec_of(&data, 1, NULL, 0);
    hn_examples_judgement j;
    int64_t before, after, nth;
    int refused = 0;
    check_group("memory");
    hn_engine_memory(engine, &before, NULL, NULL);
    for (nth = 1; nth < 4000; nth += nth < 300 ? 1 : 37) {
        hn_examples *e = NULL;
        hn_engine_fail_allocation(engine, nth);
        hn_status status = hn_examples_open(&e, engine, &spec);
        if (status == HN_OK)
            status = hn_examples_judge(e, NULL, &j, sizeof j, NULL, 0);
        hn_engine_fail_allocation(engine, 0);
        hn_examples_close(e);
        hn_engine_memory(engine, &after, NULL, NULL);
        if (!CHECK_INT(before, after) || status == HN_OK)
            break;
        CHECK_INT(HN_ERR_MEMORY, status);
        refused++;
    }
    CHECK_THAT(refused > 100 && nth < 4000, "%d allocations refused", refused);
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    const char *temp = getenv("TMPDIR");
    check_open(argc, argv);
    hone = check_option("--hone");
    if (!CHECK_THAT(hone != NULL, "expected --hone PROGRAM"))
        return check_close();
    snprintf(dir, sizeof dir, "%.180s/hone-examples-XXXXXX", temp ? temp : "/tmp");
    CHECK(mkdtemp(dir));
    snprintf(tiny, sizeof tiny, "%s/tiny.gguf", dir);
    writes(chats, "chats.jsonl",
           "{\"messages\":[{\"role\":\"user\",\"content\":\"Where was the ring?\"},{\"role\":\"assistant\",\"content\":\"It was at the mill\"}]}\n"
           "{\"messages\":[{\"role\":\"user\",\"content\":\"Where was the cup?\"},{\"role\":\"assistant\",\"content\":\"It was at the lake\"}]}\n"
           "{\"messages\":[{\"role\":\"user\",\"content\":\"Where was the old mug?\"},{\"role\":\"assistant\",\"content\":\"It was at the inn\"}]}\n");
    writes(held, "held.jsonl",
           "{\"messages\":[{\"role\":\"user\",\"content\":\"Where was the cup?\"},{\"role\":\"assistant\",\"content\":\"It was at the lake\"}]}\n");
    writes(bad, "bad.jsonl",
           "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"Ho\"}]}\n"
           "{\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"},{\"role\":\"assistant\",\"content\":\"\"}]}\n");
    writes(pairs, "pairs.jsonl",
           "{\"prompt\":\"Where?\",\"chosen\":\"At the lake\",\"rejected\":\"At the inn\"}\n"
           "{\"prompt\":\"Who?\",\"chosen\":\"The tailor\",\"rejected\":\"Nobody\"}\n");
    shell("$HONE tiny tiny.gguf && $HONE train tiny.gguf --data chats.jsonl --steps 8 --rate 5e-3 --samples 0 --out run");
    if (CHECK_OK(hn_engine_new(&engine, NULL))) {
        check_settings();
        check_reading(engine);
        check_checking(engine);
        check_judging(engine);
        check_goals(engine);
        check_gradients(engine);
        check_refusals(engine);
        check_memory(engine);
        hn_engine_free(engine);
    }
    check_group(NULL);
    char line[400];
    snprintf(line, sizeof line, "rm -rf '%s'", dir);
    CHECK_INT(0, system(line));
    return check_close();
}
