/* Model cards against llama.cpp's converter: the keys general.* that 323 directories get.
 * model_cards.json was made by tools/reference/model_cards.py. Where the converter ends with an
 * exception hone refuses. */
#include "convert/general_keys.h"

#include "base/file.h"
#include "base/str.h"
#include "base/yaml.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static hn_heap heap, starved;
static char folder[64] = "/tmp/hone-cards-XXXXXX", path[128], config[192], readme[192];

static void put(const char *file, const hn_json *text)
{
    const hn_span span = { text->as.string.text, text->as.string.bytes };
    CHECK_OK(hn_file_write(hn_sink_own(file), &span, 1));
}

static hn_status keys_of(hn_heap *on, const hn_json *row, hn_meta *meta)
{
    hn_model_size size = { .parameters = (double)hn_json_get(row, "parameters")->as.integer };
    const hn_json *name = hn_json_get(row, "config"), *card = hn_json_get(row, "card");
    char text[256] = "{}";
    hn_hf_dir *dir;
    if (name->kind == HN_JSON_STRING)
        snprintf(text, sizeof text, "{\"_name_or_path\": \"%s\"}", name->as.string.text);
    const hn_span span = { text, strlen(text) };
    HN_TRY(hn_file_write(hn_sink_own(config), &span, 1));
    unlink(readme);
    if (card->kind == HN_JSON_STRING)
        put(readme, card);
    HN_TRY(hn_hf_dir_open(on, path, 0, &dir));
    const hn_status status = hn_general_keys(dir, NULL, &size, -1, meta);
    hn_hf_dir_close(dir);
    return status;
}

static bool same_text(const hn_json *want, hn_span got)
{
    return want->kind == HN_JSON_STRING && want->as.string.bytes == got.bytes &&
           !memcmp(want->as.string.text, got.data, got.bytes);
}

static void check_numbers(const hn_json *want, const hn_meta_value *got, const char *card)
{
    const hn_json_kind kind = hn_json_at(want, 0)->kind;
    CHECK_INT(kind == HN_JSON_INT    ? HN_META_I32
              : kind == HN_JSON_BOOL ? HN_META_BOOL
                                     : HN_META_F32,
              got->type);
    bool same = got->is_array && want->as.children.n == got->n;
    for (uint64_t i = 0; same && i < got->n; i++) {
        const hn_json *item = hn_json_at(want, i);
        same = kind == HN_JSON_BOOL ? item->as.boolean == (got->data[i] != 0)
               : kind == HN_JSON_DOUBLE
                   ? (float)item->as.number == (float)hn_meta_item_double(got, i)
                   : item->as.integer == hn_meta_item_int(got, i);
    }
    CHECK_THAT(same, "%s differs: %s", want->key, card);
}

static void check_value(const hn_json *want, const hn_meta_value *got, const char *card)
{
    size_t cursor = 0;
    if (!CHECK_THAT(got != NULL, "%s is missing: %s", want->key, card))
        return;
    if (want->kind == HN_JSON_INT) {
        CHECK(got->type == HN_META_U32 && !got->is_array);
        CHECK_INT(want->as.integer, hn_meta_item_int(got, 0));
        return;
    }
    const bool is_array = want->kind == HN_JSON_ARRAY;
    if (is_array && hn_json_at(want, 0)->kind != HN_JSON_STRING) {
        check_numbers(want, got, card);
        return;
    }
    CHECK(got->type == HN_META_STRING && got->is_array == is_array);
    bool same = !is_array || want->as.children.n == got->n;
    for (uint64_t i = 0; same && i < got->n; i++)
        same =
            same_text(is_array ? hn_json_at(want, i) : want, hn_meta_next_string(got, &cursor));
    CHECK_THAT(same, "%s differs: %s", want->key, card);
}

static bool is_compared(const char *key)
{
    return strcmp(key, "general.type") != 0 && strcmp(key, "general.quantization_version") != 0;
}

static void check_row(const hn_json *row)
{
    const hn_json *want = hn_json_get(row, "keys"), *text = hn_json_get(row, "card");
    const char *card = text->kind == HN_JSON_STRING ? text->as.string.text : "no card";
    hn_meta meta = hn_meta_on(&heap, "card");
    const hn_status status = keys_of(&heap, row, &meta);
    if (!want) {
        CHECK_THAT(status == HN_ERR_FORMAT, "not refused: %s", card);
        CHECK_THAT(strstr(hn_error_message(), "README.md:") != NULL, "no line: %s: %s", card,
                   hn_error_message());
    } else if (CHECK_THAT(status == HN_OK, "%s: %s", hn_error_message(), card)) {
        for (const hn_json *k = want->as.children.first; k; k = k->next)
            check_value(k, hn_meta_find(&meta, k->key), card);
        for (size_t i = 0; i < meta.n; i++)
            CHECK_THAT(!is_compared(meta.values[i].key) ||
                           hn_json_get(want, meta.values[i].key),
                       "%s is too much: %s", meta.values[i].key, card);
    }
    hn_meta_free(&meta);
}

static void refuse_text(const char *yaml, const char *words)
{
    hn_yaml_text text;
    CHECK_FAILS(hn_yaml_read(&heap, "card", 2, yaml, strlen(yaml), &text), HN_ERR_FORMAT,
                words);
    CHECK(!text.root && !text.nodes);
}

/* Few lines that stand for gigabytes, and levels that would fill the stack. */
static void check_bounds(void)
{
    hn_str text = hn_str_on(&heap);
    const int64_t before = heap.live_bytes;
    hn_str_add(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 10; i++) {
        hn_str_print(&text, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++)
            hn_str_print(&text, "*a%d, ", i - 1);
        hn_str_add(&text, "]\n");
    }
    refuse_text(text.text, "card:7: aliases that repeat too much");
    hn_str_clear(&text);
    hn_str_add(&text, "a0: &a0 {x: 1}\n");
    for (int i = 1; i < 40; i++)
        hn_str_print(&text, "a%d: &a%d\n  <<: [*a%d, *a%d]\n", i, i, i - 1, i - 1);
    refuse_text(text.text, "aliases that repeat too much");
    hn_str_clear(&text);
    for (int i = 0; i < 30; i++) /* each within what it merges, which has no items yet */
        hn_str_print(&text, "&b%d {k: ", i);
    hn_str_add(&text, "x");
    for (int i = 29; i > 0; i--)
        hn_str_print(&text, ", <<: [*b%d, *b%d]}", i - 1, i - 1);
    hn_str_add(&text, "}");
    refuse_text(text.text, "merge keys that repeat too much");
    hn_str_clear(&text);
    for (int i = 0; i <= HN_YAML_MAX_DEPTH; i++)
        hn_str_add_char(&text, '[');
    refuse_text(text.text, "too many levels");
    hn_str_clear(&text);
    for (int i = 0; i <= HN_YAML_MAX_DEPTH; i++)
        hn_str_add(&text, "- ");
    refuse_text(text.text, "too many levels");
    hn_str_free(&text);
    CHECK_INT(before, heap.live_bytes);
}

/* Each allocation refused once: a status, and nothing left behind. */
static void check_refusals(const hn_json *row)
{
    for (int64_t n = 1;; n++) {
        hn_heap_init(&starved, NULL);
        starved.fail_at = n;
        hn_meta meta = hn_meta_on(&starved, "card");
        const hn_status status = keys_of(&starved, row, &meta);
        hn_meta_free(&meta);
        CHECK_INT(0, starved.live_blocks);
        if (starved.n_calls < n) {
            CHECK_INT(HN_OK, status);
            break;
        }
        if (!CHECK_INT(HN_ERR_MEMORY, status))
            break;
    }
}

int main(int argc, char **argv)
{
    void *text = NULL;
    size_t bytes = 0;
    hn_json_text *json = NULL;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK(mkdtemp(folder) != NULL)) {
        snprintf(path, sizeof path, "%s/tiny-model-7B-v2", folder);
        snprintf(config, sizeof config, "%s/config.json", path);
        snprintf(readme, sizeof readme, "%s/README.md", path);
        CHECK(mkdir(path, 0700) == 0);
        CHECK_OK(hn_file_read(&heap, HN_SOURCE_DIR "/tests/differential/model_cards.json",
                              1 << 20, &text, &bytes));
        if (text && CHECK_OK(hn_json_read(&heap, "model_cards.json", text, bytes, &json)))
            for (const hn_json *r = hn_json_root(json)->as.children.first; r; r = r->next)
                check_row(r);
        for (size_t i = 0; json && i < hn_json_root(json)->as.children.n; i++)
            if (hn_json_get(hn_json_at(hn_json_root(json), i), "keys") && i % 8 == 5)
                check_refusals(hn_json_at(hn_json_root(json), i));
    }
    check_bounds();
    unlink(config), unlink(readme), rmdir(path), rmdir(folder);
    hn_json_free(json);
    hn_free(&heap, text);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
