/* optimizers.def as a table; a state is a leaf that is named after its parameter, as checkpoints find it. */
#include "train/optimizer.h"

#include "base/word_list.h"

#include <stdio.h>
#include <string.h>

static const hn_optimizer_spec specs[] = {
#define HN_OPTIMIZER(name, NAME, takes, beta1, beta2, options, help)                            \
    { #name, takes, beta1, beta2, options, hn_optimizer_##name##_update },
#include "train/optimizers.def"
#undef HN_OPTIMIZER
};

const char hn_optimizers_help[] =
#define HN_OPTIMIZER(name, NAME, takes, beta1, beta2, options, help) ", " help
#include "train/optimizers.def"
#undef HN_OPTIMIZER
    ;

const hn_optimizer_spec *hn_optimizer_spec_of(hn_optimizer optimizer)
{
    return &specs[optimizer];
}

void hn_optimizer_names(const char *option, char *to, size_t room)
{
    const char *names[HN_N_OPTIMIZERS];
    int n = 0;
    for (int i = 0; i < HN_N_OPTIMIZERS; i++)
        if (!option || hn_word_is_in(specs[i].options, option))
            names[n++] = specs[i].name;
    hn_word_list(n, names, "or", to, room);
}

hn_status hn_optimizer_parse(const char *what, const char *name, hn_optimizer *out)
{
    for (int i = 0; i < HN_N_OPTIMIZERS; i++)
        if (!strcmp(name, specs[i].name)) {
            *out = (hn_optimizer)i;
            return HN_OK;
        }
    char names[200];
    hn_optimizer_names(NULL, names, sizeof names);
    return hn_fail(HN_ERR_ARGUMENT, "%s %.40s: expected %s", what, name, names);
}

hn_status hn_moments_parse(const char *what, const char *name, hn_dtype *out)
{
    static const hn_dtype types[] = { HN_F32, HN_BF16 };
    enum { N = sizeof types / sizeof *types };
    const char *names[N];
    for (int i = 0; i < N; i++) {
        names[i] = hn_dtype_name(types[i]);
        *out = types[i];
        if (!strcmp(name, names[i]))
            return HN_OK;
    }
    hn_word_text all;
    return hn_fail(HN_ERR_ARGUMENT, "%s %.40s: expected %s", what, name, hn_words_or(N, names, &all));
}

hn_node *hn_update_state(const hn_update_site *u, const char *what, hn_dtype dtype)
{
    char name[160];
    snprintf(name, sizeof name, "%s.%s", u->w->leaf->name, what);
    hn_node *state = hn_graph_leaf(u->g, HN_LEAF_STATE, name, dtype, u->w->type.rank, u->w->type.dim);
    if (!hn_is_poison(u->g, state))
        state->leaf->beside = u->w->leaf;
    return state;
}
