/* Beginnings are what a plain list of texts would be: what is found, in which order they leave, who may not, what is told of each
 * that leaves, and that nothing is left. Two blocks of one hash are two. */
#include "engine/beginnings.h"
#include "tests/harness/check.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 24, DEEPEST = 4, MOST_IDS = DEEPEST * HN_BEGINNING_IDS, N_HELD = 6 };

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

/* ---- the list ---- */

typedef struct known {
    hn_whose whose;
    int32_t ids[MOST_IDS];
    int32_t n_blocks, holds, block; /* the last: what its keys say */
    int64_t used;
} known;

typedef struct list {
    known at[MOST];
    int n;
    int64_t clock;
    int32_t left[MOST]; /* blocks, in the order in which they left */
    int n_left;
} list;

static bool is_same(hn_whose a, hn_whose b) { return a.owner == b.owner && a.adapter == b.adapter; }

static bool begins(const known *k, hn_whose whose, const int32_t *ids, int32_t n_blocks)
{
    return k->n_blocks <= n_blocks && is_same(k->whose, whose) &&
           !memcmp(k->ids, ids, (size_t)k->n_blocks * HN_BEGINNING_IDS * sizeof *ids);
}

static int list_find(const list *l, hn_whose whose, const int32_t *ids, int32_t n_blocks)
{
    int best = -1;
    for (int i = 0; i < l->n; i++)
        if (begins(&l->at[i], whose, ids, n_blocks) && (best < 0 || l->at[i].n_blocks > l->at[best].n_blocks))
            best = i;
    return best;
}

/* The longest first, so that the first block is used last. */
static void list_use(list *l, const known *k)
{
    for (int32_t n = k->n_blocks; n > 0; n--)
        l->at[list_find(l, k->whose, k->ids, n)].used = l->clock++;
}

static bool list_stays(const list *l, int i)
{
    bool stays = l->at[i].holds > 0;
    for (int j = 0; j < l->n; j++)
        stays = stays || (j != i && begins(&l->at[i], l->at[j].whose, l->at[j].ids, l->at[j].n_blocks));
    return stays;
}

static int list_oldest(const list *l, bool odd_alone)
{
    int oldest = -1;
    for (int i = 0; i < l->n; i++)
        if (!list_stays(l, i) && (!odd_alone || l->at[i].block % 2) && (oldest < 0 || l->at[i].used < l->at[oldest].used))
            oldest = i;
    return oldest;
}

static void list_drop(list *l, int i)
{
    l->left[l->n_left++] = l->at[i].block;
    l->at[i] = l->at[--l->n];
}

/* ---- both ---- */

static list naive;
static hn_beginnings tree;
static int32_t left[MOST];
static int n_left, n_evicted, n_refused, n_shared;

static void on_leave(void *context, hn_beginning *leaving)
{
    CHECK(context == &tree && leaving->keys.window == leaving->keys.all + 1000);
    left[n_left++] = leaving->keys.all;
}

static bool is_odd(const void *context, const hn_beginning *node) { return context == &naive && node->keys.all % 2; }

static void compare_left(void)
{
    CHECK(n_left == naive.n_left && !memcmp(left, naive.left, (size_t)n_left * sizeof *left));
    n_left = naive.n_left = 0;
}

/* The order in which a drop goes is its own: children first. */
static int compare_ids(const void *a, const void *b) { return *(const int32_t *)a - *(const int32_t *)b; }

static void compare_dropped(const int32_t *adapter)
{
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (int i = naive.n - 1; i >= 0; i--)
            if (!list_stays(&naive, i) && (!adapter || naive.at[i].whose.adapter == *adapter)) {
                list_drop(&naive, i);
                goes_on = true;
            }
    }
    hn_beginnings_drop(&tree, adapter);
    qsort(left, (size_t)n_left, sizeof *left, compare_ids);
    qsort(naive.left, (size_t)naive.n_left, sizeof *left, compare_ids);
    compare_left();
}

/* Texts that part early or late, also by the last id of a block alone. */
static int32_t make_text(uint64_t *state, int32_t *ids, hn_whose *whose)
{
    *whose = (hn_whose){ draw(state, 2), (int32_t)draw(state, 3) - 1 };
    memset(ids, 0, MOST_IDS * sizeof *ids);
    for (int b = 0; b < DEEPEST; b++)
        if (!draw(state, 3))
            ids[b * HN_BEGINNING_IDS + (draw(state, 2) ? HN_BEGINNING_IDS - 1 : 0)] = 1 + (int32_t)draw(state, 2);
    return (int32_t)draw(state, MOST_IDS + 1);
}

static int32_t find_both(hn_whose whose, const int32_t *ids, int32_t n)
{
    const int32_t node = hn_beginnings_find(&tree, whose, ids, n);
    const int at = list_find(&naive, whose, ids, n / HN_BEGINNING_IDS);
    if (CHECK((node < 0) == (at < 0)) && node >= 0)
        CHECK(tree.at[node].keys.all == naive.at[at].block && tree.at[node].depth == naive.at[at].n_blocks);
    return node;
}

static void add_both(hn_whose whose, const int32_t *ids, int32_t n, int32_t block)
{
    const int32_t parent = find_both(whose, ids, n), depth = parent < 0 ? 0 : tree.at[parent].depth;
    const hn_lent_keys keys = { block, block + 1000, whose.adapter };
    if (n / HN_BEGINNING_IDS <= depth)
        return;
    const int32_t node = hn_beginnings_add(&tree, whose, parent, ids + depth * HN_BEGINNING_IDS, &keys);
    CHECK((node == HN_NO_BEGINNING) == (naive.n == MOST));
    n_refused += node < 0;
    if (node < 0)
        return;
    n_shared += parent >= 0 && tree.at[parent].n_children > 1;
    known *k = &naive.at[naive.n++];
    *k = (known){ .whose = whose, .n_blocks = depth + 1, .block = block };
    memcpy(k->ids, ids, (size_t)(depth + 1) * HN_BEGINNING_IDS * sizeof *ids);
    list_use(&naive, k);
    CHECK_INT(node, hn_beginnings_child(&tree, whose, parent, ids + depth * HN_BEGINNING_IDS));
}

static void evict_both(bool odd_alone)
{
    const int oldest = list_oldest(&naive, odd_alone);
    n_evicted += oldest >= 0;
    if (oldest >= 0)
        list_drop(&naive, oldest);
    CHECK(hn_beginnings_evict(&tree, odd_alone ? is_odd : NULL, &naive) == (oldest >= 0));
    compare_left();
}

typedef struct hold {
    int32_t node, block;
} hold;

static void swap_hold(hold *h, int32_t node)
{
    if (h->node >= 0) {
        hn_beginnings_let_go(&tree, h->node);
        for (int i = 0; i < naive.n; i++)
            naive.at[i].holds -= naive.at[i].block == h->block;
    }
    *h = (hold){ node, node < 0 ? -1 : tree.at[node].keys.all };
    hn_beginnings_hold(&tree, node);
    for (int i = 0; node >= 0 && i < naive.n; i++)
        naive.at[i].holds += naive.at[i].block == h->block;
}

static void check_random(uint64_t seed)
{
    uint64_t state = seed;
    hn_whose whose;
    int32_t ids[MOST_IDS];
    hold holds[N_HELD];
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    naive = (list){ 0 };
    for (int i = 0; i < N_HELD; i++)
        holds[i] = (hold){ -1, -1 };
    if (!CHECK_OK(hn_beginnings_new(&tree, &heap, MOST, on_leave, &tree)))
        return;
    for (int step = 0; step < 20000; step++) {
        const int32_t n = make_text(&state, ids, &whose), node = find_both(whose, ids, n);
        const uint32_t what = draw(&state, 40);
        if (what < 20) {
            add_both(whose, ids, n, step);
        } else if (what < 26) {
            evict_both(what == 20);
        } else if (what < 32) {
            hn_beginnings_use(&tree, node);
            if (node >= 0)
                list_use(&naive, &naive.at[list_find(&naive, whose, ids, n / HN_BEGINNING_IDS)]);
        } else if (what < 39) {
            swap_hold(&holds[draw(&state, N_HELD)], what < 36 ? node : -1);
        } else if (!draw(&state, 8)) {
            compare_dropped(draw(&state, 4) ? &whose.adapter : NULL);
        }
        CHECK(tree.n == naive.n && tree.n <= MOST);
    }
    for (int i = 0; i < N_HELD; i++)
        swap_hold(&holds[i], -1);
    for (int i = 0; i < tree.most; i++)
        CHECK_INT(0, tree.at[i].n_holds);
    compare_dropped(NULL);
    CHECK_INT(0, tree.n);
    hn_beginnings_free(&tree);
    CHECK_INT(0, heap.live_blocks);
}

/* ---- two blocks of one hash ---- */

static uint64_t mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

typedef struct state_of {
    uint64_t hash;
    int32_t id;
} state_of;

static int compare_states(const void *a, const void *b)
{
    const uint32_t x = (uint32_t)(((const state_of *)a)->hash >> 32), y = (uint32_t)(((const state_of *)b)->hash >> 32);
    return x < y ? -1 : x > y;
}

/* Before its last id, a block's hash has 64 bits, of which that id changes 32: among 2^18 blocks some have the other 32 in common. */
static bool find_twins(int differ_at, int32_t *a, int32_t *b)
{
    enum { TRIED = 1 << 18, LAST = HN_BEGINNING_IDS - 1 };
    state_of *tried = calloc(TRIED, sizeof *tried);
    bool found = false;
    if (!CHECK(tried))
        return false;
    for (int32_t t = 0; t < TRIED; t++) {
        uint64_t hash = mix(0, (uint32_t)HN_NO_BEGINNING);
        for (int i = 0; i < LAST; i++)
            hash = mix(hash, (uint32_t)(i == differ_at ? t : 5));
        tried[t] = (state_of){ hash, t };
    }
    qsort(tried, TRIED, sizeof *tried, compare_states);
    for (int t = 1; t < TRIED && !found; t++) {
        const uint64_t differ = tried[t].hash ^ tried[t - 1].hash;
        found = !(differ >> 32);
        for (int i = 0; i < HN_BEGINNING_IDS; i++)
            a[i] = b[i] = 5;
        a[differ_at] = tried[t].id, b[differ_at] = tried[t - 1].id;
        b[LAST] = (int32_t)((uint32_t)a[LAST] ^ (uint32_t)differ);
    }
    free(tried);
    return found;
}

static void check_twins(int differ_at)
{
    const hn_whose whose = { 7, -1 };
    const hn_lent_keys keys = { 0, 1000, -1 };
    int32_t a[HN_BEGINNING_IDS], b[HN_BEGINNING_IDS];
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    if (!CHECK(find_twins(differ_at, a, b)) || !CHECK_OK(hn_beginnings_new(&tree, &heap, 4, on_leave, &tree)))
        return;
    const int32_t first = hn_beginnings_add(&tree, whose, HN_NO_BEGINNING, a, &keys);
    CHECK_INT(HN_NO_BEGINNING, hn_beginnings_find(&tree, whose, b, HN_BEGINNING_IDS));
    const int32_t second = hn_beginnings_add(&tree, whose, HN_NO_BEGINNING, b, &keys);
    CHECK(first != second && tree.at[first].hash == tree.at[second].hash);
    CHECK_INT(first, hn_beginnings_find(&tree, whose, a, HN_BEGINNING_IDS));
    CHECK_INT(second, hn_beginnings_find(&tree, whose, b, HN_BEGINNING_IDS));
    n_left = 0;
    hn_beginnings_free(&tree);
    CHECK_INT(2, n_left);
    n_left = 0;
}

static void check_none(void)
{
    const hn_whose whose = { 7, -1 };
    const hn_lent_keys keys = { 0, 1000, -1 };
    const int32_t ids[HN_BEGINNING_IDS] = { 1 };
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    if (!CHECK_OK(hn_beginnings_new(&tree, &heap, 0, on_leave, &tree)))
        return;
    CHECK_INT(HN_NO_BEGINNING, hn_beginnings_find(&tree, whose, ids, HN_BEGINNING_IDS));
    CHECK_INT(HN_NO_BEGINNING, hn_beginnings_add(&tree, whose, HN_NO_BEGINNING, ids, &keys));
    CHECK(!hn_beginnings_evict(&tree, NULL, NULL));
    hn_beginnings_free(&tree);
    hn_beginnings_free(&tree);
    CHECK_INT(0, heap.live_blocks);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    for (uint64_t seed = 1; seed <= 5; seed++)
        check_random(seed);
    CHECK(n_evicted > 100 && n_refused > 100 && n_shared > 100);
    check_twins(0);
    check_twins(HN_BEGINNING_IDS * 2 / 3);
    check_none();
    return check_close();
}
