/* Lists and small things through the public functions alone: architectures, devices, levels, templates, the lines of a
 * run and its report, with the words that the program prints. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1 << 16 };

static const char *hone;
static char dir[256], tiny[512];

/* What a command in the test's folder writes; "HONE" is the program. */
static void shell(char *out, size_t room, const char *words)
{
    char line[4096];
    snprintf(line, sizeof line, "cd '%s' && HONE='%s' && TINY='%s' && { %s; } 2>err", dir, hone, tiny, words);
    FILE *f = popen(line, "r");
    const size_t n = f ? fread(out, 1, room - 1, f) : 0;
    CHECK_THAT(f && pclose(f) == 0, "%s", line);
    out[n] = 0;
}

static void writes(const char *name, const char *text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && !fclose(f));
}

/* ---- architectures ---- */

typedef struct counted {
    int n, n_gguf, n_within;
    bool has_width;
} counted;

static void count_key(void *context, const hn_lm_arch_key *key)
{
    counted *c = context;
    CHECK(key->name && *key->name && (!c->n_gguf || key->is_gguf)); /* config.json's come first */
    CHECK(key->use != HN_LM_KEY_ONE_VALUE || key->only);
    c->n++;
    c->n_gguf += key->is_gguf;
    c->n_within += key->depth > 0;
    c->has_width |= key->is_gguf && !strcmp(key->name, "llama.embedding_length") && key->use == HN_LM_KEY_USED;
}

static void check_archs(void)
{
    static char want[MOST], got[MOST];
    hn_lm_arch a;
    counted c = { 0 };
    size_t used = 0;
    check_group("architectures");
    shell(want, sizeof want, "$HONE archs | tail -n +2 | awk '{ print $1 }'");
    for (int32_t i = 0; i < hn_lm_archs(); i++) {
        CHECK_OK(hn_lm_arch_at(i, &a, sizeof a));
        CHECK(a.classes);
        used += (size_t)snprintf(got + used, sizeof got - used, "%s\n", a.name);
    }
    CHECK_TEXT(want, got);
    CHECK_FAILS(hn_lm_arch_at(hn_lm_archs(), &a, sizeof a), HN_ERR_ARGUMENT, "architecture");
    CHECK_FAILS(hn_lm_arch_named("lama", &a, sizeof a), HN_ERR_UNSUPPORTED, "llama");
    CHECK_OK(hn_lm_arch_named("llama", &a, sizeof a));
    CHECK(a.runs && !a.embeds && !strcmp(a.classes[0], "LlamaForCausalLM"));
    CHECK_OK(hn_lm_arch_keys("llama", count_key, &c));
    CHECK_THAT(c.n > 40 && c.n_gguf > 20 && c.n_within > 2 && c.has_width, "%d, %d, %d", c.n, c.n_gguf, c.n_within);
    CHECK_FAILS(hn_lm_arch_keys("llama", NULL, NULL), HN_ERR_ARGUMENT, "NULL");
}

/* ---- devices ---- */

static void check_devices(hn_engine *engine)
{
    static char want[MOST], got[MOST];
    char about[256];
    size_t used = 0, bytes;
    const char *level;
    hn_device_op op;
    int n_views = 0, n_with = 0;
    check_group("devices");
    shell(want, sizeof want, "$HONE devices --levels");
    for (int32_t i = 0; (level = hn_engine_level(i)); i++)
        used += (size_t)snprintf(got + used, sizeof got - used, "%s\n", level);
    CHECK_TEXT(want, got);
    CHECK_TEXT("ref", hn_engine_level(0));
    CHECK(!hn_engine_level(-1) && !hn_engine_level(1000));
    CHECK_TEXT("cpu", hn_engine_device(engine, 0));
    CHECK(!hn_engine_device(engine, 1));
    CHECK_OK(hn_engine_device_about(engine, 0, about, sizeof about, &bytes));
    snprintf(got, sizeof got, "cpu: %s\n", about);
    shell(want, sizeof want, "$HONE devices --threads 2");
    CHECK_TEXT(want, got);
    CHECK_FAILS(hn_engine_device_about(engine, 1, about, sizeof about, &bytes), HN_ERR_ARGUMENT, "device 1 of 1");
    for (int32_t i = 0; i < hn_device_ops(); i++) {
        CHECK_OK(hn_device_op_at(engine, 0, i, &op, sizeof op));
        n_views += op.is_view != 0;
        n_with += op.with[0] != 0;
        if (!strcmp(op.name, "rms_norm"))
            CHECK(strstr(op.with, "f32"));
    }
    CHECK_THAT(n_views > 2 && n_with > 10, "%d views, %d with kernels", n_views, n_with);
    CHECK_FAILS(hn_device_op_at(engine, 0, hn_device_ops(), &op, sizeof op), HN_ERR_ARGUMENT, "op ");
}

/* ---- templates ---- */

static void check_templates(hn_engine *engine)
{
    static char want[MOST];
    hn_lm_template *t;
    const hn_lm_rendered *r;
    char path[512], file[512];
    check_group("templates");
    writes("m.json", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"bc\"}]}");
    writes("own.jinja", "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}{{ x }}!");
    snprintf(path, sizeof path, "%s/m.json", dir);
    snprintf(file, sizeof file, "%s/own.jinja", dir);
    if (CHECK_OK(hn_lm_template_open(&t, engine, tiny, NULL, NULL))) {
        shell(want, sizeof want, "$HONE render \"$TINY\" m.json");
        CHECK_OK(hn_lm_template_render(t, path, NULL, &r)); /* a file, */
        CHECK_TEXT(want, r->text);
        CHECK_INT((int64_t)strlen(want), (int64_t)r->bytes);
        CHECK_OK(hn_lm_template_render(t, "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"bc\"}]",
                                       NULL, &r)); /* and what is in it */
        CHECK_TEXT(want, r->text);
        CHECK_FAILS(hn_lm_template_render(t, "[{", NULL, &r), HN_ERR_FORMAT, "messages");
        CHECK(!r);
        CHECK_FAILS(hn_lm_template_render(t, "nowhere.json", NULL, &r), HN_ERR_IO, "nowhere.json");
        hn_lm_template_free(t);
    }
    const char *variable = "x=7";
    const hn_lm_render_options o = { .size = sizeof o, .variables = &variable, .n_variables = 1 };
    if (CHECK_OK(hn_lm_template_open(&t, engine, tiny, file, NULL))) {
        CHECK_OK(hn_lm_template_render(t, path, &o, &r));
        CHECK_TEXT("abc7!", r->text);
        if (CHECK_INT(2, (int64_t)r->n_generated)) {
            CHECK(r->generated[0].begin == 0 && r->generated[0].end == 1);
            CHECK(r->generated[1].begin == 1 && r->generated[1].end == 3);
        }
        hn_lm_template_free(t);
    }
    CHECK_FAILS(hn_lm_template_open(&t, engine, tiny, NULL, "nobody's"), HN_ERR_ARGUMENT, "nobody's");
    CHECK_FAILS(hn_lm_template_open(&t, engine, tiny, file, "both"), HN_ERR_ARGUMENT, "--template-name");
    CHECK(!t);
}

/* ---- texts ---- */

typedef struct told {
    char all[256];
    size_t n, ends_at;
} told;

static hn_status hear(void *context, size_t number, const char *text, size_t bytes)
{
    told *t = context;
    CHECK_INT((int64_t)t->n, (int64_t)number);
    t->n++;
    strncat(t->all, text, bytes);
    strcat(t->all, "|");
    return t->n == t->ends_at ? HN_ERR_CANCELLED : HN_OK;
}

static void check_texts(hn_engine *engine)
{
    char path[512];
    told t = { .n = 0 };
    check_group("texts");
    writes("p.txt", "one\n\ntwo\nlines\n\nthree\n");
    writes("l.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
    writes("c.jsonl", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]}\n");
    snprintf(path, sizeof path, "%s/p.txt", dir);
    CHECK_OK(hn_texts_each(engine, path, hear, &t));
    CHECK_TEXT("one|two\nlines|three|", t.all);
    t = (told){ .ends_at = 2 };
    CHECK_INT(HN_ERR_CANCELLED, hn_texts_each(engine, path, hear, &t));
    CHECK_INT(2, (int64_t)t.n);
    snprintf(path, sizeof path, "%s/l.jsonl", dir);
    t = (told){ .n = 0 };
    CHECK_OK(hn_texts_each(engine, path, hear, &t));
    CHECK_TEXT("one|two|", t.all);
    snprintf(path, sizeof path, "%s/c.jsonl", dir);
    CHECK_FAILS(hn_texts_each(engine, path, hear, &t), HN_ERR_ARGUMENT, "messages are messages");
    CHECK_FAILS(hn_texts_each(engine, NULL, hear, &t), HN_ERR_ARGUMENT, "found NULL");
}

/* ---- a run's folder ---- */

static void check_runs(hn_engine *engine)
{
    static char out[MOST];
    hn_finetune_file *file;
    const hn_finetune_line *line;
    char path[512], report[4096];
    bool has_rank = false, has_model = false;
    check_group("runs");
    writes("r.toml", "version = 2\nmodel = \"m.gguf\"\nplain = true\nheld = []\nsteps = 4\ndata = [\"a\", \"b\"]\n");
    snprintf(path, sizeof path, "%s/r.toml", dir);
    if (CHECK_OK(hn_finetune_file_open(&file, engine, path))) {
        static const struct {
            const char *key, *text;
            hn_finetune_value value;
        } wants[] = { { "model", "m.gguf", HN_FINETUNE_TEXT }, { "plain", NULL, HN_FINETUNE_TRUE },
                      { "held", NULL, HN_FINETUNE_NONE },      { "steps", "4", HN_FINETUNE_TEXT },
                      { "data", "a", HN_FINETUNE_TEXT },       { "data", "b", HN_FINETUNE_TEXT } };
        for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
            line = hn_finetune_file_line(file, i);
            if (!CHECK(line))
                break;
            CHECK_TEXT(wants[i].key, line->key);
            CHECK_INT(wants[i].value, line->value);
            CHECK(wants[i].text ? line->text && !strcmp(wants[i].text, line->text) : !line->text);
        }
        CHECK(!hn_finetune_file_line(file, sizeof wants / sizeof *wants));
        hn_finetune_file_close(file);
    }
    snprintf(path, sizeof path, "%s/run", dir);
    CHECK_FAILS(hn_finetune_file_of_run(&file, engine, path), HN_ERR_IO, "run");
    CHECK(!file);
    writes("t.txt", "One day a little dog found a ball.\n\nThe ball was red.\n");
    shell(out, sizeof out, "$HONE train \"$TINY\" --data t.txt --out run --steps 2 --rank 2 --batch 1 --samples 0");
    if (CHECK_OK(hn_finetune_file_of_run(&file, engine, path))) {
        for (size_t i = 0; (line = hn_finetune_file_line(file, i)); i++) {
            has_rank |= !strcmp(line->key, "rank") && line->text && !strcmp(line->text, "2");
            has_model |= !strcmp(line->key, "model");
        }
        CHECK(has_rank && has_model);
        hn_finetune_file_close(file);
    }
    CHECK_OK(hn_finetune_report(engine, path, report, sizeof report, NULL));
    CHECK_THAT(strstr(report, "report.html") && !access(report, R_OK), "%s", report);
    CHECK_FAILS(hn_finetune_report(engine, dir, report, sizeof report, NULL), HN_ERR_IO, "");
}

int main(int argc, char **argv)
{
    hn_engine *engine;
    const char *temp = getenv("TMPDIR");
    check_open(argc, argv);
    hone = check_option("--hone");
    if (!CHECK_THAT(hone != NULL, "expected --hone PROGRAM"))
        return check_close();
    snprintf(tiny, sizeof tiny, "%s/assets/hone-tiny.gguf", HN_SOURCE_DIR);
    snprintf(dir, sizeof dir, "%.180s/hone-lists-XXXXXX", temp ? temp : "/tmp");
    CHECK(mkdtemp(dir));
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 2 }))) {
        int64_t before, live;
        hn_engine_memory(engine, &before, NULL, NULL);
        check_archs();
        check_devices(engine);
        check_templates(engine);
        check_texts(engine);
        check_runs(engine);
        hn_engine_memory(engine, &live, NULL, NULL);
        CHECK_INT(before, live);
        hn_engine_free(engine);
    }
    check_group(NULL);
    char line[400];
    snprintf(line, sizeof line, "rm -rf %s", dir);
    CHECK_INT(0, system(line));
    return check_close();
}
