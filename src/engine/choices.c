/* Choices of include/hone that are texts in a struct, by number: each stands beside what it is inside, where its word stands
 * and is read. A value that the header or the inside has more than the other is not compiled. */
#include "engine/engine.h"

#include "data/example.h"
#include "data/file_kind.h"
#include "engine/plan_look.h"
#include "hone/chat.h"
#include "hone/prove.h"
#include "infer/reader.h"
#include "infer/sequences.h"
#include "models/sentence.h"
#include "prove/report.h"
#include "train/config.h"
#include "train/optimizer.h"

#include <string.h>

/* `known` takes one that is in the list: the switch has to have every value of the header, and each once. */
#define INNER(outer, inner) [outer] = (int)(inner),
#define CASE(outer, inner)  case outer:
#define CHOICE(kind, LIST, count)                                                                                          \
    static const int kind##_inner[] = { LIST(INNER) };                                                                     \
    _Static_assert(sizeof kind##_inner / sizeof(int) == (count), #kind " has fewer values than there are inside, or more"); \
    static bool kind##_known(kind value)                                                                                   \
    {                                                                                                                      \
        switch (value) {                                                                                                   \
            LIST(CASE) return true;                                                                                        \
        }                                                                                                                  \
        return false;                                                                                                      \
    }

#define KINDS(X)                                                                                                           \
    X(HN_BUILDER_INPUT, HN_LEAF_INPUT) X(HN_BUILDER_STEP, HN_LEAF_STEP) X(HN_BUILDER_WEIGHT, HN_LEAF_WEIGHT)               \
    X(HN_BUILDER_STATE, HN_LEAF_STATE)
#define PLANS(X)                                                                                                           \
    X(HN_EXEC_INPLACE, HN_PLAN_INPLACE) X(HN_EXEC_SEPARATE, HN_PLAN_SEPARATE) X(HN_EXEC_REUSE, HN_PLAN_REUSE)              \
    X(HN_EXEC_POISON, HN_PLAN_POISON)
#define MOMENTS(X) X(HN_TRAINER_F32, HN_F32) X(HN_TRAINER_BF16, HN_BF16)
#define CACHES(X)                                                                                                          \
    X(HN_LM_CACHE_F32, HN_F32) X(HN_LM_CACHE_F16, HN_F16) X(HN_LM_CACHE_BF16, HN_BF16) X(HN_LM_CACHE_Q8_0, HN_TYPE_q8_0)   \
    X(HN_LM_CACHE_Q4_0, HN_TYPE_q4_0)
#define POOLINGS(X)                                                                                                        \
    X(HN_LM_POOLING_CLS, HN_POOL_CLS) X(HN_LM_POOLING_MAX, HN_POOL_MAX) X(HN_LM_POOLING_MEAN, HN_POOL_MEAN)                \
    X(HN_LM_POOLING_MEAN_SQRT, HN_POOL_MEAN_SQRT) X(HN_LM_POOLING_WEIGHTED_MEAN, HN_POOL_WEIGHTED_MEAN)                    \
    X(HN_LM_POOLING_LAST, HN_POOL_LAST)
#define PLANNED(X)                                                                                                         \
    X(HN_LM_PLAN_TOKEN, HN_PLAN_OF_TOKEN) X(HN_LM_PLAN_PROMPT, HN_PLAN_OF_PROMPT)                                          \
    X(HN_LM_PLAN_TRAINING, HN_PLAN_OF_TRAINING) X(HN_LM_PLAN_TEXT, HN_PLAN_OF_TEXT)
#define LOSSES(X)                                                                                                          \
    X(HN_FINETUNE_ASSISTANT, HN_LOSS_ASSISTANT) X(HN_FINETUNE_LAST, HN_LOSS_LAST) X(HN_FINETUNE_ALL, HN_LOSS_ALL)          \
    X(HN_FINETUNE_WEIGHTS, HN_LOSS_WEIGHTS)
#define CUTS(X)                                                                                                            \
    X(HN_FINETUNE_ERROR, HN_CUT_ERROR) X(HN_FINETUNE_KEEP_START, HN_CUT_KEEP_START)                                        \
    X(HN_FINETUNE_KEEP_END, HN_CUT_KEEP_END) X(HN_FINETUNE_ALLOW, HN_CUT_ALLOW)
#define FORMATS(X)                                                                                                         \
    X(HN_EXAMPLES_FORMAT_MESSAGES, HN_DATA_MESSAGES) X(HN_EXAMPLES_FORMAT_PROMPT_COMPLETION, HN_DATA_PROMPT)               \
    X(HN_EXAMPLES_FORMAT_UNPAIRED_PREFERENCE, HN_DATA_LABELLED) X(HN_EXAMPLES_FORMAT_ALPACA, HN_DATA_ALPACA)               \
    X(HN_EXAMPLES_FORMAT_SHAREGPT, HN_DATA_SHAREGPT) X(HN_EXAMPLES_FORMAT_TEXT, HN_DATA_TEXT)                              \
    X(HN_EXAMPLES_FORMAT_PREFERENCE, HN_DATA_PREFERENCE) X(HN_EXAMPLES_FORMAT_PREFERRED_OUTPUT, HN_DATA_PREFERRED)         \
    X(HN_EXAMPLES_FORMAT_TOKENS, HN_DATA_TOKENS)
#define FORMS(X)                                                                                                           \
    X(HN_LM_CALLS_JSON, HN_CALLS_JSON) X(HN_LM_CALLS_KEYED, HN_CALLS_KEYED) X(HN_LM_CALLS_NAMED, HN_CALLS_NAMED)           \
    X(HN_LM_CALLS_XML, HN_CALLS_XML) X(HN_LM_CALLS_PAIRS, HN_CALLS_PAIRS) X(HN_LM_CALLS_PYTHON, HN_CALLS_PYTHON)           \
    X(HN_LM_CALLS_HARMONY, HN_CALLS_HARMONY)
#define SCHEDULES(X)                                                                                                       \
    X(HN_FINETUNE_CONSTANT, HN_SCHEDULE_CONSTANT) X(HN_FINETUNE_LINEAR, HN_SCHEDULE_LINEAR)                                \
    X(HN_FINETUNE_COSINE, HN_SCHEDULE_COSINE) X(HN_FINETUNE_WSD, HN_SCHEDULE_WSD)
#define BALANCES(X) X(HN_FINETUNE_SEQUENCE, HN_BALANCE_SEQUENCE) X(HN_FINETUNE_BATCH, HN_BALANCE_BATCH)

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"
#pragma GCC diagnostic error "-Woverride-init"
CHOICE(hn_builder_kind, KINDS, 4)
CHOICE(hn_exec_plan, PLANS, HN_N_PLAN_MODES)
CHOICE(hn_trainer_moments, MOMENTS, 2)
CHOICE(hn_lm_cache, CACHES, HN_CACHE_TYPES)
CHOICE(hn_lm_pooling, POOLINGS, HN_N_POOL_KINDS - 1) /* HN_POOL_NONE is no choice */
CHOICE(hn_lm_plan_kind, PLANNED, HN_N_PLAN_KINDS)
CHOICE(hn_finetune_loss, LOSSES, HN_N_LOSS_ON)
CHOICE(hn_finetune_too_long, CUTS, HN_N_CUTS)
CHOICE(hn_examples_format, FORMATS, HN_N_DATA_FORMATS)
CHOICE(hn_lm_call_form, FORMS, HN_N_CALL_FORMS)
CHOICE(hn_finetune_schedule, SCHEDULES, HN_N_SCHEDULES)
CHOICE(hn_finetune_balance, BALANCES, HN_N_BALANCE_SPANS)

/* Of types.def, whose lines are the list; tools/enums.sh writes them into the header. */
static const int hn_element_inner[] = {
#define HN_SCALAR(upper, name, gguf, id, safetensors, bytes, kind, kernels, panel) INNER(HN_ELEMENT_##name, HN_##upper)
#define HN_FORMAT(name, gguf, id, elements, bytes, kernels, sums, offset, most, panel) INNER(HN_ELEMENT_##name, HN_TYPE_##name)
#include "quant/types.def"
};
_Static_assert(sizeof hn_element_inner / sizeof(int) == HN_N_DTYPES, "hn_element has numbers that no type of types.def has");
static bool hn_element_known(hn_element value)
{
    switch (value) {
#define HN_SCALAR(upper, name, gguf, id, safetensors, bytes, kind, kernels, panel) CASE(HN_ELEMENT_##name, )
#define HN_FORMAT(name, gguf, id, elements, bytes, kernels, sums, offset, most, panel) CASE(HN_ELEMENT_##name, )
#include "quant/types.def"
        return true;
    }
    return false;
}

/* Of optimizers.def, likewise. */
static const int hn_trainer_optimizer_inner[] = {
#define HN_OPTIMIZER(name, NAME, ...) INNER(HN_TRAINER_##NAME, HN_##NAME)
#include "train/optimizers.def"
#undef HN_OPTIMIZER
};
_Static_assert(sizeof hn_trainer_optimizer_inner / sizeof(int) == HN_N_OPTIMIZERS, "hn_trainer_optimizer skips a number");
static bool hn_trainer_optimizer_known(hn_trainer_optimizer value)
{
    switch (value) {
#define HN_OPTIMIZER(name, NAME, ...) CASE(HN_TRAINER_##NAME, )
#include "train/optimizers.def"
#undef HN_OPTIMIZER
        return true;
    }
    return false;
}

/* Of check_kinds.def, likewise. */
static const int hn_prove_kind_inner[] = {
#define HN_CHECK_KIND(NAME, word) INNER(HN_PROVE_##NAME, HN_CHECK_##NAME)
#include "prove/check_kinds.def"
#undef HN_CHECK_KIND
};
_Static_assert(sizeof hn_prove_kind_inner / sizeof(int) == HN_N_CHECK_KINDS, "hn_prove_kind skips a number");
static bool hn_prove_kind_known(hn_prove_kind value)
{
    switch (value) {
#define HN_CHECK_KIND(NAME, word) CASE(HN_PROVE_##NAME, )
#include "prove/check_kinds.def"
#undef HN_CHECK_KIND
        return true;
    }
    return false;
}
#pragma GCC diagnostic pop

/* The number of what was found inside. */
static int outer_of(const int *inner, size_t n, int found)
{
    size_t i = 0;
    while (i < n - 1 && inner[i] != found)
        i++;
    return (int)i;
}
#define OUTER(kind, found) (kind) outer_of(kind##_inner, sizeof kind##_inner / sizeof(int), (int)(found))
#define WANTS(kind)        HN_REQUIRE(out, HN_ERR_ARGUMENT, #kind "_named: out is NULL")

static hn_status wants_word(const char *what, const char *word)
{
    HN_REQUIRE(word, HN_ERR_ARGUMENT, "%s: expected a word, found NULL", what);
    return HN_OK;
}

/* ---- tensors and graphs ---- */

hn_status hn_element_named(const char *word, hn_element *out)
{
    HN_ENTER();
    hn_dtype found;
    WANTS(hn_element);
    HN_TRY(wants_word("hn_element_named", word));
    HN_TRY(hn_dtype_parse(word, strlen(word), &found));
    *out = OUTER(hn_element, found);
    return HN_OK;
}

const char *hn_element_name(hn_element element)
{
    HN_ENTER();
    return hn_element_known(element) ? hn_dtype_name((hn_dtype)hn_element_inner[element]) : "";
}

hn_status hn_builder_kind_named(const char *word, hn_builder_kind *out)
{
    HN_ENTER();
    hn_leaf_kind found;
    WANTS(hn_builder_kind);
    HN_TRY(hn_leaf_kind_parse(word, &found));
    *out = OUTER(hn_builder_kind, found);
    return HN_OK;
}

const char *hn_builder_kind_name(hn_builder_kind kind)
{
    HN_ENTER();
    return hn_builder_kind_known(kind) ? hn_leaf_kind_name((hn_leaf_kind)hn_builder_kind_inner[kind]) : "";
}

hn_status hn_exec_plan_named(const char *word, hn_exec_plan *out)
{
    HN_ENTER();
    hn_plan_mode found = HN_PLAN_INPLACE;
    WANTS(hn_exec_plan);
    if (word)
        HN_TRY(hn_plan_mode_parse(word, &found));
    *out = OUTER(hn_exec_plan, found);
    return HN_OK;
}

const char *hn_exec_plan_name(hn_exec_plan plan)
{
    HN_ENTER();
    return hn_exec_plan_known(plan) ? hn_plan_mode_name((hn_plan_mode)hn_exec_plan_inner[plan]) : "";
}

hn_status hn_trainer_optimizer_named(const char *word, hn_trainer_optimizer *out)
{
    HN_ENTER();
    hn_optimizer found = HN_ADAMW;
    WANTS(hn_trainer_optimizer);
    if (word)
        HN_TRY(hn_optimizer_parse("optimizer", word, &found));
    *out = OUTER(hn_trainer_optimizer, found);
    return HN_OK;
}

const char *hn_trainer_optimizer_name(hn_trainer_optimizer optimizer)
{
    HN_ENTER();
    return hn_trainer_optimizer_known(optimizer)
               ? hn_optimizer_spec_of((hn_optimizer)hn_trainer_optimizer_inner[optimizer])->name
               : "";
}

hn_status hn_trainer_moments_named(const char *word, hn_trainer_moments *out)
{
    HN_ENTER();
    hn_dtype found = HN_F32;
    WANTS(hn_trainer_moments);
    if (word)
        HN_TRY(hn_moments_parse("moments", word, &found));
    *out = OUTER(hn_trainer_moments, found);
    return HN_OK;
}

const char *hn_trainer_moments_name(hn_trainer_moments moments)
{
    HN_ENTER();
    return hn_trainer_moments_known(moments) ? hn_dtype_name((hn_dtype)hn_trainer_moments_inner[moments]) : "";
}

/* ---- models ---- */

hn_status hn_lm_cache_named(const char *word, hn_lm_cache *out)
{
    HN_ENTER();
    hn_dtype found;
    WANTS(hn_lm_cache);
    HN_TRY(hn_session_cache_parse(word, &found));
    *out = OUTER(hn_lm_cache, found);
    return HN_OK;
}

const char *hn_lm_cache_name(hn_lm_cache cache)
{
    HN_ENTER();
    return hn_lm_cache_known(cache) ? hn_dtype_name((hn_dtype)hn_lm_cache_inner[cache]) : "";
}

hn_status hn_lm_pooling_named(const char *word, hn_lm_pooling *out)
{
    HN_ENTER();
    hn_pool_kind found;
    WANTS(hn_lm_pooling);
    HN_TRY(wants_word("hn_lm_pooling_named", word));
    HN_TRY(hn_pool_kind_named(word, &found));
    *out = OUTER(hn_lm_pooling, found);
    return HN_OK;
}

const char *hn_lm_pooling_name(hn_lm_pooling pooling)
{
    HN_ENTER();
    return hn_lm_pooling_known(pooling) ? hn_pool_kind_name((hn_pool_kind)hn_lm_pooling_inner[pooling]) : "";
}

hn_status hn_lm_plan_kind_named(const char *word, hn_lm_plan_kind *out)
{
    HN_ENTER();
    hn_plan_kind found;
    WANTS(hn_lm_plan_kind);
    HN_TRY(wants_word("hn_lm_plan_kind_named", word));
    HN_TRY(hn_plan_kind_parse(word, &found));
    *out = OUTER(hn_lm_plan_kind, found);
    return HN_OK;
}

const char *hn_lm_plan_kind_name(hn_lm_plan_kind kind)
{
    HN_ENTER();
    return hn_lm_plan_kind_known(kind) ? hn_plan_kind_name((hn_plan_kind)hn_lm_plan_kind_inner[kind]) : "";
}

hn_status hn_lm_call_form_named(const char *word, hn_lm_call_form *out)
{
    HN_ENTER();
    hn_call_form found;
    WANTS(hn_lm_call_form);
    HN_TRY(wants_word("hn_lm_call_form_named", word));
    HN_TRY(hn_call_form_parse(word, &found));
    *out = OUTER(hn_lm_call_form, found);
    return HN_OK;
}

const char *hn_lm_call_form_name(hn_lm_call_form form)
{
    HN_ENTER();
    return hn_lm_call_form_known(form) ? hn_call_form_name((hn_call_form)hn_lm_call_form_inner[form]) : "";
}

/* ---- training ---- */

hn_status hn_finetune_loss_named(const char *word, hn_finetune_loss *out)
{
    HN_ENTER();
    hn_loss_on found = HN_LOSS_ASSISTANT;
    WANTS(hn_finetune_loss);
    if (word)
        HN_TRY(hn_loss_on_parse(word, &found));
    *out = OUTER(hn_finetune_loss, found);
    return HN_OK;
}

const char *hn_finetune_loss_name(hn_finetune_loss loss)
{
    HN_ENTER();
    return hn_finetune_loss_known(loss) ? hn_loss_on_name((hn_loss_on)hn_finetune_loss_inner[loss]) : "";
}

hn_status hn_finetune_too_long_named(const char *word, hn_finetune_too_long *out)
{
    HN_ENTER();
    hn_cut found = HN_CUT_ERROR;
    WANTS(hn_finetune_too_long);
    if (word)
        HN_TRY(hn_cut_parse(word, &found));
    *out = OUTER(hn_finetune_too_long, found);
    return HN_OK;
}

const char *hn_finetune_too_long_name(hn_finetune_too_long too_long)
{
    HN_ENTER();
    return hn_finetune_too_long_known(too_long) ? hn_cut_name((hn_cut)hn_finetune_too_long_inner[too_long]) : "";
}

hn_status hn_finetune_schedule_named(const char *word, hn_finetune_schedule *out)
{
    HN_ENTER();
    hn_schedule_kind found;
    WANTS(hn_finetune_schedule);
    HN_TRY(wants_word("hn_finetune_schedule_named", word));
    HN_TRY(hn_schedule_parse(word, &found));
    *out = OUTER(hn_finetune_schedule, found);
    return HN_OK;
}

const char *hn_finetune_schedule_name(hn_finetune_schedule schedule)
{
    HN_ENTER();
    return hn_finetune_schedule_known(schedule) ? hn_schedule_name((hn_schedule_kind)hn_finetune_schedule_inner[schedule]) : "";
}

hn_status hn_finetune_balance_named(const char *word, hn_finetune_balance *out)
{
    HN_ENTER();
    hn_balance_span found = HN_BALANCE_SEQUENCE;
    WANTS(hn_finetune_balance);
    if (word)
        HN_TRY(hn_balance_parse(word, &found));
    *out = OUTER(hn_finetune_balance, found);
    return HN_OK;
}

const char *hn_finetune_balance_name(hn_finetune_balance balance)
{
    HN_ENTER();
    return hn_finetune_balance_known(balance) ? hn_balance_name((hn_balance_span)hn_finetune_balance_inner[balance]) : "";
}

/* ---- examples and proofs ---- */

hn_status hn_examples_format_named(const char *word, hn_examples_format *out)
{
    HN_ENTER();
    hn_data_format found;
    WANTS(hn_examples_format);
    HN_TRY(wants_word("hn_examples_format_named", word));
    HN_TRY(hn_data_format_parse(word, &found));
    *out = OUTER(hn_examples_format, found);
    return HN_OK;
}

const char *hn_examples_format_name(hn_examples_format format)
{
    HN_ENTER();
    return hn_examples_format_known(format) ? hn_data_format_name((hn_data_format)hn_examples_format_inner[format]) : "";
}

const char *hn_examples_file_kind(int32_t i)
{
    HN_ENTER();
    for (int k = 0; k < HN_N_FILE_KINDS && i >= 0; k++)
        if (hn_file_kind_is_read((hn_file_kind)k) && i-- == 0)
            return hn_file_kind_name((hn_file_kind)k);
    return NULL;
}

hn_status hn_prove_kind_named(const char *word, hn_prove_kind *out)
{
    HN_ENTER();
    hn_check_kind found;
    WANTS(hn_prove_kind);
    HN_TRY(wants_word("hn_prove_kind_named", word));
    HN_TRY(hn_check_kind_parse(word, &found));
    *out = OUTER(hn_prove_kind, found);
    return HN_OK;
}

const char *hn_prove_kind_name(hn_prove_kind kind)
{
    HN_ENTER();
    return hn_prove_kind_known(kind) ? hn_check_kind_name((hn_check_kind)hn_prove_kind_inner[kind]) : "";
}
