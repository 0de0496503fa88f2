/* An example has the format whose keys it has; where that is none or several it is refused, and the message lists
 * its keys. Nothing is guessed by content. */
#include "data/format.h"

#include "base/word_list.h"

#include <string.h>

static const char *const names[] = {
#define NAME(upper, name, keys) name,
    HN_DATA_FORMAT_LIST(NAME)
#undef NAME
};

static const char *const keys_of[] = {
#define KEYS(upper, name, keys) keys,
    HN_DATA_FORMAT_LIST(KEYS)
#undef KEYS
};

const char *hn_data_format_name(hn_data_format format) { return names[format]; }

hn_status hn_data_format_parse(const char *word, hn_data_format *out)
{
    for (int i = 0; i < HN_N_DATA_FORMATS; i++)
        if (!strcmp(word, names[i])) {
            *out = (hn_data_format)i;
            return HN_OK;
        }
    hn_word_text all;
    return hn_fail(HN_ERR_ARGUMENT, "format of examples '%.60s': expected %s", word, hn_words_or(HN_N_DATA_FORMATS, names, &all));
}

/* null is how some writers leave a column out. */
static bool has(const hn_json *example, const char *key)
{
    const hn_json *value = hn_json_get(example, key);
    return value && value->kind != HN_JSON_NULL;
}

bool hn_data_format_fits(const hn_json *e, hn_data_format format)
{
    switch (format) {
    case HN_DATA_MESSAGES:
        return has(e, "messages");
    case HN_DATA_PROMPT:
        return has(e, "prompt") && has(e, "completion") && !has(e, "label");
    case HN_DATA_LABELLED:
        return has(e, "prompt") && has(e, "completion") && has(e, "label");
    case HN_DATA_ALPACA:
        return has(e, "instruction") && (has(e, "output") || has(e, "response"));
    case HN_DATA_SHAREGPT:
        return has(e, "conversations");
    case HN_DATA_TEXT:
        return has(e, "text");
    case HN_DATA_PREFERENCE:
        return has(e, "chosen") && has(e, "rejected");
    case HN_DATA_PREFERRED:
        return has(e, "input") && has(e, "preferred_output") && has(e, "non_preferred_output");
    case HN_DATA_TOKENS:
        return has(e, "ids");
    case HN_N_DATA_FORMATS:
        break;
    }
    return false;
}

/* "a, b, c ...": what an unknown example has. */
static void list_keys(const hn_json *example, char *to, size_t room)
{
    size_t at = 0, n = 0;
    to[0] = '\0';
    for (const hn_json *v = hn_json_first(example); v; v = v->next, n++) {
        const size_t bytes = strlen(v->key), comma = at ? 2 : 0;
        if (at + comma + bytes + 5 > room) {
            memcpy(to + at, " ...", 5);
            return;
        }
        memcpy(to + at, ", ", comma);
        memcpy(to + at + comma, v->key, bytes + 1);
        at += comma + bytes;
    }
}

hn_status hn_data_format_of(const hn_json *example, hn_data_format *out)
{
    char keys[160];
    int n = 0, found[HN_N_DATA_FORMATS] = { 0 };
    HN_REQUIRE(example->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
               "expected an object, as {\"messages\": [...]}, found %s",
               hn_json_kind_text(example->kind));
    for (int i = 0; i < HN_N_DATA_FORMATS; i++)
        if (hn_data_format_fits(example, (hn_data_format)i))
            found[n++] = i;
    list_keys(example, keys, sizeof keys);
    HN_REQUIRE(n, HN_ERR_FORMAT,
               "expected an example with messages, prompt and completion, instruction and "
               "output, conversations, text, chosen and rejected, input and preferred_output, or "
               "ids; found the keys: %s",
               keys[0] ? keys : "none");
    HN_REQUIRE(n == 1, HN_ERR_FORMAT,
               "the keys (%s) are of %s (%s) and of %s (%s): expected one format; --format "
               "chooses",
               keys, names[found[0]], keys_of[found[0]], names[found[1]], keys_of[found[1]]);
    *out = (hn_data_format)found[0];
    return HN_OK;
}
