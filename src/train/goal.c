/* goals.def as a table, with each goal's two functions. The loss of a model that tells no token from another,
 * which several of them share, is the logarithm of the vocabulary. */
#include "train/goal.h"

#include "base/mathfn.h"
#include "base/word_list.h"
#include "data/dataset.h"

#include <string.h>

static const hn_goal_spec specs[] = {
#define HN_GOAL(name, NAME, examples, base, logits, anchor, counts, options, help)                      \
    { #name, examples, base, logits, anchor, counts, options, hn_goal_##name##_loss, hn_goal_##name##_blind },
#include "train/goals.def"
#undef HN_GOAL
};

const char hn_goals_help[] =
#define HN_GOAL(name, NAME, examples, base, logits, anchor, counts, options, help) "; " help
#include "train/goals.def"
#undef HN_GOAL
    ;

const hn_goal_spec *hn_goal_spec_of(hn_goal goal)
{
    return &specs[goal];
}

/* Those that take such examples (below 0: all) and read this option (NULL: whatever they read). */
void hn_goal_names(int examples, const char *option, char *to, size_t room)
{
    const char *names[HN_N_GOALS];
    int n = 0;
    for (int i = 0; i < HN_N_GOALS; i++)
        if ((examples < 0 || examples == (int)specs[i].examples) &&
            (!option || hn_word_is_in(specs[i].options, option)))
            names[n++] = specs[i].name;
    hn_word_list(n, names, "or", to, room);
}

hn_status hn_goal_parse(const char *name, hn_goal *out)
{
    for (int i = 0; i < HN_N_GOALS; i++)
        if (!strcmp(name, specs[i].name)) {
            *out = (hn_goal)i;
            return HN_OK;
        }
    char names[200];
    hn_goal_names(-1, NULL, names, sizeof names);
    return hn_fail(HN_ERR_ARGUMENT, "--goal %s: expected %s", name, names);
}

hn_goal_examples hn_goal_examples_of(const hn_dataset *d)
{
    return d->has_pairs ? HN_PAIRS : d->has_labels ? HN_LABELLED : HN_SINGLES;
}

hn_status hn_goal_check_data(hn_goal goal, const hn_dataset *dataset)
{
    static const char *const what[] = { "single examples", "pairs", "labelled examples" };
    const hn_goal_examples has = hn_goal_examples_of(dataset);
    char names[200];
    hn_goal_names((int)has, NULL, names, sizeof names);
    HN_REQUIRE(has == specs[goal].examples, HN_ERR_ARGUMENT, "--goal %s: the data has %s, which are for %s",
               specs[goal].name, what[has], names);
    return HN_OK;
}

hn_goal hn_goal_for(const hn_dataset *dataset)
{
    int i = 0;
    while (i < HN_N_GOALS - 1 && specs[i].examples != hn_goal_examples_of(dataset))
        i++;
    return (hn_goal)i;
}

hn_goal_blind hn_goal_blind_to_tokens(double n_vocab, const struct hn_objective_options *with)
{
    (void)with;
    return (hn_goal_blind){ hn_math_log(n_vocab), "ln(vocabulary)",
                            "taking every token for equally likely would be better" };
}
