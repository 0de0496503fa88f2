/* What hone embed makes of texts, beside sentence-transformers: poolings, Normalize, truncation, special
 * tokens written in a text; the directory and its GGUF to the same bits. What is not computed is
 * refused by name. References: tools/reference/sentence_vectors.py. */
#include "tests/harness/check.h"
#include "tests/harness/model_dir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_NUMBERS = 64, MAX_LINE = 4096 };

static hn_heap heap;
static const char *hone;
static char dir[64];

/* The output of a command, what it says on stderr too; its status. */
static int run(const char *command, char *out, size_t room)
{
    char line[MAX_LINE];
    snprintf(line, sizeof line, "%s 2>&1", command);
    FILE *f = popen(line, "r");
    const size_t n = f ? fread(out, 1, room - 1, f) : 0;
    out[n] = 0;
    return f ? pclose(f) : -1;
}

static void put(const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, file);
    char *slash = strrchr(path + strlen(dir) + 1, '/');
    if (slash) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0);
    if (f)
        fclose(f);
}

static void make_dir_of(const char *model)
{
    char line[MAX_LINE], out[256];
    snprintf(dir, sizeof dir, "/tmp/hone-embed-XXXXXX");
    CHECK(mkdtemp(dir));
    snprintf(line, sizeof line, "ln -s '%s/tests/differential/%s/'* %s/", HN_SOURCE_DIR, model, dir);
    CHECK_INT(0, run(line, out, sizeof out));
}

static void make_dir(void) { make_dir_of("sentence/model"); }

static void remove_dir(void)
{
    char line[MAX_LINE], out[256];
    snprintf(line, sizeof line, "rm -r %s", dir);
    CHECK_INT(0, run(line, out, sizeof out));
}

static int embed(const char *options, const char *model, const char *text, char *out, size_t room)
{
    char line[MAX_LINE];
    snprintf(line, sizeof line, "%s embed --threads 1 %s %s '%s'", hone, options, model, text);
    return run(line, out, room);
}

static int read_numbers(const char *text, double *out)
{
    int n = 0;
    for (char *end; n < MAX_NUMBERS; n++, text = end) {
        out[n] = strtod(text, &end);
        if (end == text)
            break;
    }
    return n;
}

static void check_vector(const char *text, const hn_json *want, const char *of_dir, const char *of_file)
{
    double got[MAX_NUMBERS], error = 0, size = 0;
    const char *numbers = of_dir;
    while (*numbers && !strchr("-0123456789", *numbers)) /* past what it says of cutting */
        numbers = strchr(numbers, '\n') ? strchr(numbers, '\n') + 1 : numbers + strlen(numbers);
    const int n = read_numbers(numbers, got);
    if (!CHECK_INT((int64_t)want->as.children.n, n))
        return;
    int i = 0;
    for (const hn_json *v = want->as.children.first; v; v = v->next, i++) {
        double expected = 0;
        CHECK_OK(hn_json_want_double(v, text, &expected));
        error += (got[i] - expected) * (got[i] - expected);
        size += expected * expected;
    }
    CHECK_THAT(sqrt(error / size) < 1e-5, "\"%s\": at a distance of %.3g", text, sqrt(error / size));
    CHECK_TEXT(of_dir, of_file);
}

static void check_case(const hn_json *texts, const hn_json *c, int number)
{
    char name[32], line[MAX_LINE], out[MAX_LINE], of_dir[MAX_LINE], of_file[MAX_LINE], gguf[96];
    snprintf(name, sizeof name, "case %d", number);
    check_group(name);
    make_dir();
    for (const hn_json *f = hn_json_get(c, "files")->as.children.first; f; f = f->next) {
        hn_str text = hn_str_on(&heap);
        hn_json_writer w = hn_json_write_to(&text);
        hn_json_add_value(&w, f);
        put(f->key, text.text);
        hn_str_free(&text);
    }
    snprintf(gguf, sizeof gguf, "%s/x.gguf", dir);
    snprintf(line, sizeof line, "%s convert %s %s", hone, dir, gguf);
    CHECK_THAT(run(line, out, sizeof out) == 0, "convert: %s", out);
    const int64_t longest = hn_json_get(c, "longest")->as.integer;
    for (size_t i = 0; hn_json_at(texts, i); i++) {
        const char *text = hn_json_at(texts, i)->as.string.text;
        char cut[64];
        snprintf(cut, sizeof cut, "cut to %d", (int)longest);
        CHECK_INT(0, embed("", dir, text, of_dir, sizeof of_dir));
        CHECK_INT(0, embed("", gguf, text, of_file, sizeof of_file));
        check_vector(text, hn_json_at(hn_json_get(c, "vectors"), i), of_dir, of_file);
        if (i == 3) /* the long one */
            CHECK_THAT(strstr(of_dir, cut), "nothing is said of cutting: %s", of_dir);
    }
    CHECK_THAT(embed("--too-long refuse", gguf, hn_json_at(texts, 3)->as.string.text, out, sizeof out) != 0 &&
                   strstr(out, "tokens: expected at most"), "--too-long refuse: %s", out);
    remove_dir();
}

/* One file that says what hone does not compute. */
static void refuses(const char *file, const char *text, const char *words)
{
    char out[MAX_LINE], line[MAX_LINE];
    check_group(words);
    make_dir();
    put("modules.json", "[{\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"},"
                        "{\"idx\": 1, \"name\": \"1\", \"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"}]");
    put("1_Pooling/config.json", "{\"word_embedding_dimension\": 16}");
    put(file, text);
    CHECK_THAT(embed("", dir, "a text", out, sizeof out) != 0 && strstr(out, words), "%s", out);
    snprintf(line, sizeof line, "%s convert %s %s/x.gguf", hone, dir, dir);
    CHECK_THAT(run(line, out, sizeof out) != 0 && strstr(out, words), "convert: %s", out);
    remove_dir();
}

#define ENTRY(i, path, kind) "{\"idx\": " #i ", \"name\": \"" #i "\", \"path\": \"" path "\", \"type\": \"" kind "\"}"
#define ST "sentence_transformers.models."

/* A model that generates: the files beside it say its pooling, and so does what is converted. */
static void check_generating(const char *name, const char *files, const char *options, const char *key)
{
    char line[MAX_LINE], out[MAX_LINE], want[MAX_LINE], of_dir[MAX_LINE], of_file[MAX_LINE], model[64], gguf[96], plain[512];
    check_group(name);
    snprintf(model, sizeof model, "models/%s", name);
    snprintf(plain, sizeof plain, "%s/tests/differential/%s", HN_SOURCE_DIR, model);
    make_dir_of(model);
    snprintf(gguf, sizeof gguf, "%s/x.gguf", dir);
    CHECK_THAT(embed("", dir, "a text", out, sizeof out) != 0 && strstr(out, "says no pooling: expected one of cls, max, mean"), "%s", out);
    CHECK_INT(0, embed(options, plain, "a text", want, sizeof want));
    put("modules.json", files);
    put("1_Pooling/config.json", "{\"embedding_dimension\": 32, \"pooling_mode\": \"lasttoken\", \"include_prompt\": true}");
    put("config_sentence_transformers.json", "{\"prompts\": {\"query\": \"Instruct: \"}, \"default_prompt_name\": null}");
    CHECK_INT(0, embed("", dir, "a text", of_dir, sizeof of_dir));
    CHECK_TEXT(want, of_dir);
    snprintf(line, sizeof line, "%s convert %s %s", hone, dir, gguf);
    CHECK_THAT(run(line, out, sizeof out) == 0, "convert: %s", out);
    CHECK_INT(0, embed("", gguf, "a text", of_file, sizeof of_file));
    CHECK_TEXT(want, of_file);
    snprintf(line, sizeof line, "%s inspect %s --keys", hone, gguf);
    CHECK_THAT(run(line, out, sizeof out) == 0 && strstr(out, key), "%s: expected %s", out, key);
    put("1_Pooling/config.json", "{\"embedding_dimension\": 31}");
    CHECK_THAT(embed(options, dir, "a text", out, sizeof out) != 0 && strstr(out, "the model's width is 32"), "%s", out);
    remove_dir();
}

/* Without a head it embeds only: neither the embedding nor anything else stands in for one, in the directory and in what is made of it. */
static void check_headless(void)
{
    char line[MAX_LINE], out[MAX_LINE], gguf[96];
    check_group("headless");
    make_dir_of("models/mistral-headless");
    snprintf(gguf, sizeof gguf, "%s/x.gguf", dir);
    snprintf(line, sizeof line, "%s convert %s %s", hone, dir, gguf);
    CHECK_THAT(run(line, out, sizeof out) == 0, "convert: %s", out);
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line, "%s run %s --prompt a", hone, i ? gguf : dir);
        CHECK_THAT(run(line, out, sizeof out) != 0 && strstr(out, "only embeds texts"), "%s: %s", line, out);
    }
    remove_dir();
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hone = check_option("--hone");
    hn_heap_init(&heap, NULL);
    hn_json_text *text = json_read_file(&heap, HN_SOURCE_DIR "/tests/differential/sentence/vectors.json");
    int n = 0;
    if (CHECK(hone) && text) {
        const hn_json *cases = hn_json_get(hn_json_root(text), "cases");
        for (const hn_json *c = cases->as.children.first; c; c = c->next)
            check_case(hn_json_get(hn_json_root(text), "texts"), c, n++);
        refuses("modules.json", "[" ENTRY(0, "", ST "Transformer") "," ENTRY(1, "1_Pooling", ST "Pooling") ","
                ENTRY(2, "2_Dense", ST "Dense") "]", "module 2 is Dense");
        refuses("modules.json", "[" ENTRY(0, "", ST "Transformer") "," ENTRY(1, "1_Pooling", ST "Pooling") ","
                ENTRY(2, "", "my_module.Own") "]", "module my_module.Own");
        refuses("modules.json", "[" ENTRY(0, "0_Transformer", ST "Transformer") "]", "module 0 is Transformer");
        refuses("1_Pooling/config.json", "{\"pooling_mode\": \"median\"}", "pooling median");
        refuses("1_Pooling/config.json", "{\"word_embedding_dimension\": 17}", "the model's width is 16");
        refuses("1_Pooling/config.json", "{\"pooling_mode_meen_tokens\": true}", "no key that is known");
        refuses("sentence_bert_config.json", "{\"max_seq_length\": \"long\"}", "max_seq_length");
        refuses("sentence_bert_config.json", "{\"max_length\": 4}", "no key that is known");
        refuses("config_sentence_transformers.json", "{\"prompts\": {\"q\": \"query: \"}, \"default_prompt_name\": \"q\"}",
                "default_prompt_name");
    }
    check_generating("qwen3", "[" ENTRY(0, "", ST "Transformer") "," ENTRY(1, "1_Pooling", ST "Pooling") "]", "--pooling lasttoken",
                     "qwen3.pooling_type");
    check_generating("mistral", "[" ENTRY(0, "", ST "Transformer") "," ENTRY(1, "1_Pooling", ST "Pooling") ","
                     ENTRY(2, "2_Normalize", ST "Normalize") "]", "--pooling lasttoken --normalize", "hone.normalize");
    check_generating("mistral-headless", "[" ENTRY(0, "", ST "Transformer") "," ENTRY(1, "1_Pooling", ST "Pooling") "]", "--pooling lasttoken",
                     "hone.headless");
    check_headless();
    CHECK(n >= 10);
    hn_json_free(text);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
