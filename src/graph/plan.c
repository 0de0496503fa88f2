/* A plan in three stages: what runs, how long values live, where they lie.
 *
 *     nodes --plan_lower--> steps, values, copies --plan_lifetimes--> roots --plan_offsets--> bytes of a workspace
 *
 * Each stage only reads what those before it made. Order is fixed by the first: steps run as the graph applied them, a
 * copy just before its first reader. So a life is a pair of step numbers, and two roots may share bytes if and only if
 * their pairs are apart, or one takes the other's memory over in the step where both meet. Nothing here is believed
 * later: verify.c, which has none of this code, plays the plan through and refuses it if any reader would find
 * other bytes. The planner may be clever; it cannot be wrong in silence. */
#include "graph/place.h"

#include <string.h>

static const char *const mode_names[] = { HN_PLAN_MODE_LIST(HN_WORD_ALONE, HN_WORD_ALONE, HN_WORD_ALONE) };

const char *hn_plan_mode_name(hn_plan_mode mode)
{
    return (unsigned)mode < HN_N_PLAN_MODES ? mode_names[mode] : "?";
}

hn_status hn_plan_mode_parse(const char *word, hn_plan_mode *out)
{
    for (int i = 0; i < HN_N_PLAN_MODES; i++)
        if (!strcmp(word, mode_names[i])) {
            *out = (hn_plan_mode)i;
            return HN_OK;
        }
    return hn_fail(HN_ERR_ARGUMENT, "plan '%.40s': expected " HN_PLAN_MODE_WORDS, word);
}

static hn_status make(hn_plan *plan, int n_wanted, hn_node *const *wanted)
{
    plan->leaf_value =
        hn_alloc_array(plan->heap, HN_TAG_PLAN, (size_t)plan->g->n_leaves, sizeof(int));
    plan->result = hn_alloc_array(plan->heap, HN_TAG_PLAN, (size_t)n_wanted, sizeof(int));
    plan->place = hn_alloc_array(plan->heap, HN_TAG_PLAN, (size_t)plan->g->n_leaves + 1, sizeof(int));
    if (!plan->leaf_value || !plan->result || !plan->place)
        return HN_ERR_MEMORY;
    HN_TRY(hn_place_leaves(plan->g, plan->n_devices, plan->targets, plan->place));
    plan->n_results = n_wanted;
    HN_TRY(hn_plan_lower(plan, n_wanted, wanted));
    HN_TRY(hn_plan_lifetimes(plan));
    return hn_plan_offsets(plan);
}

hn_status hn_plan_new(hn_plan **out, const hn_graph *g, int n_wanted, hn_node *const *wanted,
                      int n_devices, const hn_target *devices, const hn_plan_options *options)
{
    *out = NULL;
    HN_REQUIRE(n_devices >= 1 && n_devices <= HN_MAX_DEVICES, HN_ERR_ARGUMENT,
               "%d devices: expected 1 to %d", n_devices, HN_MAX_DEVICES);
    HN_REQUIRE(g->status == HN_OK, g->status, "%s", g->message ? g->message : "out of memory");
    hn_plan *plan = hn_alloc(g->heap, HN_TAG_PLAN, sizeof *plan);
    if (!plan)
        return HN_ERR_MEMORY;
    plan->heap = g->heap;
    plan->g = g;
    plan->options = *options;
    plan->n_devices = n_devices;
    memcpy(plan->targets, devices, (size_t)n_devices * sizeof *devices);
    const hn_status status = make(plan, n_wanted, wanted);
    if (status != HN_OK) {
        hn_plan_free(plan);
        return status;
    }
    *out = plan;
    return HN_OK;
}

void hn_plan_free(hn_plan *plan)
{
    if (!plan)
        return;
    hn_free(plan->heap, plan->steps);
    hn_free(plan->heap, plan->values);
    hn_free(plan->heap, plan->roots);
    hn_free(plan->heap, plan->leaf_value);
    hn_free(plan->heap, plan->place);
    hn_free(plan->heap, plan->result);
    hn_free(plan->heap, plan);
}

bool hn_step_is_view(const hn_step *step)
{
    return step->op->view_of != 0 && !step->crosses;
}

int hn_plan_source(const hn_plan *plan, int value)
{
    for (int step; (step = plan->values[value].step) != HN_NO_VALUE;) {
        const hn_step *s = &plan->steps[step];
        if (!hn_step_is_view(s))
            break;
        value = s->in[s->op->view_of - 1];
    }
    return value;
}
