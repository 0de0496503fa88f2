/* What a scheduler keeps of what it ran: whose it is, how much of it another goes on from, in which order it goes, who waits for what
 * another computes, and that an adapter stays as long as anything that was computed with it. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODELS   HN_SOURCE_DIR "/tests/differential/models/"
#define ADAPTERS HN_SOURCE_DIR "/tests/differential/adapters/"

typedef struct asked {
    hn_lm_ended ended;
    bool has_ended;
} asked;

static hn_engine *engine;
static hn_lm *lm;
static hn_lm_batch *batch;
static hn_lm_scheduler *scheduler;
static int32_t ids[220];

static void note_end(void *context, const hn_lm_ended *ended)
{
    asked *a = context;
    a->ended = *ended;
    a->has_ended = true;
}

static void ask(asked *a, const int32_t *from, size_t n, int64_t most, uint64_t owner, const int32_t *adapter)
{
    int64_t number;
    const hn_lm_request r = { .size = sizeof r, .ids = from, .n = n, .owner = owner, .most = most, .goes_on = 1, .on_end = note_end,
                              .context = a, .adapter = adapter };
    *a = (asked){ 0 };
    CHECK_OK(hn_lm_scheduler_ask(scheduler, &r, &number));
}

static int64_t step(void)
{
    int64_t left = 0;
    CHECK_OK(hn_lm_scheduler_step(scheduler, &left));
    return left;
}

static int64_t reused_with(const int32_t *from, size_t n, uint64_t owner, const int32_t *adapter)
{
    asked a;
    ask(&a, from, n, 3, owner, adapter);
    while (step())
        ;
    CHECK(a.has_ended && a.ended.status == HN_OK && a.ended.n_drawn == 3);
    return a.ended.n_reused;
}

static int64_t reused_of(const int32_t *from, size_t n, uint64_t owner) { return reused_with(from, n, owner, NULL); }

static int64_t kept(void)
{
    hn_lm_scheduler_counts counts = { 0 };
    CHECK_OK(hn_lm_scheduler_count(scheduler, &counts, sizeof counts));
    return counts.kept;
}

static bool begin(const hn_lm_batch_options *b, const hn_lm_scheduler_options *o)
{
    return CHECK_OK(hn_lm_batch_new(&batch, lm, b)) && CHECK_OK(hn_lm_scheduler_new(&scheduler, batch, o));
}

/* Whatever was kept, all blocks are free at the end. */
static void end(void)
{
    int64_t of;
    hn_lm_scheduler_free(scheduler);
    CHECK(hn_lm_batch_blocks(batch, &of) == of);
    hn_lm_batch_free(batch);
}

/* Of one's own the whole blocks, of another's none; as many as are the same; and what was not used for longest goes first. */
static void check_owners(void)
{
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 4, .context = 256 };
    const hn_lm_scheduler_options o = { .size = sizeof o, .kept = 3 };
    check_group("owners");
    if (!begin(&b, &o))
        return;
    CHECK_INT(0, reused_of(ids, 63, 1));
    CHECK_INT(0, reused_of(ids, 64, 1)); /* the last id is run anew */
    CHECK_INT(64, reused_of(ids, 65, 1));
    CHECK_INT(0, reused_of(ids, 80, 2));
    CHECK_INT(0, reused_of(ids, 60, 2));
    CHECK_INT(64, reused_of(ids, 140, 1));
    CHECK_INT(128, reused_of(ids, 140, 1));
    CHECK_INT(64, reused_of(ids, 128, 1)); /* not to its last id */
    ids[100]++;
    CHECK_INT(64, reused_of(ids, 110, 1)); /* the whole blocks of 100 that are the same */
    ids[100]--;
    CHECK_INT(0, reused_of(ids + 7, 70, 2)); /* three are kept: owner 2's older one is the one that goes */
    CHECK_INT(128, reused_of(ids, 140, 1));
    CHECK_INT(0, reused_of(ids, 80, 2));     /* and now the other */
    CHECK_INT(0, reused_of(ids + 7, 70, 2)); /* and now owner 1's second, before its first */
    CHECK_INT(64, reused_of(ids, 140, 1));
    CHECK_INT(3, kept());
    CHECK_OK(hn_lm_scheduler_forget(scheduler, NULL));
    CHECK_INT(0, kept());
    CHECK_INT(0, reused_of(ids, 90, 1));
    end();
}

/* Who begins as another who is at it waits until the blocks are there, each as soon as it is; others pass. */
static void check_together(void)
{
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 4, .context = 256, .tokens = 70 };
    asked first, second, other;
    check_group("together");
    if (!begin(&b, NULL))
        return;
    ask(&first, ids, 200, 20, 1, NULL);
    ask(&second, ids, 150, 1, 1, NULL);
    ask(&other, ids, 150, 1, 2, NULL);
    while (step())
        ;
    CHECK(first.has_ended && second.has_ended && other.has_ended);
    CHECK_INT(0, first.ended.n_reused);
    CHECK_INT(128, second.ended.n_reused);
    CHECK_INT(0, other.ended.n_reused);
    end();
}

/* Three blocks, one of which says what the first began with. The second grows to all three: it is given up, and nobody goes. */
static void check_gives(void)
{
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 2, .context = 180, .blocks = 3 };
    asked second;
    check_group("gives");
    if (!begin(&b, NULL))
        return;
    CHECK_INT(0, reused_of(ids, 100, 0));
    CHECK_INT(1, kept());
    ask(&second, ids + 20, 10, 160, 0, NULL);
    while (step())
        ;
    CHECK(second.has_ended && second.ended.status == HN_OK && second.ended.n_drawn == 160);
    CHECK_INT(0, second.ended.n_returned);
    CHECK_INT(2, kept()); /* its own: 169 ids were run */
    end();
}

/* An adapter, of single rows or apart, stays as long as anything is known that was computed with it; what runs when it is forgotten
 * leaves nothing behind, and the next that has its number finds nothing. */
static void check_adapters(const char *path, int64_t apart)
{
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 4, .context = 256, .adapters = apart ? 0 : 1, .adapts_head = 1,
                                    .apart = apart };
    const hn_lm_adapter_options full = { .size = sizeof full }, half = { .size = sizeof half, .scale = 0.5 };
    int32_t adapter = -1, next = -1;
    asked a;
    check_group(apart ? "adapters apart" : "adapters");
    if (!begin(&b, NULL) || !CHECK_OK(hn_lm_batch_add_adapter(batch, path, &full, &adapter)))
        return;
    CHECK_INT(0, reused_of(ids, 130, 1));
    CHECK_INT(0, reused_with(ids, 130, 1, &adapter));
    CHECK_INT(128, reused_with(ids, 130, 1, &adapter));
    CHECK_FAILS(hn_lm_batch_remove_adapter(batch, adapter), HN_ERR_BUSY, "blocks of keys were computed with");
    CHECK_OK(hn_lm_scheduler_forget(scheduler, &adapter));
    CHECK_INT(2, kept());
    ask(&a, ids, 130, 60, 1, &adapter);
    step();
    CHECK_OK(hn_lm_scheduler_forget(scheduler, &adapter));
    while (step())
        ;
    CHECK(a.has_ended && a.ended.status == HN_OK && a.ended.n_reused == 0);
    CHECK_INT(2, kept());
    CHECK_OK(hn_lm_batch_remove_adapter(batch, adapter));
    CHECK_OK(hn_lm_batch_add_adapter(batch, path, &half, &next));
    CHECK_INT(adapter, next);
    CHECK_INT(0, reused_with(ids, 130, 1, &next));
    CHECK_INT(128, reused_of(ids, 130, 1));
    end();
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/hone-beginnings-XXXXXX", path[300];
    int64_t before, live;
    check_open(argc, argv);
    if (!CHECK(mkdtemp(dir)) || !CHECK_OK(hn_engine_new(&engine, NULL)))
        return check_close();
    hn_engine_memory(engine, &before, NULL, NULL);
    for (int i = 0; i < 220; i++)
        ids[i] = i * 3 % 250 + 1;
    snprintf(path, sizeof path, "%s/llama.gguf", dir);
    CHECK_OK(hn_lm_import_adapter(engine, ADAPTERS "llama", MODELS "llama", path, NULL));
    if (CHECK_OK(hn_lm_open(&lm, engine, MODELS "llama", NULL))) {
        check_owners();
        check_together();
        check_gives();
        check_adapters(path, 0);
        check_adapters(path, 2);
        hn_lm_close(lm);
    }
    check_group(NULL);
    hn_engine_memory(engine, &live, NULL, NULL);
    CHECK_INT(before, live);
    hn_engine_free(engine);
    unlink(path);
    rmdir(dir);
    return check_close();
}
