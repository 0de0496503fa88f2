/* Memory of keys comes as keys do: sequences that come one after the other, with a token each, take pages for their rows, and no huge
 * page of every leaf when one of them is the first that lies in it. */
#include "infer/sequences_state.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"
#include "tests/harness/random_model.h"

#include <stdio.h>
#include <string.h>

/* A block of 64 rows of 2 KiB is an eighth of a MiB, so sixteen are a huge page: whoever comes after the first sixteen begins another
 * of each of twelve leaves. */
enum { N_SEQUENCES = 40, CONTEXT = 512, TOKENS = 8, LEAVES = 12, ROW = 2048 };

static hn_heap heap;

/* Whether who asks for huge pages, as every large block does, may have them: without, nothing here can go wrong. */
static bool has_huge_pages(void)
{
    char text[64] = "";
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (!file)
        return false;
    const bool is_read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    return is_read && !strstr(text, "[never]");
}

static long resident_pages(void)
{
    long size = 0, resident = -1;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &size, &resident) != 2)
        resident = -1;
    if (file)
        fclose(file);
    return resident;
}

static bool step(hn_sequences *all)
{
    const int32_t token = 3;
    int32_t name;
    if (!CHECK_OK(hn_sequences_open(all, -1, &name)))
        return false;
    return CHECK_OK(hn_sequences_step(all, &(hn_piece){ .sequence = name, .tokens = &token, .n = 1, .n_wanted = 1 }, 1, NULL));
}

static void check_growth(hn_sequences *all)
{
    int n_leaves = 0;
    for (int i = 0; i < all->c.g->n_leaves; i++) {
        const hn_leaf *leaf = all->c.g->leaves[i];
        n_leaves += hn_sequences_caches(leaf);
        CHECK(!hn_sequences_caches(leaf) || hn_type_bytes(&leaf->type) == (size_t)N_SEQUENCES * CONTEXT * ROW);
    }
    CHECK_INT(LEAVES, n_leaves);
    for (int i = 0; i < 2; i++) /* whatever else is touched once */
        step(all);
    const long before = resident_pages();
    for (int i = 2; i < N_SEQUENCES; i++)
        if (!step(all))
            return;
    const long more = resident_pages() - before, rows = (N_SEQUENCES - 2) * LEAVES;
    CHECK_THAT(before > 0 && more >= rows * 3 / 4 && more < 2 * rows, "%ld pages more: expected about %ld, one for each row", more, rows);
}

int main(int argc, char **argv)
{
    const hn_sequences_options o = { .n_sequences = N_SEQUENCES, .n_ctx = CONTEXT, .max_tokens = TOKENS };
    hn_model *model;
    hn_device *devices[HN_MAX_DEVICES];
    hn_sequences *all = NULL;
    int n = 0;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (!has_huge_pages()) {
        printf("skipped: this system has no huge pages to give\n");
        return check_close();
    }
    CHECK_OK(random_model_open(&heap, "llama", "block_count=6 attention.key_length=256 attention.value_length=256", 7, &model));
    CHECK_OK(hn_devices_open(&heap, "cpu", &(hn_device_options){ .n_threads = 1 }, &n, devices));
    if (CHECK_OK(hn_sequences_new(&all, &heap, model, on_all_devices(n, devices), &o)))
        check_growth(all);
    hn_sequences_free(all);
    hn_devices_close(n, devices);
    hn_model_close(model);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
