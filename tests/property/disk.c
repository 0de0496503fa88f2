/* Beginnings on disk: what left memory is found again, by another process, with the same answer; a file that is cut, of another
 * version, of another text, or has any byte changed is removed, told, counted and never used; the bound holds, the oldest go; of
 * windows, adapters and q8_0 keys; what has another owner, adapter, model or type of cache finds nothing; and a disk that stands still
 * keeps nobody waiting.
 * --quick: every 37th byte. */
#include "base/file.h"
#include "base/os/folders.h"
#include "base/os/threads.h"
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODELS   HN_SOURCE_DIR "/tests/differential/models/"
#define ADAPTERS HN_SOURCE_DIR "/tests/differential/adapters/"
enum { MOST_DRAWN = 8, N_IDS = 200, MOST_FILES = 64, PATH = 400, LONG_PATH = PATH + 300, PATIENCE = 120000 /* ms */ };

typedef struct answer {
    int32_t ids[MOST_DRAWN];
    double log_probability[MOST_DRAWN];
    int n;
    hn_lm_ended ended;
    bool has_ended;
} answer;

typedef struct serving {
    hn_lm *lm;
    hn_lm_batch *batch;
    hn_lm_scheduler *scheduler;
    hn_lm_disk *disk;
    int32_t adapter;
} serving;

static hn_engine *engine;
static int32_t ids[N_IDS];
static char folder[PATH], told[1200];
static int n_told;

/* What a disk does that takes its time: its thread stands in here until it is let go on. */
static struct {
    atomic_bool holds, is_in;
} slow;

static void on_refused(void *context, const char *sentence)
{
    if (slow.holds) {
        slow.is_in = true;
        for (int i = 0; i < PATIENCE && slow.holds; i++)
            hn_os_thread_rest(1);
        return;
    }
    CHECK(context == told);
    snprintf(told, sizeof told, "%s", sentence);
    n_told++;
}

/* ---- a server that begins and ends ---- */

typedef struct setup {
    const char *model, *cache, *adapter;
    double scale;
    int64_t blocks, most, waiting;
    bool has_disk;
} setup;

static bool begin(serving *s, const setup *o)
{
    const hn_lm_disk_options d = { .size = sizeof d, .most = o->most, .on_refused = on_refused, .context = told,
                                   .waiting = o->waiting };
    const hn_lm_batch_options b = { .size = sizeof b, .sequences = 3, .context = 256, .blocks = o->blocks, .cache = o->cache,
                                    .adapters = o->adapter != NULL, .adapts_head = 1, .tokens = 64 };
    const hn_lm_adapter_options a = { .size = sizeof a, .scale = o->scale };
    *s = (serving){ .adapter = -1 };
    if (!CHECK_OK(hn_lm_open(&s->lm, engine, o->model, NULL)) || !CHECK_OK(hn_lm_batch_new(&s->batch, s->lm, &b)))
        return false;
    if (o->adapter)
        CHECK_OK(hn_lm_batch_add_adapter(s->batch, o->adapter, &a, &s->adapter));
    if (o->has_disk && !CHECK_OK(hn_lm_disk_open(&s->disk, engine, folder, &d)))
        return false;
    const hn_lm_scheduler_options so = { .size = sizeof so, .disk = s->disk };
    return CHECK_OK(hn_lm_scheduler_new(&s->scheduler, s->batch, &so));
}

static void end(serving *s)
{
    int64_t of;
    hn_lm_scheduler_free(s->scheduler);
    CHECK(hn_lm_batch_blocks(s->batch, &of) == of);
    hn_lm_batch_free(s->batch);
    hn_lm_disk_close(s->disk);
    hn_lm_close(s->lm);
}

static void on_token(void *context, const hn_lm_drawn *t)
{
    answer *a = context;
    if (CHECK(a->n < MOST_DRAWN)) {
        a->ids[a->n] = t->id;
        a->log_probability[a->n++] = t->log_probability;
    }
}

static void on_end(void *context, const hn_lm_ended *ended)
{
    answer *a = context;
    a->ended = *ended;
    a->has_ended = true;
}

static answer ask(const serving *s, int32_t first, int32_t n, uint64_t owner)
{
    int64_t number, left = 1;
    answer a = { 0 };
    const hn_lm_request r = { .size = sizeof r, .ids = ids + first, .n = (size_t)n, .owner = owner, .most = MOST_DRAWN, .goes_on = 1, .scores = 1,
                              .adapter = s->adapter < 0 ? NULL : &s->adapter, .on_token = on_token, .on_end = on_end, .context = &a };
    CHECK_OK(hn_lm_scheduler_ask(s->scheduler, &r, &number));
    while (left && CHECK_OK(hn_lm_scheduler_step(s->scheduler, &left)))
        ;
    CHECK(a.has_ended && a.ended.status == HN_OK && a.n == MOST_DRAWN);
    return a;
}

static bool is_same(const answer *a, const answer *b)
{
    return a->n == b->n && !memcmp(a->ids, b->ids, sizeof a->ids) &&
           !memcmp(a->log_probability, b->log_probability, sizeof a->log_probability);
}

static hn_lm_disk_counts counts_of(const serving *s)
{
    hn_lm_disk_counts c = { 0 };
    CHECK_OK(hn_lm_disk_count(s->disk, &c, sizeof c));
    return c;
}

/* A thread of the disk's own writes: it is waited for. */
static bool has_written(const serving *s, int64_t n)
{
    for (int i = 0; i < 20000 && counts_of(s).written < n; i++)
        hn_os_thread_rest(1);
    return counts_of(s).written >= n;
}

/* ---- its folder ---- */

typedef struct files {
    char path[MOST_FILES][LONG_PATH];
    int n;
    int64_t bytes;
} files;

static bool list_one(void *context, const char *name)
{
    files *f = context;
    struct stat about;
    if (strcmp(name, "lock") != 0 && CHECK(f->n < MOST_FILES && strlen(name) < 200)) {
        snprintf(f->path[f->n], LONG_PATH, "%s/%s", folder, name);
        CHECK(!stat(f->path[f->n], &about) && (about.st_mode & 0777) == 0600);
        f->bytes += about.st_size;
        f->n++;
    }
    return true;
}

static files list_files(void)
{
    files f = { .n = 0 };
    CHECK(hn_os_folder_each(folder, list_one, &f));
    return f;
}

static void empty_folder(void)
{
    const files f = list_files();
    for (int i = 0; i < f.n; i++)
        unlink(f.path[i]);
}

static void put(const char *path, const void *data, size_t n)
{
    FILE *to = fopen(path, "wb");
    if (CHECK(to)) {
        CHECK(fwrite(data, 1, n, to) == n);
        CHECK(!fclose(to));
        chmod(path, 0600);
    }
}

/* ---- what is kept over a restart ---- */

static void check_restart(const setup *with, bool has_adapter)
{
    setup without = *with;
    serving s;
    without.has_disk = false;
    if (!begin(&s, &without))
        return;
    const answer alone = ask(&s, 0, 150, 1);
    end(&s);
    if (!begin(&s, with))
        return;
    const answer first = ask(&s, 0, 150, 1);
    CHECK(is_same(&alone, &first) && first.ended.n_reused == 0);
    end(&s);
    CHECK_INT(2, list_files().n); /* 157 ids were run */
    if (!begin(&s, with))
        return;
    const answer again = ask(&s, 0, 150, 1), other = ask(&s, 0, 150, 2);
    CHECK_INT(128, again.ended.n_reused);
    CHECK_INT(0, other.ended.n_reused);
    CHECK(is_same(&alone, &again) && is_same(&alone, &other));
    CHECK_INT(2, counts_of(&s).read);
    end(&s);
    CHECK_INT(4, list_files().n);
    setup changed = *with;
    if (has_adapter)
        changed.scale = 0.5;
    else
        changed.cache = "f16";
    if (!begin(&s, &changed))
        return;
    CHECK_INT(0, ask(&s, 0, 150, 1).ended.n_reused);
    CHECK_INT(0, counts_of(&s).read);
    end(&s);
    CHECK_INT(0, n_told);
    empty_folder();
}

/* With room for one request's keys alone, what leaves while others run is found again, by those too. */
static void check_pressure(const setup *with)
{
    setup narrow = *with;
    serving s;
    narrow.blocks = 4;
    if (!begin(&s, &narrow))
        return;
    const answer first = ask(&s, 0, 150, 1);
    ask(&s, 30, 150, 1);
    const answer again = ask(&s, 0, 150, 1);
    CHECK(is_same(&first, &again) && again.ended.n_reused == 128 && has_written(&s, 1) && counts_of(&s).read > 0);
    end(&s);
    empty_folder();
}

/* Another adapter in the place of one that was removed has another key. */
static void check_replaced(const setup *with)
{
    setup halved = *with;
    const hn_lm_adapter_options half = { .size = sizeof half, .scale = 0.5 };
    const int32_t place = 0;
    serving s;
    halved.scale = 0.5;
    halved.has_disk = false;
    if (!begin(&s, &halved))
        return;
    const answer alone = ask(&s, 0, 150, 1);
    end(&s);
    if (!begin(&s, with))
        return;
    const answer full = ask(&s, 0, 150, 1);
    CHECK_INT(place, s.adapter);
    CHECK_OK(hn_lm_scheduler_forget(s.scheduler, &s.adapter));
    CHECK(has_written(&s, 2) && counts_of(&s).written == 2);
    CHECK_OK(hn_lm_batch_remove_adapter(s.batch, s.adapter));
    CHECK_OK(hn_lm_batch_add_adapter(s.batch, with->adapter, &half, &s.adapter));
    CHECK_INT(place, s.adapter);
    const answer other = ask(&s, 0, 150, 1);
    CHECK(is_same(&alone, &other) && !is_same(&full, &other) && other.ended.n_reused == 0);
    end(&s);
    empty_folder();
}

/* A disk that stands still keeps nobody waiting: what leaves memory meanwhile waits, as far as that is bounded, and is found there; the
 * rest is counted. When it goes on, and the scheduler ends, all that remained is written. */
static void check_slow(const setup *with)
{
    serving s;
    setup narrow = *with;
    if (!begin(&s, with))
        return;
    ask(&s, 0, 70, 1);
    end(&s);
    const files f = list_files();
    if (!CHECK_INT(1, f.n))
        return;
    CHECK(!unlink(f.path[0]) && !mkdir(f.path[0], 0700)); /* cannot be written, so that the writer comes to on_refused */
    narrow.blocks = 4;
    narrow.waiting = f.bytes * 2;
    if (!begin(&s, &narrow))
        return;
    slow.holds = true;
    const answer first = ask(&s, 0, 70, 1);
    for (int i = 1; i < 4; i++) /* more than there is room for, so that one leaves memory */
        ask(&s, i, 70, 1);
    for (int i = 0; i < PATIENCE && !slow.is_in; i++)
        hn_os_thread_rest(1);
    CHECK(slow.is_in);
    for (int i = 4; i < 12; i++)
        ask(&s, i, 70, 1);
    const answer again = ask(&s, 0, 70, 1);
    CHECK(slow.holds && slow.is_in); /* nobody let it go on: all were answered meanwhile */
    const hn_lm_disk_counts c = counts_of(&s);
    CHECK_THAT(c.skipped > 0 && c.written == 0 && c.read == 1, "skipped %lld, written %lld, read %lld", (long long)c.skipped, (long long)c.written,
               (long long)c.read);
    CHECK(is_same(&first, &again) && again.ended.n_reused == 64);
    slow.holds = false;
    slow.is_in = false;
    n_told = 0;
    hn_lm_scheduler_free(s.scheduler);
    s.scheduler = NULL;
    CHECK(counts_of(&s).written > 1 && counts_of(&s).skipped == c.skipped);
    CHECK_INT(counts_of(&s).written, counts_of(&s).files);
    end(&s);
    CHECK(!rmdir(f.path[0]));
    empty_folder();
    n_told = 0;
}

/* ---- files that may not be used ---- */

static void check_refused(const setup *with, const answer *alone, const char *path, const void *data, size_t n, const char *why)
{
    serving s;
    put(path, data, n);
    n_told = 0;
    if (!begin(&s, with))
        return;
    const answer a = ask(&s, 0, 70, 1);
    const hn_lm_disk_counts c = counts_of(&s);
    CHECK(is_same(alone, &a) && a.ended.n_reused == 0);
    CHECK_THAT(n_told == 1 && c.refused == 1 && c.read == 0 && strstr(told, path) && strstr(told, why), "told %d: %s, expected %s", n_told,
               n_told ? told : "", why);
    end(&s); /* and is written anew */
}

static void check_damage(const setup *with)
{
    serving s;
    void *data, *now;
    size_t n, n_now;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    if (!begin(&s, with))
        return;
    const answer alone = ask(&s, 0, 70, 1);
    end(&s);
    const files f = list_files();
    if (!CHECK_INT(1, f.n) || !CHECK_OK(hn_file_read(&heap, f.path[0], SIZE_MAX / 2, &data, &n)))
        return;
    uint8_t *bytes = data;
    const size_t step = check_flag("--quick") ? n / 12 + 1 : n / 150 + 1;
    for (size_t i = 0; i < n; i += i < 32 ? 1 : step) {
        bytes[i] ^= 1;
        check_refused(with, &alone, f.path[0], bytes, n, "");
        bytes[i] ^= 1;
    }
    for (size_t cut = 0; cut < n; cut += n / 7)
        check_refused(with, &alone, f.path[0], bytes, cut, cut < 60 ? "its beginning alone" : "are not what its beginning says");
    bytes[8] = 2;
    check_refused(with, &alone, f.path[0], bytes, n, "version 2: expected 1");
    bytes[8] = 1;
    n_told = 0;
    CHECK_OK(hn_file_read(&heap, f.path[0], SIZE_MAX / 2, &now, &n_now)); /* as it was written the first time */
    CHECK(n == n_now && !memcmp(data, now, n));
    hn_free(&heap, now);
    /* Whole, and under the name of another: its key is not the one that was looked for. */
    if (!begin(&s, with))
        return;
    ask(&s, 7, 70, 1);
    ask(&s, 0, 70, 9);
    end(&s);
    const files three = list_files();
    CHECK_INT(3, three.n);
    for (int i = 0; i < three.n; i++) {
        if (!strcmp(three.path[i], f.path[0]) || !CHECK_OK(hn_file_read(&heap, three.path[i], SIZE_MAX / 2, &now, &n_now)))
            continue;
        const bool is_owner = strstr((char *)now + 28, "owner 0000000000000009") != NULL;
        check_refused(with, &alone, f.path[0], now, n_now, is_owner ? "made with another owner" : "made of other tokens");
        hn_free(&heap, now);
    }
    hn_free(&heap, data);
    empty_folder();
    n_told = 0;
}

/* ---- the bound ---- */

static void check_bound(const setup *with)
{
    serving s;
    setup small = *with;
    if (!begin(&s, with))
        return;
    ask(&s, 0, 70, 1);
    end(&s);
    const int64_t one = list_files().bytes;
    small.most = 3 * one + one / 2;
    for (int i = 0; i < 5; i++) { /* each begins anew: three fit, and the oldest go */
        if (!begin(&s, &small))
            return;
        CHECK_INT(0, ask(&s, 1 + i, 70, 1).ended.n_reused);
        end(&s);
        CHECK(list_files().bytes <= small.most && list_files().n <= 3);
    }
    if (!begin(&s, &small))
        return;
    CHECK_INT(3, counts_of(&s).files);
    CHECK_INT(list_files().bytes, counts_of(&s).bytes);
    CHECK_INT(64, ask(&s, 3, 70, 1).ended.n_reused); /* the oldest of three, and young again */
    CHECK_INT(0, ask(&s, 2, 70, 1).ended.n_reused);  /* takes the place of another */
    end(&s);
    if (!begin(&s, &small))
        return;
    CHECK_INT(64, ask(&s, 3, 70, 1).ended.n_reused);
    CHECK_INT(0, ask(&s, 4, 70, 1).ended.n_reused);
    end(&s);
    small.most = one / 2; /* none fits, and those that are there go */
    if (!begin(&s, &small))
        return;
    CHECK(counts_of(&s).files == 0 && counts_of(&s).gone == 3);
    ask(&s, 0, 70, 1);
    end(&s);
    CHECK_INT(0, list_files().n);
}

static void check_folders(void)
{
    hn_lm_disk *disk, *second;
    const hn_lm_disk_options wrong = { .size = sizeof wrong, .most = -1 };
    char path[LONG_PATH], stranger[LONG_PATH];
    check_group("folders");
    CHECK_FAILS(hn_lm_disk_open(&disk, engine, NULL, NULL), HN_ERR_ARGUMENT, "found NULL");
    CHECK_FAILS(hn_lm_disk_open(&disk, engine, folder, &wrong), HN_ERR_ARGUMENT, "most of at least 0");
    CHECK_FAILS(hn_lm_disk_open(&disk, engine, MODELS "llama/config.json", NULL), HN_ERR_ARGUMENT, "expected a folder");
    snprintf(path, sizeof path, "%s/%064d.block.hone-partial", folder, 7);
    snprintf(stranger, sizeof stranger, "%s/stranger", folder);
    put(path, "a", 1);
    put(stranger, "a", 1);
    if (CHECK_OK(hn_lm_disk_open(&disk, engine, folder, NULL))) {
        CHECK_FAILS(hn_lm_disk_open(&second, engine, folder, NULL), HN_ERR_BUSY, folder);
        CHECK(access(path, F_OK) && !access(stranger, F_OK));
        hn_lm_disk_close(disk);
    }
    chmod(folder, 0777);
    CHECK_FAILS(hn_lm_disk_open(&disk, engine, folder, NULL), HN_ERR_ARGUMENT, "others may write to");
    chmod(folder, 0700);
    unlink(stranger);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/hone-disk-XXXXXX", adapter[PATH], lock[PATH + 10];
    int64_t before, live;
    check_open(argc, argv);
    if (!CHECK(mkdtemp(dir)) || !CHECK_OK(hn_engine_new(&engine, NULL)))
        return check_close();
    hn_engine_memory(engine, &before, NULL, NULL);
    for (int i = 0; i < N_IDS; i++)
        ids[i] = i * 3 % 250 + 1;
    snprintf(folder, sizeof folder, "%s/blocks", dir);
    snprintf(lock, sizeof lock, "%s/lock", folder);
    snprintf(adapter, sizeof adapter, "%s/llama.gguf", dir);
    CHECK_OK(hn_lm_import_adapter(engine, ADAPTERS "llama", MODELS "llama", adapter, NULL));
    const setup plain = { .model = MODELS "llama", .has_disk = true }, adapted = { .model = MODELS "llama", .adapter = adapter, .scale = 1, .has_disk = true },
                windows = { .model = MODELS "gemma3", .has_disk = true }, small = { .model = MODELS "qwen3", .cache = "bf16", .has_disk = true };
    check_group("a model");
    check_restart(&plain, false);
    check_pressure(&plain);
    check_group("an adapter");
    check_restart(&adapted, true);
    check_replaced(&adapted);
    check_group("windows");
    check_restart(&windows, false);
    check_pressure(&windows);
    check_group("damage");
    check_damage(&plain);
    check_group("a disk that stands still");
    check_slow(&plain);
    check_group("the bound");
    check_bound(&small);
    check_folders();
    check_group(NULL);
    hn_engine_memory(engine, &live, NULL, NULL);
    CHECK_INT(before, live);
    hn_engine_free(engine);
    unlink(adapter);
    unlink(lock);
    CHECK(!rmdir(folder) && !rmdir(dir));
    return check_close();
}
