/* Adapters that come and go, by the calls that a job makes when it has trained one: who finds whose, what stays after a refusal,
 * and that no batch keeps what nobody has. */
#include "hone/hone.h"
#include "server/served_adapters.h"
#include "server/server.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANN = 7, BOB = 8 }; /* owners, as keys have them */

static hn_heap heap;
static hn_engine *engine;
static hn_shelf shelf;
static hn_server *server;
static char file[300], bad[300];

static bool serve(void)
{
    hn_served *m;
    const hn_served_options llama = { .path = HN_SOURCE_DIR "/tests/differential/models/llama", .model = { .size = sizeof llama.model },
                                      .batch = { .size = sizeof llama.batch, .sequences = 2, .context = 64 },
                                      .scheduler = { .size = sizeof llama.scheduler }, .takes_adapters = true };
    hn_served_options plain = llama;
    plain.takes_adapters = false;
    hn_shelf_open(&shelf, &heap, engine, 0);
    if (!CHECK_OK(hn_shelf_add(&shelf, "a", &llama, &m)) || !CHECK_OK(hn_shelf_add(&shelf, "plain", &plain, &m)))
        return false;
    const hn_server_options o = { .http = { .port = 0 } };
    if (!CHECK_OK(hn_server_open(&server, &shelf, &o)))
        return false;
    bool is_done = false;
    while (!is_done && CHECK(!hn_server_loading(server, &is_done)))
        hn_os_thread_rest(5);
    return is_done;
}

/* The scale of what `asker` finds by this name; 0: nothing. */
static double finds(const char *name, uint64_t asker)
{
    hn_served *m;
    hn_served_adapter *a;
    hn_failure why = { .kind = HN_REFUSED_NOT };
    if (!hn_shelf_find(&shelf, name, asker, &m, &a, &why)) {
        CHECK(why.kind == HN_REFUSED_NO_MODEL && !m && !a);
        return 0;
    }
    const double scale = a ? a->scale : -100;
    hn_adapter_let_go(m, a);
    hn_served_let_go(m);
    return scale;
}

static hn_failure_kind take(const char *model, const char *name, const char *path, double scale, uint64_t owner, bool is_new)
{
    hn_failure why = { .kind = HN_REFUSED_NOT };
    const hn_adapter_order o = { .model = model, .name = name, .path = path, .scale = scale, .owner = owner, .is_new = is_new };
    const bool is_well = hn_shelf_take_adapter(&shelf, &o, &why);
    CHECK(is_well == (why.kind == HN_REFUSED_NOT));
    return why.kind;
}

static hn_failure_kind drop(const char *model, const char *name, uint64_t owner)
{
    hn_failure why = { .kind = HN_REFUSED_NOT };
    hn_shelf_drop_adapter(&shelf, model, name, owner, &why);
    return why.kind;
}

/* Names, each with a blank behind it. */
static void check_names(uint64_t asker, const char *expected)
{
    char all[400] = "", name[HN_ADAPTER_NAME];
    for (int32_t i = 0; hn_served_adapter_name(shelf.models[0], asker, i, name); i++)
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s ", name);
    CHECK_TEXT(expected, all);
}

static void check_owners(void)
{
    check_group("owners");
    CHECK(take(NULL, "x", file, 1, ANN, false) == HN_REFUSED_NOT);
    CHECK(finds("a:x", ANN) == 1 && finds("x", ANN) == 1 && finds("a:x", BOB) == 0 && finds("x", BOB) == 0 && finds("a:x", 0) == 0);
    CHECK(take("a", "x", file, 2, 0, true) == HN_REFUSED_NOT); /* everybody's is another */
    CHECK(finds("a:x", ANN) == 1 && finds("a:x", BOB) == 2 && finds("x", 0) == 2);
    CHECK(take("a", "y", file, 3, BOB, true) == HN_REFUSED_NOT);
    check_names(ANN, "x ");
    check_names(BOB, "x y ");
    check_names(0, "x ");
    CHECK(drop("a", "y", ANN) == HN_REFUSED_NO_MODEL && drop("a", "y", 0) == HN_REFUSED_NO_MODEL && finds("a:y", BOB) == 3);
    CHECK(drop(NULL, "x", ANN) == HN_REFUSED_NOT && finds("a:x", ANN) == 2);
    CHECK(take("a", "x", file, 4, BOB, false) == HN_REFUSED_NOT && finds("a:x", BOB) == 4 && finds("a:x", ANN) == 2);
    CHECK(drop("a", "x", 0) == HN_REFUSED_NOT && finds("a:x", ANN) == 0 && drop("a", "x", BOB) == HN_REFUSED_NOT && drop("a", "y", BOB) == HN_REFUSED_NOT);
    check_names(BOB, "");
}

static void check_refusals(void)
{
    check_group("refusals");
    CHECK(take("a", "x", file, 2, 0, true) == HN_REFUSED_NOT);
    CHECK(take("a", "x", file, 3, 0, true) == HN_REFUSED_INVALID && take("a", "x", bad, 3, 0, false) == HN_REFUSED_INVALID);
    CHECK(take("a", "x", "/no/such", 3, 0, false) == HN_REFUSED_INTERNAL && finds("a:x", 0) == 2);
    CHECK(take("b", "x", file, 1, 0, false) == HN_REFUSED_NO_MODEL && drop("b", "x", 0) == HN_REFUSED_NO_MODEL);
    CHECK(take("plain", "x", file, 1, 0, false) == HN_REFUSED_UNSUPPORTED && finds("plain:x", 0) == 0);
    static const char *const names[] = { "", "a b", "a:b", "a=b", "../a", "a/b", "..", "a\"b", "a\nb" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_THAT(take("a", names[i], file, 1, 0, false) == HN_REFUSED_INVALID, "%s", names[i]);
    check_names(0, "x ");
    CHECK(drop("a", "x", 0) == HN_REFUSED_NOT);
}

/* More than there is room for, and more than can be apart: each leaves the batch when the next has come. */
static void check_many(void)
{
    check_group("many");
    for (int i = 1; i <= 40; i++)
        if (!CHECK(take("a", "x", file, i, 0, false) == HN_REFUSED_NOT && finds("a:x", 0) == i))
            return;
    int n = 0;
    for (const hn_served_adapter *a = shelf.models[0]->adapters; a; a = a->next)
        n++;
    CHECK_INT(1, n);
    CHECK(drop("a", "x", 0) == HN_REFUSED_NOT && !shelf.models[0]->adapters);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/hone-adapters-XXXXXX";
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (!CHECK(mkdtemp(dir)) || !CHECK_OK(hn_engine_new(&engine, NULL)))
        return check_close();
    snprintf(file, sizeof file, "%s/adapter.gguf", dir);
    snprintf(bad, sizeof bad, "%s/bad.gguf", dir);
    CHECK_OK(hn_lm_import_adapter(engine, HN_SOURCE_DIR "/tests/differential/adapters/llama", HN_SOURCE_DIR "/tests/differential/models/llama",
                                  file, NULL));
    FILE *f = fopen(bad, "w");
    if (CHECK(f))
        CHECK(fputs("no adapter", f) >= 0 && !fclose(f));
    if (serve()) {
        check_owners();
        check_refusals();
        check_many();
    }
    hn_server_close(server);
    hn_shelf_close(&shelf);
    hn_engine_free(engine);
    unlink(file);
    unlink(bad);
    rmdir(dir);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
