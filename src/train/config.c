#include "train/config.h"

#include "base/option_value.h"
#include "base/rng.h"
#include "base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void add_lines(const hn_train_config *c, bool all, hn_str *out)
{
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
    if (c->balance > 0 && !strcmp(c->balance_over, "batch")) /* once divided by the experts a token */
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

static hn_status choose(const char *option, const char *value, const char *const *names, int *out)
{
    for (*out = 0; names[*out]; ++*out)
        if (!strcmp(value, names[*out]))
            return HN_OK;
    return hn_fail(HN_ERR_ARGUMENT, "--%s %s: expected %s%s%s%s%s", option, value, names[0],
                   names[2] ? ", " : " or ", names[1], names[2] ? " or " : "",
                   names[2] ? names[2] : "");
}

static hn_status at_most(const char *option, double value, double most)
{
    HN_REQUIRE(value <= most, HN_ERR_ARGUMENT, "--%s %g: expected at most %g", option, value, most);
    return HN_OK;
}

/* An option that changes nothing where it is given was meant for something else. */
static hn_status check_meant(const hn_train_config *c)
{
    const hn_train_config usual = hn_train_config_default();
    const struct {
        const char *option, *of, *what, *is;
        bool is_given;
    } all[] = {
        { "beta", "dpo", "goal", c->goal, HN_DIFFERS_REAL(c->beta, usual.beta) },
        { "kl-weight", "kl", "goal", c->goal, HN_DIFFERS_REAL(c->kl_weight, usual.kl_weight) },
        { "cooldown", "wsd", "schedule", c->schedule, HN_DIFFERS_REAL(c->decay_steps, usual.decay_steps) },
        { "moments", "adamw", "optimizer", c->optimizer, HN_DIFFERS_TEXT(c->moments, usual.moments) },
        { "beta1", "adamw", "optimizer", c->optimizer, HN_DIFFERS_REAL(c->beta1, usual.beta1) },
        { "beta2", "adamw", "optimizer", c->optimizer, HN_DIFFERS_REAL(c->beta2, usual.beta2) },
        { "eps", "adamw", "optimizer", c->optimizer, HN_DIFFERS_REAL(c->eps, usual.eps) },
        { "momentum", "sgd", "optimizer", c->optimizer, HN_DIFFERS_REAL(c->momentum, usual.momentum) },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        HN_REQUIRE(!all[i].is_given || !strcmp(all[i].is, all[i].of), HN_ERR_ARGUMENT,
                   "--%s is of %s: the %s is %s", all[i].option, all[i].of, all[i].what, all[i].is);
    HN_REQUIRE(!HN_DIFFERS_TEXT(c->balance_over, usual.balance_over) || c->balance > 0, HN_ERR_ARGUMENT,
               "--balance %s: expected --balance-weight with it", c->balance_over);
    return HN_OK;
}

hn_status hn_train_config_check(const hn_train_config *c)
{
    hn_learner_options o;
    hn_schedule s;
    size_t bytes;
    HN_TRY(hn_train_config_learner(c, &o));
    HN_TRY(hn_train_config_schedule(c, 1000, &s));
    if (c->memory)
        HN_TRY(hn_memory_parse(c->memory, &bytes));
    HN_TRY(at_most("dropout", c->dropout, 0.999));
    HN_TRY(at_most("beta1", c->beta1, 0.999999));
    HN_TRY(at_most("beta2", c->beta2, 0.9999999));
    HN_TRY(at_most("least-rate", c->least_rate, 1));
    HN_REQUIRE(c->steps > 0 || c->epochs > 0, HN_ERR_ARGUMENT,
               "--epochs 0 without --steps: there is no end");
    HN_TRY(check_meant(c));
    HN_REQUIRE(!c->patience || c->eval_every, HN_ERR_ARGUMENT,
               "--patience %lld: expected --eval-every with it", (long long)c->patience);
    return HN_OK;
}

hn_status hn_train_config_learner(const hn_train_config *c, hn_learner_options *out)
{
    static const char *const goals[] = { "sft", "kl", "dpo", NULL };
    static const char *const optimizers[] = { "adamw", "sgd", NULL };
    static const char *const types[] = { "f32", "bf16", NULL };
    static const char *const spans[] = { "sequence", "batch", NULL };
    static const char *const numerics[] = { "f32", "mixed", NULL };
    int goal, optimizer, moments, over, mixed;
    *out = (hn_learner_options){ 0 };
    HN_TRY(choose("goal", c->goal, goals, &goal));
    HN_TRY(choose("optimizer", c->optimizer, optimizers, &optimizer));
    HN_TRY(choose("moments", c->moments, types, &moments));
    HN_TRY(choose("numerics", c->numerics, numerics, &mixed));
    HN_TRY(choose("balance", c->balance_over, spans, &over));
    out->objective = (hn_objective_options){
        .goal = (hn_goal)goal, .beta = (float)c->beta, .kl_weight = (float)c->kl_weight,
        .balance = (float)c->balance, .z = (float)c->z, .balances_batch = over == 1,
        .numerics = mixed ? HN_NUMERICS_MIXED : HN_NUMERICS_F32,
    };
    out->descent = (hn_descent_options){
        .optimizer = (hn_optimizer)optimizer, .beta1 = (float)c->beta1, .beta2 = (float)c->beta2,
        .eps = (float)c->eps, .momentum = (float)c->momentum, .decay = (float)c->decay,
        .clip_norm = (float)c->clip, .gclip = (float)c->gclip,
        .moments = moments ? HN_BF16 : HN_F32, .seed = (uint32_t)c->seed,
    };
    return hn_plan_mode_parse(c->plan, &out->descent.mode);
}

hn_tune_settings hn_train_config_tuning(const hn_train_config *c)
{
    return (hn_tune_settings){ .how = HN_TUNE_LORA, .rank = c->rank, .alpha = c->alpha,
                               .is_rooted = c->rooted, .dropout = c->dropout };
}

static int64_t steps_of(double value, int64_t all)
{
    return value < 1 ? (int64_t)floor(value * (double)all + 0.5) : (int64_t)value;
}

hn_status hn_train_config_schedule(const hn_train_config *c, int64_t steps, hn_schedule *out)
{
    *out = (hn_schedule){ .rate = c->rate, .least = c->least_rate, .steps = steps,
                          .warm = steps_of(c->warmup, steps),
                          .decay = steps_of(c->decay_steps, steps) };
    return hn_schedule_parse(c->schedule, &out->kind);
}

hn_status hn_memory_parse(const char *text, size_t *out)
{
    double value;
    const char *end = text + hn_number_read(text, strlen(text), &value);
    static const char units[] = "kmgt";
    const char *unit = *end ? strchr(units, *end | 32) : NULL;
    bool is_right = end != text && isfinite(value) && value > 0;
    if (*end) {
        is_right = is_right && unit && (!end[1] || !strcmp(end + 1, "B") || !strcmp(end + 1, "iB"));
        for (const char *u = units; unit && u <= unit; u++)
            value *= 1024;
    }
    HN_REQUIRE(is_right && value < 0x1p60, HN_ERR_ARGUMENT,
               "memory '%s': expected a size as 8G or 512M", text);
    *out = (size_t)value;
    return HN_OK;
}
