/* Files that change under a running server: an adapter's and a model's are cut short, and grow again, while they are served. Who asks
 * the one whose file it is is told of it by name; the others have their bits, and so has he once the file is whole. */
#include "hone/hone.h"
#include "server/kept.h"
#include "server/served_adapters.h"
#include "server/server.h"
#include "tests/harness/check.h"
#include "tests/harness/http_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LLAMA HN_SOURCE_DIR "/tests/differential/models/llama"

static hn_heap heap;
static hn_engine *engine;
static hn_shelf shelf;
static hn_server *server;
static char dir[] = "/tmp/hone-served-XXXXXX", models[2][100], adapter[200], weights[200];

static void *read_file(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    static char room[1 << 20];
    *bytes = f ? fread(room, 1, sizeof room, f) : 0;
    if (f)
        fclose(f);
    char *copy = malloc(*bytes + 1);
    memcpy(copy, room, *bytes);
    return copy;
}

static void write_file(const char *path, const void *data, size_t bytes)
{
    FILE *f = fopen(path, "r+b");
    f = f ? f : fopen(path, "wb");
    if (CHECK(f))
        CHECK(fwrite(data, 1, bytes, f) == bytes && !fclose(f));
}

static void copy_model(const char *to)
{
    static const char *const names[] = { "config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json" };
    mkdir(to, 0700);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[300];
        size_t bytes;
        snprintf(path, sizeof path, LLAMA "/%s", names[i]);
        void *data = read_file(path, &bytes);
        snprintf(path, sizeof path, "%s/%s", to, names[i]);
        write_file(path, data, bytes);
        free(data);
    }
}

static bool serve(void)
{
    bool is_done = false;
    char word[300];
    hn_shelf_open(&shelf, &heap, engine, 0);
    for (int i = 0; i < 2; i++) {
        hn_served *m;
        const hn_served_options o = { .path = models[i], .model = { .size = sizeof o.model },
                                      .batch = { .size = sizeof o.batch, .sequences = 2, .context = 64 },
                                      .scheduler = { .size = sizeof o.scheduler } };
        if (!CHECK_OK(hn_shelf_add(&shelf, i ? "n" : "m", &o, &m)))
            return false;
    }
    snprintf(word, sizeof word, "m:a=%s", adapter);
    if (!CHECK_OK(hn_shelf_add_adapter(&shelf, word)) ||
        !CHECK_OK(hn_server_open(&server, &shelf, &(hn_server_options){ .http = { .port = 0 } })))
        return false;
    while (!is_done && CHECK(!hn_server_loading(server, &is_done)))
        hn_os_thread_rest(5);
    return is_done;
}

/* What `model` says, or why not. */
static int ask(const char *model, char said[600])
{
    char body[300];
    snprintf(body, sizeof body, "{\"model\":\"%s\",\"prompt\":[1,2,3,4,5],\"max_tokens\":6,\"temperature\":0,\"logprobs\":1}", model);
    http_reply r = http_ask(hn_server_port(server), "POST", "/v1/completions", "", body);
    const char *from = r.status == 200 ? strstr(r.body, "\"choices\"") : r.body, *to = from ? strstr(from, "\"usage\"") : NULL;
    snprintf(said, 600, "%.*s", (int)(to ? to - from : 599), from ? from : "");
    const int status = r.status;
    http_reply_free(&r);
    return status;
}

static void check_bits(const char *model, const char *want)
{
    char said[600];
    const int status = ask(model, said);
    CHECK_THAT(status == 200 && !strcmp(said, want), "%s: %d: %s\nfor %s", model, status, said, want);
}

static void check_told(const char *model)
{
    char said[600];
    const int status = ask(model, said);
    CHECK_THAT(status == 500 && strstr(said, "was cut short while it was read") && strstr(said, "model.safetensors"), "%s: %d: %s", model,
               status, said);
}

static void cut(void)
{
    char base[600], other[600], own[600], said[600];
    size_t bytes;
    check_group("an adapter");
    CHECK(ask("m", base) == 200 && ask("n", other) == 200 && ask("m:a", own) == 200 && strcmp(own, base) != 0 && !strcmp(base, other));
    void *data = read_file(adapter, &bytes);
    CHECK(truncate(adapter, 200) == 0);
    check_bits("m", base);
    check_bits("m:a", own); /* as it was when it was taken */
    write_file(adapter, data, bytes);
    free(data);
    check_bits("m:a", own);

    check_group("a model");
    data = read_file(weights, &bytes);
    CHECK(truncate(weights, 5000) == 0);
    check_told("m");
    check_bits("n", other);
    CHECK_THAT(ask("m:a", said) == 500, "%s", said); /* it is being loaded anew, and is no model */
    check_bits("n", other);
    write_file(weights, data, bytes);
    free(data);
    check_bits("m", base);
    check_bits("m:a", own);
    check_bits("n", other);
}

/* Under its name another: who was loaded keeps what he has. */
static void replace(void)
{
    char base[600], path[300];
    size_t bytes;
    check_group("another under its name");
    CHECK(ask("m", base) == 200);
    char *data = read_file(weights, &bytes);
    snprintf(path, sizeof path, "%s.new", weights);
    memset(data + bytes / 2, 0, bytes / 4);
    write_file(path, data, bytes);
    free(data);
    CHECK(rename(path, weights) == 0);
    check_bits("m", base);
    check_bits("n", base);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (!CHECK(mkdtemp(dir)) || !CHECK_OK(hn_engine_new(&engine, NULL)))
        return check_close();
    snprintf(models[0], sizeof models[0], "%s/m", dir);
    snprintf(models[1], sizeof models[1], "%s/n", dir);
    snprintf(adapter, sizeof adapter, "%s/a.gguf", dir);
    snprintf(weights, sizeof weights, "%s/model.safetensors", models[0]);
    copy_model(models[0]);
    copy_model(models[1]);
    CHECK_OK(hn_lm_import_adapter(engine, HN_SOURCE_DIR "/tests/differential/adapters/llama", models[0], adapter, NULL));
    if (serve()) {
        cut();
        replace();
    }
    hn_server_close(server);
    hn_shelf_close(&shelf);
    hn_engine_free(engine);
    hn_kept_remove(dir);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
