/* What was counted of examples, and what was found wrong with them. */
#include "engine/examples.h"

#include <string.h>

/* What is looked for, by hn_examples_finding, and how it is told. */
typedef struct finding {
    const char *name, *about;
    size_t at;
} finding;

#define FINDING(field, about)                                                                                       \
    {                                                                                                               \
        #field, about, offsetof(hn_preflight, field)                                                                \
    }
static const finding findings[] = {
    [HN_EXAMPLES_EMPTY] = FINDING(empty, "without a supervised token"),
    [HN_EXAMPLES_CUT_EMPTY] = FINDING(cut_empty, "of these, cut away by --max-length"),
    [HN_EXAMPLES_CUT] = FINDING(cut, "cut to --max-length"),
    [HN_EXAMPLES_TOO_LONG] = FINDING(too_long, "longer than may be"),
    [HN_EXAMPLES_HOLLOW] = FINDING(hollow, "with a supervised turn that says nothing"),
    [HN_EXAMPLES_UNREAD] = FINDING(unread, "with words that the template does not write"),
    [HN_EXAMPLES_DOUBLE_BOS] = FINDING(double_bos, "with two BOS"),
    [HN_EXAMPLES_LACKS_BOS] = FINDING(lacks_bos, "without BOS"),
    [HN_EXAMPLES_UNENDED] = FINDING(unended, "with a supervised turn that no end token ends"),
    [HN_EXAMPLES_STRADDLING] = FINDING(straddling, "with a token across the border of a supervised turn"),
    [HN_EXAMPLES_REPEATED] = FINDING(repeated, "the same as an earlier one"),
    [HN_EXAMPLES_REPEATED_HELD] = FINDING(repeated_held, "held out, the same as an earlier one"),
    [HN_EXAMPLES_SHARED] = FINDING(shared, "trained and held out as well"),
};
enum { N_FINDINGS = sizeof findings / sizeof *findings };

static uint64_t line_of(const hn_dataset *d, uint64_t example, const char **path)
{
    const hn_dataset_file *file = hn_dataset_file_of(d, example);
    *path = file->source.path;
    return hn_data_source_line(&file->source, (size_t)(example - file->first));
}

static hn_examples_found look_up(const hn_examples *e, const finding *f)
{
    const hn_preflight *r = &e->in.preflight;
    const hn_preflight_count *c = (const hn_preflight_count *)(const void *)((const char *)r + f->at);
    hn_examples_found found = { .name = f->name, .about = f->about, .n = c->n, .what = "" };
    if (!c->n)
        return found;
    found.line = line_of(e->in.data.dataset, c->first, &found.path);
    if (c == &r->shared)
        found.held_line = line_of(e->in.data.dataset, r->shared_held, &found.held_path);
    if (c == &r->unread)
        found.what = r->unread_what;
    return found;
}

_Static_assert((int)HN_EXAMPLES_BINS == (int)HN_PREFLIGHT_BINS, "one for each");

void hn_examples_take_counts(hn_examples *e)
{
    const hn_preflight *r = &e->in.preflight;
    e->sum = (hn_examples_sum){ .n_trained = r->n_examples, .n_held = r->n_held, .n_dropped = r->n_dropped,
                                .n_sequences = r->n_sequences, .n_tokens = r->n_tokens,
                                .n_supervised = r->n_supervised, .n_held_tokens = r->n_held_tokens,
                                .longest = r->longest };
    memcpy(e->sum.bins, r->histogram, sizeof e->sum.bins);
    for (int i = 0; i < N_FINDINGS; i++)
        e->found[i] = look_up(e, &findings[i]);
    e->is_counted = true;
}

const hn_examples_sum *hn_examples_get_sum(const hn_examples *e)
{
    HN_ENTER();
    return e && e->is_counted ? &e->sum : NULL;
}

const hn_examples_found *hn_examples_get_found(const hn_examples *e, hn_examples_finding which)
{
    HN_ENTER();
    return e && e->is_counted && (unsigned)which < N_FINDINGS ? &e->found[which] : NULL;
}
