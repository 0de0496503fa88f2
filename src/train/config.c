/* config.def is included for each: defaults, text, setting, and what may not be given because it would change
 * nothing. The text that digests are of is never changed for options that came later. */
#include "train/config.h"

#include "base/host.h"
#include "base/option_value.h"
#include "base/rng.h"
#include "base/number.h"
#include "base/word_list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const spans[HN_N_BALANCE_SPANS] = { "sequence", "batch" };

const char *hn_balance_name(hn_balance_span span) { return spans[span]; }

hn_status hn_balance_parse(const char *word, hn_balance_span *out)
{
    for (int i = 0; i < HN_N_BALANCE_SPANS; i++)
        if (!strcmp(word, spans[i])) {
            *out = (hn_balance_span)i;
            return HN_OK;
        }
    hn_word_text all;
    return hn_fail(HN_ERR_ARGUMENT, "--balance %.40s: expected %s", word, hn_words_or(HN_N_BALANCE_SPANS, spans, &all));
}

hn_train_config hn_train_config_default(void)
{
    return (hn_train_config){
#define HN_TRAIN(kind, field, option, value, otherwise, low, high, counts, help) .field = otherwise,
#include "train/config.def"
#undef HN_TRAIN
    };
}

static bool differs(const char *x, const char *usual)
{
    return strcmp(x ? x : "", usual ? usual : "") != 0;
}

/* Betas are the optimiser's where none is given, and those of the first for one that has none: texts said
 * that before each had its own. */
static double own(double given, double optimizers, double firsts)
{
    return given > 0 ? given : optimizers > 0 ? optimizers : firsts;
}

static hn_train_config settled(const hn_train_config *c)
{
    hn_train_config out = *c;
    const hn_optimizer_spec *first = hn_optimizer_spec_of((hn_optimizer)0), *spec = first;
    hn_optimizer chosen;
    if (hn_optimizer_parse("", c->optimizer, &chosen) == HN_OK)
        spec = hn_optimizer_spec_of(chosen);
    out.beta1 = own(c->beta1, spec->beta1, first->beta1);
    out.beta2 = own(c->beta2, spec->beta2, first->beta2);
    return out;
}

static void add_lines(const hn_train_config *given, bool all, hn_str *out)
{
    const hn_train_config what = settled(given), *c = &what;
#define HN_PRINT_TEXT(name, x) hn_str_print(out, "%s = %s\n", name, (x) ? (x) : "");
#define HN_PRINT_INT(name, x)  hn_str_print(out, "%s = %lld\n", name, (long long)(x));
#define HN_PRINT_REAL(name, x) hn_str_print(out, "%s = %.17g\n", name, (x));
#define HN_PRINT_FLAG(name, x) hn_str_print(out, "%s = %s\n", name, (x) ? "true" : "false");
#define HN_DIFFERS_TEXT(x, usual) differs(x, usual)
#define HN_DIFFERS_INT(x, usual)  ((x) != (usual))
#define HN_DIFFERS_REAL(x, usual) ((x) < (usual) || (x) > (usual))
#define HN_DIFFERS_FLAG(x, usual) ((x) != (usual))
#define HN_TRAIN(kind, field, option, value, otherwise, low, high, counts, help)                \
    if (counts == 1 || (counts == 2 && all) || (counts == 2 && HN_DIFFERS_##kind(c->field, otherwise)))                 \
        HN_PRINT_##kind(option, c->field)
#include "train/config.def"
#undef HN_TRAIN
    const bool drops = c->dropout > 0 || (c->targets && strstr(c->targets, "dropout"));
    if (drops || !strcmp(c->moments, "bf16")) /* which were drawn otherwise once */
        hn_str_print(out, "random = philox4x32-%d\n", HN_RNG_MASS_ROUNDS);
    if (c->balance > 0 && !strcmp(c->balance_over, spans[HN_BALANCE_BATCH])) /* once divided by the experts a token */
        hn_str_print(out, "balance is = times experts a token\n");
    if (c->decay > 0) /* which once fell on vectors too */
        hn_str_print(out, "decays = matrices\n");
}

void hn_train_config_text(const hn_train_config *c, hn_str *out) { add_lines(c, false, out); }

void hn_train_config_lines(const hn_train_config *c, hn_str *out) { add_lines(c, true, out); }

/* ---- by name ---- */

static hn_status set_text(const char *name, const char *value, const char **out)
{
    HN_REQUIRE(value, HN_ERR_ARGUMENT, "--%s: expected a value", name);
    *out = value;
    return HN_OK;
}

static hn_status set_int(const char *name, const char *value, int64_t low, int64_t high, int64_t *out)
{
    HN_REQUIRE(value, HN_ERR_ARGUMENT, "--%s: expected a value", name);
    return hn_option_int(name, value, low, high, out);
}

static hn_status set_real(const char *name, const char *value, double *out)
{
    HN_REQUIRE(value, HN_ERR_ARGUMENT, "--%s: expected a value", name);
    return hn_option_real(name, value, out);
}

static hn_status set_flag(const char *name, const char *value, bool *out)
{
    const bool is_true = !value || !strcmp(value, "true");
    HN_REQUIRE(is_true || !strcmp(value, "false"), HN_ERR_ARGUMENT,
               "--%s %s: expected true or false", name, value);
    *out = is_true;
    return HN_OK;
}

hn_status hn_train_config_set(hn_train_config *c, const char *name, const char *value)
{
#define HN_SET_TEXT(field, option, low, high) set_text(option, value, &c->field)
#define HN_SET_INT(field, option, low, high)  set_int(option, value, low, high, &c->field)
#define HN_SET_REAL(field, option, low, high) set_real(option, value, &c->field)
#define HN_SET_FLAG(field, option, low, high) set_flag(option, value, &c->field)
#define HN_TRAIN(kind, field, option, word, otherwise, low, high, counts, help)                 \
    if (!strcmp(name, option))                                                                 \
        return HN_SET_##kind(field, option, low, high);
#include "train/config.def"
#undef HN_TRAIN
    return hn_fail(HN_ERR_ARGUMENT, "unknown option --%s", name);
}

static hn_status choose(const char *option, const char *value, const char *const names[2], bool *second)
{
    *second = !strcmp(value, names[1]);
    HN_REQUIRE(*second || !strcmp(value, names[0]), HN_ERR_ARGUMENT, "--%s %s: expected %s or %s", option,
               value, names[0], names[1]);
    return HN_OK;
}

static hn_status at_most(const char *option, double value, double most)
{
    HN_REQUIRE(value <= most, HN_ERR_ARGUMENT, "--%s %g: expected at most %g", option, value, most);
    return HN_OK;
}

static hn_status share_or_steps(const char *option, double value)
{
    HN_REQUIRE(value < 1 || value <= floor(value), HN_ERR_ARGUMENT,
               "--%s %g: expected a whole number of steps, or a share below 1", option, value);
    return HN_OK;
}

/* 0 would be taken for the usual value. */
static hn_status more_than_nothing(const char *option, double value)
{
    HN_REQUIRE(value > 0, HN_ERR_ARGUMENT, "--%s 0: expected more than 0", option);
    return HN_OK;
}

/* ---- what is given for nothing ---- */

/* An option that changes nothing where it is given was meant for something else. */
static hn_status check_meant(const hn_train_config *c)
{
    const hn_train_config usual = hn_train_config_default();
    const struct {
        const char *option;
        bool is_given;
    } all[] = {
#define HN_TRAIN(kind, field, option, value, otherwise, low, high, counts, help)                \
    { option, HN_DIFFERS_##kind(c->field, usual.field) },
#include "train/config.def"
#undef HN_TRAIN
    };
    hn_goal goal;
    hn_optimizer optimizer;
    HN_TRY(hn_goal_parse(c->goal, &goal));
    HN_TRY(hn_optimizer_parse("--optimizer", c->optimizer, &optimizer));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char goals[200], optimizers[200];
        const char *option = all[i].option;
        if (!all[i].is_given)
            continue;
        hn_goal_names(-1, option, goals, sizeof goals);
        hn_optimizer_names(option, optimizers, sizeof optimizers);
        HN_REQUIRE(!goals[0] || hn_word_is_in(hn_goal_spec_of(goal)->options, option), HN_ERR_ARGUMENT,
                   "--%s is of %s: the goal is %s", option, goals, c->goal);
        HN_REQUIRE(!optimizers[0] || hn_word_is_in(hn_optimizer_spec_of(optimizer)->options, option),
                   HN_ERR_ARGUMENT, "--%s is of %s: the optimizer is %s", option, optimizers,
                   c->optimizer);
    }
    HN_REQUIRE(!HN_DIFFERS_REAL(c->decay_steps, usual.decay_steps) || !strcmp(c->schedule, "wsd"),
               HN_ERR_ARGUMENT, "--cooldown is of wsd: the schedule is %s", c->schedule);
    HN_REQUIRE(!HN_DIFFERS_REAL(c->least_rate, usual.least_rate) || strcmp(c->schedule, "constant") != 0, HN_ERR_ARGUMENT,
               "--least-rate is of schedules that go down: the schedule is %s", c->schedule);
    HN_REQUIRE(!HN_DIFFERS_TEXT(c->balance_over, usual.balance_over) || c->balance > 0, HN_ERR_ARGUMENT,
               "--balance %s: expected --balance-weight with it", c->balance_over);
    return HN_OK;
}

hn_status hn_train_config_check(const hn_train_config *c)
{
    hn_learner_options o;
    hn_schedule_kind schedule;
    size_t bytes;
    HN_TRY(hn_train_config_learner(c, &o));
    HN_TRY(hn_schedule_parse(c->schedule, &schedule));
    if (c->memory)
        HN_TRY(hn_memory_parse(c->memory, &bytes));
    HN_TRY(at_most("dropout", c->dropout, 0.999));
    HN_TRY(at_most("beta1", c->beta1, 0.999999));
    HN_TRY(at_most("beta2", c->beta2, 0.9999999));
    HN_TRY(at_most("least-rate", c->least_rate, 1));
    HN_TRY(share_or_steps("warmup", c->warmup));
    HN_TRY(share_or_steps("cooldown", c->decay_steps));
    HN_REQUIRE(c->steps > 0 || c->epochs > 0, HN_ERR_ARGUMENT,
               "--epochs 0 without --steps: there is no end");
    HN_TRY(check_meant(c));
    HN_REQUIRE(c->batch > 1 || c->batch_tokens || !hn_goal_spec_of(o.objective.goal)->needs_anchor,
               HN_ERR_ARGUMENT, "--batch 1: expected 2 at least, since --goal %s measures answers from each "
               "other's prompts", c->goal);
    HN_REQUIRE(!c->patience || c->eval_every, HN_ERR_ARGUMENT,
               "--patience %lld: expected --eval-every with it", (long long)c->patience);
    return HN_OK;
}

hn_status hn_train_config_numerics(const hn_train_config *c, hn_numerics *out)
{
    static const char *const words[] = { "f32", "mixed" };
    bool is_mixed;
    HN_TRY(choose("numerics", c->numerics, words, &is_mixed));
    *out = is_mixed ? HN_NUMERICS_MIXED : HN_NUMERICS_F32;
    return HN_OK;
}

hn_status hn_train_config_learner(const hn_train_config *c, hn_learner_options *out)
{
    hn_goal goal;
    hn_optimizer optimizer;
    hn_balance_span span;
    hn_dtype moments;
    hn_numerics numerics;
    *out = (hn_learner_options){ 0 };
    HN_TRY(more_than_nothing("beta", c->beta));
    HN_TRY(more_than_nothing("eps", c->eps));
    HN_TRY(more_than_nothing("desirable-weight", c->desirable));
    HN_TRY(more_than_nothing("undesirable-weight", c->undesirable));
    HN_TRY(hn_goal_parse(c->goal, &goal));
    HN_TRY(hn_optimizer_parse("--optimizer", c->optimizer, &optimizer));
    HN_TRY(hn_moments_parse("--moments", c->moments, &moments));
    HN_TRY(hn_train_config_numerics(c, &numerics));
    HN_TRY(hn_balance_parse(c->balance_over, &span));
    out->objective = (hn_objective_options){
        .goal = goal, .beta = (float)c->beta, .desirable = (float)c->desirable,
        .undesirable = (float)c->undesirable, .kl_weight = (float)c->kl_weight,
        .balance = (float)c->balance, .z = (float)c->z, .balances_batch = span == HN_BALANCE_BATCH,
    };
    out->descent = (hn_descent_options){
        .optimizer = optimizer, .beta1 = (float)c->beta1, .beta2 = (float)c->beta2,
        .eps = (float)c->eps, .momentum = (float)c->momentum, .decay = (float)c->decay,
        .clip_norm = (float)c->clip, .gclip = (float)c->gclip,
        .moments = moments, .seed = (uint32_t)c->seed,
    };
    return hn_plan_mode_parse(c->plan, &out->descent.mode);
}

hn_tune_settings hn_train_config_tuning(const hn_train_config *c)
{
    return (hn_tune_settings){ .how = HN_TUNE_LORA, .rank = c->rank, .alpha = c->alpha,
                               .is_rooted = c->rooted, .dropout = c->dropout };
}

/* Steps, or below 1 a share of all. */
static double part_of(double value, int64_t all)
{
    return value < 1 ? value * (double)all : value;
}

static int64_t whole(double steps)
{
    return (int64_t)floor(steps + 0.5);
}

/* A rate that a run never comes to, or leaves while it still rises, is not the one that was asked for. */
static hn_status check_parts(const hn_train_config *c, double warm, double cool, int64_t steps)
{
    char beside[40] = "";
    if (cool > 0)
        hn_text_print(beside, sizeof beside, " beside --cooldown %g", c->decay_steps);
    HN_REQUIRE(floor(warm + cool + 0.5) <= (double)steps, HN_ERR_ARGUMENT,
               "--warmup %g%s: more than the %lld steps of the run", c->warmup, beside, (long long)steps);
    return HN_OK;
}

hn_status hn_train_config_schedule(const hn_train_config *c, int64_t steps, hn_schedule *out)
{
    hn_schedule_kind kind;
    HN_TRY(hn_schedule_parse(c->schedule, &kind));
    const double warm = part_of(c->warmup, steps);
    const double cool = kind == HN_SCHEDULE_WSD ? part_of(c->decay_steps, steps) : 0;
    HN_TRY(check_parts(c, warm, cool, steps));
    *out = (hn_schedule){ .kind = kind, .rate = c->rate, .least = c->least_rate, .steps = steps,
                          .warm = whole(warm), .decay = whole(cool) };
    return HN_OK;
}
