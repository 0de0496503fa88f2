/* What Python makes of the same text: its line ends, its YAML's truth values, its idea of what is false. Every
 * oddity here is the converter's, and kept, because the keys are to be equal to the letter. */
#include "convert/model_card.h"

#include "base/str.h"
#include "base/utf8.h"
#include "convert/model_id.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CARD = 16 << 20, MAX_ITEMS = 1024 };

/* Bytes of the line break at `at`, by Python's str.splitlines; 0 if there is none. */
static size_t line_break(const char *at, const char *end)
{
    const size_t room = (size_t)(end - at);
    if (at[0] == '\r' && room > 1 && at[1] == '\n')
        return 2;
    if ((at[0] >= '\n' && at[0] <= '\r') || (at[0] >= 0x1c && at[0] <= 0x1e))
        return 1;
    if (room > 1 && !memcmp(at, "\xc2\x85", 2))
        return 2;
    return room > 2 && (!memcmp(at, "\xe2\x80\xa8", 3) || !memcmp(at, "\xe2\x80\xa9", 3)) ? 3
                                                                                          : 0;
}

/* The next line without its end; false after the last. */
static bool next_line(const char **at, const char *end, hn_span *line)
{
    const char *begin = *at;
    if (begin == end)
        return false;
    while (*at < end && !line_break(*at, end))
        ++*at;
    *line = (hn_span){ begin, (size_t)(*at - begin) };
    if (*at < end)
        *at += line_break(*at, end);
    return true;
}

static bool is_rule(hn_span line) { return line.bytes == 3 && !memcmp(line.data, "---", 3); }

/* A tab is two blanks, and "- no" at the end of a line is Norwegian. */
static void add_line(hn_str *yaml, hn_span line)
{
    const char *text = line.data;
    size_t n = line.bytes;
    const bool is_norway = n >= 4 && !memcmp(text + n - 4, "- no", 4);
    n -= is_norway ? 2 : 0;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\t')
            hn_str_add(yaml, "  ");
        else
            hn_str_add_char(yaml, text[i]);
    }
    hn_str_add(yaml, is_norway ? "\"no\"\n" : "\n");
}

hn_status hn_model_card_parse(const hn_hf_dir *dir, const char *text, size_t bytes,
                              hn_yaml_text *out)
{
    *out = (hn_yaml_text){ .heap = dir->heap };
    const char *at = text, *end = text + bytes;
    char name[512];
    hn_span line;
    if (!next_line(&at, end, &line) || !is_rule(line))
        return HN_OK;
    hn_str yaml = hn_str_on(dir->heap);
    while (next_line(&at, end, &line) && !is_rule(line))
        add_line(&yaml, line);
    snprintf(name, sizeof name, "%s/README.md", dir->path);
    hn_status status = hn_str_status(&yaml);
    if (status == HN_OK)
        status = hn_yaml_read(dir->heap, name, 2, yaml.text, yaml.length, out);
    hn_str_free(&yaml);
    if (status == HN_OK && out->root->kind != HN_YAML_MAP)
        hn_yaml_free(out);
    return status;
}

hn_status hn_model_card_read(const hn_hf_dir *dir, hn_yaml_text *out)
{
    void *text;
    size_t bytes;
    *out = (hn_yaml_text){ .heap = dir->heap };
    HN_TRY(hn_hf_dir_read(dir, "README.md", MAX_CARD, &text, &bytes));
    if (!text)
        return HN_OK;
    const hn_status status = hn_model_card_parse(dir, text, bytes, out);
    hn_free(dir->heap, text);
    return status;
}

static hn_status no_text(const hn_hf_dir *dir, const char *key, const hn_yaml *value)
{
    static const char *const kinds[] = {
        [HN_YAML_NULL] = "nothing",          [HN_YAML_TEXT] = "a NUL, or half a character",
        [HN_YAML_BOOL] = "the truth value ", [HN_YAML_INT] = "the number ",
        [HN_YAML_FLOAT] = "the number ",     [HN_YAML_LIST] = "a list",
        [HN_YAML_MAP] = "a mapping",         [HN_YAML_OTHER] = "a date, bytes, a set or a pair",
    };
    const bool is_plain = value->kind == HN_YAML_BOOL || value->kind == HN_YAML_INT ||
                          value->kind == HN_YAML_FLOAT;
    return hn_fail(HN_ERR_FORMAT, "%s/README.md:%d: %s: expected a text, found %s%s", dir->path,
                   value->line, key, kinds[value->kind],
                   is_plain && value->text ? value->text : "");
}

/* A text that GGUF can hold. */
static bool is_text(const hn_yaml *value)
{
    if (value->kind != HN_YAML_TEXT || memchr(value->text, 0, value->bytes))
        return false;
    for (size_t at = 0, n; at < value->bytes; at += n)
        if (!(n = hn_utf8_length(value->text + at, value->bytes - at)))
            return false;
    return true;
}

/* What Python takes for false the converter does not write. */
static hn_status want_text(const hn_hf_dir *dir, const char *key, const hn_yaml *value,
                           const char **out)
{
    if (value->kind != HN_YAML_NULL && hn_yaml_is_false(value)) {
        *out = "";
        return HN_OK;
    }
    *out = value->text;
    return is_text(value) ? HN_OK : no_text(dir, key, value);
}

hn_status hn_model_card_text(const hn_hf_dir *dir, const hn_yaml *card, const char *const *keys,
                             const char **out)
{
    for (; *keys; keys++) {
        const hn_yaml *value = hn_yaml_get(card, *keys);
        if (value && value->kind != HN_YAML_NULL)
            return want_text(dir, *keys, value, out);
    }
    return HN_OK;
}

/* Empty texts are not written. */
static hn_status set_text(hn_meta *meta, const char *key, const char *text)
{
    return text[0] ? hn_meta_set_text(meta, key, text) : HN_OK;
}

static hn_status add_licence(const hn_hf_dir *dir, const hn_yaml *card, hn_meta *meta)
{
    const hn_yaml *value = hn_yaml_get(card, "license");
    const char *text = "";
    if (!value || value->kind == HN_YAML_NULL)
        return HN_OK;
    if (value->kind != HN_YAML_LIST) {
        HN_TRY(want_text(dir, "license", value, &text));
        return set_text(meta, "general.license", text);
    }
    hn_str all = hn_str_on(dir->heap);
    hn_status status = HN_OK;
    for (size_t i = 0; i < value->n && status == HN_OK; i++) {
        const hn_yaml *item = value->items[i].value;
        status = is_text(item) ? HN_OK : no_text(dir, "license", item);
        if (status == HN_OK)
            hn_str_print(&all, "%s%s", i ? "," : "", item->text);
    }
    if (status == HN_OK)
        status = hn_str_status(&all);
    if (status == HN_OK)
        status = set_text(meta, "general.license", all.text);
    hn_str_free(&all);
    return status;
}

/* Words that are no texts: numbers or truth values of one kind are written as such. */
static hn_status set_numbers(const hn_hf_dir *dir, const char *key, const hn_yaml *const *items,
                             size_t n, const char *to, hn_meta *meta)
{
    const hn_yaml_kind kind = items[0]->kind;
    for (size_t i = 0; i < n; i++) {
        const bool fits = kind == HN_YAML_BOOL || kind == HN_YAML_FLOAT ||
                          (items[i]->integer >= INT32_MIN && items[i]->integer <= INT32_MAX);
        HN_REQUIRE(items[i]->kind == kind && kind >= HN_YAML_BOOL && kind <= HN_YAML_FLOAT &&
                       fits,
                   HN_ERR_FORMAT,
                   "%s/README.md:%d: %s: expected texts, in quotes where YAML takes them for "
                   "something else",
                   dir->path, items[i]->line, key);
    }
    int64_t *integers = hn_alloc_array(dir->heap, HN_TAG_TEXT, n, sizeof *integers);
    double *numbers = hn_alloc_array(dir->heap, HN_TAG_TEXT, n, sizeof *numbers);
    uint8_t *truths = hn_alloc(dir->heap, HN_TAG_TEXT, n);
    hn_status status = integers && numbers && truths ? HN_OK : HN_ERR_MEMORY;
    for (size_t i = 0; i < n && status == HN_OK; i++) {
        integers[i] = items[i]->integer;
        numbers[i] = items[i]->number;
        truths[i] = items[i]->integer != 0;
    }
    if (status == HN_OK && kind == HN_YAML_FLOAT)
        status = hn_meta_set_doubles(meta, to, HN_META_F32, numbers, n);
    else if (status == HN_OK && kind == HN_YAML_INT)
        status = hn_meta_set_ints(meta, to, HN_META_I32, integers, n);
    else if (status == HN_OK)
        status = hn_meta_set_copy(meta, &(hn_meta_value){ .key = to,
                                                          .type = HN_META_BOOL,
                                                          .is_array = true,
                                                          .n = n,
                                                          .data = truths,
                                                          .bytes = n });
    hn_free(dir->heap, integers);
    hn_free(dir->heap, numbers);
    hn_free(dir->heap, truths);
    return status;
}

static hn_status set_words(const hn_hf_dir *dir, const char *key, const hn_yaml *const *items,
                           size_t n, const char *to, hn_meta *meta)
{
    for (size_t i = 0; i < n; i++)
        if (!is_text(items[i]))
            return set_numbers(dir, key, items, n, to, meta);
    hn_span *words = hn_alloc_array(dir->heap, HN_TAG_TEXT, n, sizeof *words);
    if (!words)
        return HN_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        words[i] = (hn_span){ items[i]->text, items[i]->bytes };
    const hn_status status = hn_meta_set_strings(meta, to, words, n);
    hn_free(dir->heap, words);
    return status;
}

/* The words under two keys, one after the other. */
static hn_status add_words(const hn_hf_dir *dir, const hn_yaml *card, const char *const keys[2],
                           const char *to, hn_meta *meta)
{
    const hn_yaml *values[2];
    size_t counts[2], n = 0;
    for (int k = 0; k < 2; k++) {
        values[k] = hn_yaml_get(card, keys[k]);
        const bool is_list = values[k] && values[k]->kind == HN_YAML_LIST;
        counts[k] = is_list ? values[k]->n : values[k] && values[k]->kind == HN_YAML_TEXT;
    }
    if (!counts[0] && !counts[1])
        return HN_OK;
    const hn_yaml **items =
        hn_alloc_array(dir->heap, HN_TAG_TEXT, counts[0] + counts[1], sizeof *items);
    if (!items)
        return HN_ERR_MEMORY;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < counts[k]; i++)
            items[n++] =
                values[k]->kind == HN_YAML_LIST ? values[k]->items[i].value : values[k];
    const hn_status status = set_words(dir, keys[0], items, n, to, meta);
    hn_free(dir->heap, items);
    return status;
}

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* ORG/NAME of https://huggingface.co/ORG/NAME; NULL for other addresses. */
static const char *hub_id(const char *url)
{
    const char *at = begins(url, "https://")  ? url + 8
                     : begins(url, "http://") ? url + 7
                                              : NULL;
    if (!at || !begins(at, "huggingface.co/"))
        return NULL;
    at += strlen("huggingface.co/");
    const char *slash = strchr(at, '/');
    return slash && slash > at && slash[1] && !strchr(slash + 1, '/') ? at : NULL;
}

static hn_status set_part(hn_meta *meta, const char *prefix, const char *part, const char *text)
{
    char key[96];
    snprintf(key, sizeof key, "%s.%s", prefix, part);
    return set_text(meta, key, text);
}

static hn_status add_id(const char *id, bool is_url, const char *prefix, double parameters,
                        hn_meta *meta)
{
    hn_model_id parts;
    hn_status status = hn_model_id_read(meta->heap, id, parameters, &parts);
    if (status == HN_OK)
        status = set_part(meta, prefix, "name", parts.title);
    if (status == HN_OK && parts.organization)
        status = set_part(meta, prefix, "organization", parts.organization);
    if (status == HN_OK)
        status = set_part(meta, prefix, "version", parts.name.version);
    if (status == HN_OK && !is_url && parts.organization) {
        hn_str url = hn_str_on(meta->heap);
        hn_str_print(&url, "https://huggingface.co/%s", id);
        status = hn_str_status(&url);
        if (status == HN_OK)
            status = set_part(meta, prefix, "repo_url", url.text);
        hn_str_free(&url);
    }
    hn_model_id_free(&parts);
    return status;
}

/* One base model or data set: an id of the hub, an address, or a mapping that says all itself.
 */
static hn_status add_origin(const hn_hf_dir *dir, const hn_yaml *value, const char *prefix,
                            double parameters, hn_meta *meta)
{
    static const char *const parts[] = { "name",         "author",      "version",
                                         "organization", "description", "url",
                                         "doi",          "uuid",        "repo_url" };
    if (value->kind == HN_YAML_TEXT) {
        if (!is_text(value))
            return no_text(dir, prefix, value);
        const bool is_url = begins(value->text, "http://") || begins(value->text, "https://") ||
                            begins(value->text, "ssh://");
        const char *id = is_url ? hub_id(value->text) : value->text;
        if (is_url)
            HN_TRY(set_part(meta, prefix, "repo_url", value->text));
        return id ? add_id(id, is_url, prefix, parameters, meta) : HN_OK;
    }
    for (size_t i = 0; value->kind == HN_YAML_MAP && i < sizeof parts / sizeof *parts; i++) {
        const hn_yaml *part = hn_yaml_get(value, parts[i]);
        const char *text;
        if (!part || part->kind == HN_YAML_NULL)
            continue;
        HN_TRY(want_text(dir, parts[i], part, &text));
        HN_TRY(set_part(meta, prefix, parts[i], text));
    }
    return HN_OK;
}

/* The first of the keys that is there counts, even if it has no value. */
static hn_status add_origins(const hn_hf_dir *dir, const hn_yaml *card,
                             const char *const keys[3], const char *to, double parameters,
                             hn_meta *meta)
{
    const hn_yaml *value = NULL;
    char key[80];
    for (int k = 0; k < 3 && !value; k++)
        value = hn_yaml_get(card, keys[k]);
    if (!value)
        return HN_OK;
    const bool is_list = value->kind == HN_YAML_LIST;
    const size_t n = is_list ? value->n : value->kind == HN_YAML_TEXT;
    HN_REQUIRE(n <= MAX_ITEMS, HN_ERR_UNSUPPORTED, "%s/README.md:%d: %s: more than %d",
               dir->path, value->line, to, MAX_ITEMS);
    for (size_t i = 0; i < n; i++) {
        snprintf(key, sizeof key, "%s.%d", to, (int)i);
        HN_TRY(add_origin(dir, is_list ? value->items[i].value : value, key, parameters, meta));
    }
    snprintf(key, sizeof key, "%s.count", to);
    return hn_meta_set_int(meta, key, HN_META_U32, (int64_t)n);
}

hn_status hn_model_card_keys(const hn_hf_dir *dir, const hn_yaml *card, double parameters,
                             hn_meta *meta)
{
    static const struct {
        const char *key, *names[4];
    } texts[] = {
        { "general.author", { "author", "model_author", "model_creator" } },
        { "general.description", { "description", "model_description" } },
        { "general.source.url", { "url", "model_url" } },
        { "general.source.doi", { "doi", "model_doi" } },
        { "general.source.uuid", { "uuid", "model_uuid" } },
        { "general.source.repo_url", { "repo_url", "model_repo_url" } },
        { "general.license.name", { "license_name" } },
        { "general.license.link", { "license_link" } },
    };
    static const char *const tags[] = { "tags", "pipeline_tag" },
                             *const languages[] = { "languages", "language" },
                             *const bases[] = { "base_model", "base_models",
                                                "base_model_sources" },
                             *const sets[] = { "datasets", "dataset", "dataset_sources" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *text = "";
        HN_TRY(hn_model_card_text(dir, card, texts[i].names, &text));
        HN_TRY(set_text(meta, texts[i].key, text));
    }
    HN_TRY(add_licence(dir, card, meta));
    HN_TRY(add_words(dir, card, tags, "general.tags", meta));
    HN_TRY(add_words(dir, card, languages, "general.languages", meta));
    HN_TRY(add_origins(dir, card, bases, "general.base_model", parameters, meta));
    return add_origins(dir, card, sets, "general.dataset", parameters, meta);
}
