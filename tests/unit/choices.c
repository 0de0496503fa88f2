/* Choices by number: of every kind, each number has one word, which is read as that number and is one that the option takes;
 * what is no number has no word, and what is no word is refused with a list of all. NULL is the default where there is one.
 * How many there are is asked here, and stands nowhere: engine/choices.c is not compiled where header and inside differ. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { FAR = 1000 };

/* A kind of choice, as functions of plain numbers. */
typedef struct kind {
    const char *name;
    hn_status (*named)(const char *word, int *out);
    const char *(*word)(int number);
    const char *otherwise; /* of NULL; or NULL: NULL is refused */
    bool is_listed;        /* by the sentence that refuses another word */
} kind;

#define FUNCTIONS(kind)                                                                                                    \
    static hn_status kind##_of(const char *word, int *out)                                                                 \
    {                                                                                                                      \
        kind found = (kind)FAR;                                                                                            \
        const hn_status status = kind##_named(word, &found);                                                               \
        *out = (int)found;                                                                                                 \
        return status;                                                                                                     \
    }                                                                                                                      \
    static const char *kind##_word(int number) { return kind##_name((kind)number); }

FUNCTIONS(hn_element)
FUNCTIONS(hn_builder_kind)
FUNCTIONS(hn_exec_plan)
FUNCTIONS(hn_trainer_optimizer)
FUNCTIONS(hn_trainer_moments)
FUNCTIONS(hn_lm_numerics)
FUNCTIONS(hn_lm_cache)
FUNCTIONS(hn_lm_pooling)
FUNCTIONS(hn_lm_plan_kind)
FUNCTIONS(hn_finetune_loss)
FUNCTIONS(hn_finetune_too_long)
FUNCTIONS(hn_finetune_schedule)
FUNCTIONS(hn_finetune_balance)
FUNCTIONS(hn_lm_call_form)
FUNCTIONS(hn_examples_format)
FUNCTIONS(hn_prove_kind)

#define KIND(kind, otherwise, is_listed) { #kind, kind##_of, kind##_word, otherwise, is_listed }
static const kind kinds[] = {
    KIND(hn_element, NULL, false), /* too many for a sentence */
    KIND(hn_builder_kind, NULL, true),
    KIND(hn_exec_plan, "inplace", true),
    KIND(hn_trainer_optimizer, "adamw", true),
    KIND(hn_trainer_moments, "f32", true),
    KIND(hn_lm_numerics, "f32", true),
    KIND(hn_lm_cache, "f32", true),
    KIND(hn_lm_pooling, NULL, true),
    KIND(hn_lm_plan_kind, NULL, true),
    KIND(hn_finetune_loss, "assistant", true),
    KIND(hn_finetune_too_long, "error", true),
    KIND(hn_finetune_schedule, NULL, true),
    KIND(hn_finetune_balance, "sequence", true),
    KIND(hn_lm_call_form, NULL, true),
    KIND(hn_examples_format, NULL, true),
    KIND(hn_prove_kind, NULL, true),
};

/* Of a word that is none: it is named, and so is every word there is. */
static void check_refusal(const kind *k, int n)
{
    int number = 0;
    CHECK_FAILS(k->named("so-so", &number), HN_ERR_ARGUMENT, "so-so");
    for (int i = 0; i < n && k->is_listed; i++)
        CHECK_FAILS(k->named("so-so", &number), HN_ERR_ARGUMENT, k->word(i));
    CHECK_INT(FAR, number); /* as it was */
}

static void check_kind(const kind *k)
{
    int number, n = 0;
    check_group(k->name);
    for (; n < FAR && k->word(n)[0]; n++) {
        const int i = n;
        const char *word = k->word(i);
        CHECK_OK(k->named(word, &number));
        CHECK_INT(i, number);
        for (int other = 0; other < i; other++)
            CHECK_THAT(strcmp(word, k->word(other)) != 0, "numbers %d and %d are both %s", other, i, word);
    }
    CHECK(n > 1);
    CHECK_TEXT("", k->word(n + 1));
    CHECK_TEXT("", k->word(-1));
    CHECK_TEXT("", k->word(FAR));
    check_refusal(k, n);
    if (k->otherwise) {
        CHECK_OK(k->named(NULL, &number));
        CHECK_TEXT(k->otherwise, k->word(number));
        CHECK_INT(0, number); /* zero is default */
    } else {
        CHECK(k->named(NULL, &number) == HN_ERR_ARGUMENT);
    }
}

/* Each name of the header has the word that it says, whatever the order of the inside. */
static void check_words(void)
{
    check_group("words");
#define HN_SCALAR(upper, name, ...) CHECK_TEXT(#name, hn_element_name(HN_ELEMENT_##name));
#define HN_FORMAT(name, ...)        CHECK_TEXT(#name, hn_element_name(HN_ELEMENT_##name));
#include "quant/types.def"
#define HN_OPTIMIZER(name, NAME, ...) CHECK_TEXT(#name, hn_trainer_optimizer_name(HN_TRAINER_##NAME));
#include "train/optimizers.def"
#undef HN_OPTIMIZER
#define HN_CHECK_KIND(NAME, word) CHECK_TEXT(word, hn_prove_kind_name(HN_PROVE_##NAME));
#include "prove/check_kinds.def"
#undef HN_CHECK_KIND
    CHECK_TEXT("weight", hn_builder_kind_name(HN_BUILDER_WEIGHT));
    CHECK_TEXT("separate", hn_exec_plan_name(HN_EXEC_SEPARATE));
    CHECK_TEXT("bf16", hn_trainer_moments_name(HN_TRAINER_BF16));
    CHECK_TEXT("q8_0", hn_lm_cache_name(HN_LM_CACHE_Q8_0));
    CHECK_TEXT("lasttoken", hn_lm_pooling_name(HN_LM_POOLING_LAST));
    CHECK_TEXT("training", hn_lm_plan_kind_name(HN_LM_PLAN_TRAINING));
    CHECK_TEXT("weights", hn_finetune_loss_name(HN_FINETUNE_WEIGHTS));
    CHECK_TEXT("keep-end", hn_finetune_too_long_name(HN_FINETUNE_KEEP_END));
    CHECK_TEXT("linear", hn_finetune_schedule_name(HN_FINETUNE_LINEAR));
    CHECK_TEXT("batch", hn_finetune_balance_name(HN_FINETUNE_BATCH));
    CHECK_TEXT("pairs", hn_lm_call_form_name(HN_LM_CALLS_PAIRS));
    CHECK_TEXT("sharegpt", hn_examples_format_name(HN_EXAMPLES_FORMAT_SHAREGPT));
    CHECK_TEXT("preferred-output", hn_examples_format_name(HN_EXAMPLES_FORMAT_PREFERRED_OUTPUT));
    for (int32_t i = 0; hn_tensor_type(i); i++) {
        hn_element element;
        CHECK_OK(hn_element_named(hn_tensor_type(i), &element)); /* all that there are */
    }
    CHECK_FAILS(hn_lm_cache_named("f32", NULL), HN_ERR_ARGUMENT, "hn_lm_cache_named: out is NULL");
}

/* What grows by a line of a table has no numbers: each of a list is another word, and one that is taken. */
static void check_list(const char *what, const char *(*at)(int32_t i), const char *first, hn_status (*take)(const char *word))
{
    int32_t n = 0;
    check_group(what);
    CHECK_TEXT(first, at(0));
    for (; n < FAR && at(n); n++) {
        CHECK_OK(take(at(n)));
        for (int32_t other = 0; other < n; other++)
            CHECK_THAT(strcmp(at(n), at(other)) != 0, "%d and %d are both %s", (int)other, (int)n, at(n));
    }
    CHECK(n > 1 && !at(n) && !at(n + 1) && !at(-1));
    CHECK(take("so-so") == HN_ERR_ARGUMENT);
}

static hn_engine *here;
static hn_lm *words;

static hn_status take_recipe(const char *word)
{
    const char *type;
    hn_element element;
    const hn_status status = hn_lm_recipe_type(word, &type);
    return status == HN_OK ? hn_element_named(type, &element) : status;
}

static hn_status take_family(const char *word)
{
    hn_lm_call_style style = { 0 };
    hn_lm_call_form form;
    const hn_status status = hn_lm_call_style_of(words, word, &style, sizeof style);
    if (status == HN_OK)
        CHECK_TEXT(word, style.family);
    return status == HN_OK ? hn_lm_call_form_named(style.form, &form) : status;
}

/* Of a file that is not there: the word is read first. */
static hn_status take_file_kind(const char *word)
{
    char setting[64];
    snprintf(setting, sizeof setting, "format=%s", word);
    const char *const settings[] = { setting, "plain" }, *const files[] = { "no/such/file" };
    const hn_examples_spec spec = { .size = sizeof spec, .model = hn_lm_builtin(), .data = files, .n_data = 1,
                                    .settings = settings, .n_settings = 2 };
    hn_examples *examples;
    const hn_status status = hn_examples_open(&examples, here, &spec);
    if (status == HN_OK)
        hn_examples_close(examples);
    return status == HN_ERR_IO ? HN_OK : status;
}

static bool is_listed(const char *(*at)(int32_t i), const char *word)
{
    bool is = false;
    for (int32_t i = 0; at(i); i++)
        is = is || !strcmp(at(i), word);
    return is;
}

static void check_lists(void)
{
    if (!CHECK_OK(hn_engine_new(&here, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 1 })))
        return;
    check_list("recipes", hn_lm_recipe, "f32", take_recipe);
    check_list("kinds of files", hn_examples_file_kind, "json", take_file_kind);
    if (CHECK_OK(hn_lm_open_words(&words, here, hn_lm_builtin(), NULL))) {
        check_list("families of calls", hn_lm_call_family, "harmony", take_family);
        hn_lm_close(words);
    }
    hn_engine_free(here);
    CHECK(is_listed(hn_lm_recipe, "q4_k_m") && !is_listed(hn_lm_recipe, "q4_k"));  /* the same mix by another name */
    CHECK(!is_listed(hn_examples_file_kind, "parquet"));                           /* known, and refused */
}

/* What a struct takes as a text takes the word of a number. */
static void check_taken(void)
{
    hn_engine *engine;
    hn_builder *b;
    hn_lm *lm;
    check_group("taken");
    if (!CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 1 })))
        return;
    for (hn_exec_plan plan = HN_EXEC_INPLACE; plan <= HN_EXEC_POISON; plan++) {
        hn_exec *x;
        CHECK_OK(hn_builder_new(&b, engine));
        hn_node *a = hn_builder_leaf(b, hn_builder_kind_name(HN_BUILDER_INPUT), "a", hn_element_name(HN_ELEMENT_f32), 1, (int64_t[]){ 3 });
        hn_node *y = hn_builder_op(b, "neg", NULL, 1, &a);
        if (CHECK_OK(hn_exec_new(&x, b, 1, &y, hn_exec_plan_name(plan))))
            hn_exec_free(x);
        hn_builder_free(b);
    }
    if (CHECK_OK(hn_lm_open(&lm, engine, hn_lm_builtin(), NULL))) {
        for (hn_lm_cache cache = HN_LM_CACHE_F32; cache <= HN_LM_CACHE_Q4_0; cache++) {
            const hn_lm_session_options o = { .size = sizeof o, .context = 16, .cache = hn_lm_cache_name(cache) };
            hn_lm_sizes sizes;
            CHECK_OK(hn_lm_measure(lm, &o, &sizes, sizeof sizes));
        }
        hn_lm_close(lm);
    }
    hn_engine_free(engine);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check_kind(&kinds[i]);
    check_words();
    check_lists();
    check_taken();
    return check_close();
}
