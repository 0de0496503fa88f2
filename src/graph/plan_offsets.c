/* Where each root lies in its device's workspace: the largest first, each at the lowest place that
 * is free during its whole life. `separate` gives every root its own place.
 *
 *     bytes ^   +--------+
 *           |   |   B    |   +------+
 *           |   +--------+   |  D   |
 *           | +------------+ +------+
 *           | |     A      |   +----+
 *           +-+------------+---+-C--+--> steps
 */
#include "graph/plan.h"

#include <stdlib.h>

typedef struct placing {
    size_t bytes;
    int root;
} placing;

static int by_size(const void *a, const void *b)
{
    const placing *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->root - y->root;
}

static size_t round_up(size_t bytes)
{
    return (bytes + HN_PLAN_ALIGNMENT - 1) / HN_PLAN_ALIGNMENT * HN_PLAN_ALIGNMENT;
}

static bool overlap_in_time(const hn_root *a, const hn_root *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest gap among `placed`, which is sorted by offset. Returns the offset. */
static size_t lowest_gap(const hn_plan *plan, const int *placed, int n, const hn_root *root,
                         size_t bytes)
{
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        const hn_root *other = &plan->roots[placed[i]];
        if (other->device != root->device || !overlap_in_time(other, root))
            continue;
        if (other->offset >= at + bytes)
            break;
        const size_t end = other->offset + round_up(other->bytes);
        if (end > at)
            at = end;
    }
    return at;
}

static void insert_sorted(const hn_plan *plan, int *placed, int n, int root)
{
    int at = n;
    while (at > 0 && plan->roots[placed[at - 1]].offset > plan->roots[root].offset) {
        placed[at] = placed[at - 1];
        at--;
    }
    placed[at] = root;
}

static void place(hn_plan *plan, placing *order, int n, int *placed)
{
    const bool separate = plan->options.mode == HN_PLAN_SEPARATE;
    for (int i = 0; i < n; i++) {
        hn_root *root = &plan->roots[order[i].root];
        const size_t bytes = round_up(root->bytes);
        size_t *used = &plan->workspace[root->device];
        root->offset = separate ? *used : lowest_gap(plan, placed, i, root, bytes);
        if (root->offset + bytes > *used)
            *used = root->offset + bytes;
        if (!separate)
            insert_sorted(plan, placed, i, order[i].root);
    }
}

hn_status hn_plan_offsets(hn_plan *plan)
{
    const size_t n_roots = (size_t)plan->n_roots + 1;
    placing *order = hn_alloc_array(plan->heap, HN_TAG_PLAN, n_roots, sizeof *order);
    int *placed = hn_alloc_array(plan->heap, HN_TAG_PLAN, n_roots, sizeof *placed);
    hn_status status = order && placed ? HN_OK : HN_ERR_MEMORY;
    if (status == HN_OK) {
        int n = 0;
        size_t total = 0;
        for (int r = 0; r < plan->n_roots && status == HN_OK; r++) {
            const hn_root *root = &plan->roots[r];
            if (root->leaf || !root->bytes)
                continue;
            order[n++] = (placing){ root->bytes, r };
            if (root->bytes > SIZE_MAX / 4 || (total += round_up(root->bytes)) > SIZE_MAX / 4)
                status = hn_fail(HN_ERR_MEMORY, "the plan needs more memory than can be addressed");
        }
        qsort(order, (size_t)n, sizeof *order, by_size);
        if (status == HN_OK)
            place(plan, order, n, placed);
    }
    hn_free(plan->heap, order);
    hn_free(plan->heap, placed);
    return status;
}
