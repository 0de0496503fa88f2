/* Memory of keys comes as keys do: sequences that come one after the other, with a token each, take pages for their rows, and no huge
 * page of every leaf when one of them is the first that lies in it. */
#include "base/os/maps.h"
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

/* Pages of the keys that memory stands behind, or -1. Of these addresses alone: what a whole program has is an estimate in some
 * systems, and whatever else it touches would count. */
static long resident_pages(const hn_sequences *all)
{
    const size_t page = hn_os_page();
    long n = 0;
    FILE *file = fopen("/proc/self/pagemap", "rb");
    bool is_read = file != NULL;
    for (int i = 0; is_read && i < all->c.g->n_leaves; i++) {
        const hn_leaf *leaf = all->c.g->leaves[i];
        size_t bytes = 0;
        const uintptr_t at = hn_sequences_caches(leaf)
                                 ? (uintptr_t)hn_storage_address(all->c.storage, leaf, hn_storage_measure(all->c.storage, leaf).device, &bytes)
                                 : 0;
        const uintptr_t begin = at / page, end = (at + bytes + page - 1) / page;
        is_read = fseek(file, (long)(begin * sizeof(uint64_t)), SEEK_SET) == 0;
        for (uintptr_t k = begin; is_read && k < end; k++) {
            uint64_t entry = 0;
            is_read = fread(&entry, sizeof entry, 1, file) == 1;
            n += (long)(entry >> 63); /* "present" */
        }
    }
    if (file)
        fclose(file);
    return is_read ? n : -1;
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
    const long before = resident_pages(all);
    for (int i = 0; i < N_SEQUENCES; i++)
        if (!step(all))
            return;
    const long now = resident_pages(all), more = now - before, rows = N_SEQUENCES * LEAVES;
    if (before < 0 || now < 0)
        printf("skipped: this system does not tell which pages are there\n");
    else /* a row may lie over two, and a page in which a block has its header was there before */
        CHECK_THAT(now >= rows && more <= 2 * rows, "%ld pages, %ld more: expected %ld, one for each row", now, more, rows);
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
