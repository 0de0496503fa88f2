/* Pairs without a prompt of their own begin alike, and the prompt is what they have in common. It
 * must end where the assistant begins to speak: two that part while somebody asks are answers to
 * two questions, of which neither is the better one. */
#include "data/pair.h"

#include "data/asked.h"
#include "data/keys.h"
#include "data/message.h"

#include <string.h>

static bool same(const hn_json *a, const hn_json *b, int depth)
{
    if (a->kind != b->kind || depth > HN_JSON_MAX_DEPTH)
        return false;
    switch (a->kind) {
    case HN_JSON_NULL:
        return true;
    case HN_JSON_BOOL:
        return hn_json_is_true(a) == hn_json_is_true(b);
    case HN_JSON_INT:
        return hn_json_int(a) == hn_json_int(b);
    case HN_JSON_DOUBLE:
        return hn_json_number(a) >= hn_json_number(b) && hn_json_number(a) <= hn_json_number(b);
    case HN_JSON_STRING:
        return hn_json_bytes(a) == hn_json_bytes(b) &&
               !memcmp(hn_json_string(a), hn_json_string(b), hn_json_bytes(a));
    case HN_JSON_ARRAY:
    case HN_JSON_OBJECT:
        break;
    }
    const hn_json *v = hn_json_first(a), *w = hn_json_first(b);
    for (; v && w; v = v->next, w = w->next) {
        if (a->kind == HN_JSON_OBJECT && strcmp(v->key, w->key) != 0)
            return false;
        if (!same(v, w, depth + 1))
            return false;
    }
    return !v && !w;
}

static bool is_assistants(const hn_json *message)
{
    const hn_json *role = hn_json_get(message, "role");
    return !strcmp(hn_json_string(role), "assistant");
}

/* Whole conversations. */
static hn_status set_implicit_lists(hn_record *record, hn_span system, const hn_json *chosen,
                                    const hn_json *rejected, const hn_record_options *options)
{
    size_t n = 0;
    const hn_json *c = hn_json_first(chosen), *r = hn_json_first(rejected);
    for (; c && r && same(c, r, 0); c = c->next, r = r->next)
        n++;
    HN_REQUIRE(
        c && r, HN_ERR_FORMAT,
        "chosen and rejected: expected conversations that part after their prompt, found "
        "%s",
        hn_json_count(chosen) == hn_json_count(rejected) ? "equal ones"
                                                         : "one that goes on the other");
    HN_REQUIRE(n && is_assistants(c) && is_assistants(r), HN_ERR_FORMAT,
               "chosen and rejected: expected one prompt and two answers of the assistant, found "
               "conversations that part at message %zu, which is %s",
               n + 1, n ? "not the assistant's in both" : "their first");
    HN_TRY(hn_record_set_lists(record, &record->part[0], system, NULL, chosen, options));
    HN_TRY(hn_record_set_lists(record, &record->part[1], system, NULL, rejected, options));
    record->part[0].n_prompt = record->part[1].n_prompt = n + (system.bytes ? 1 : 0);
    return HN_OK;
}

/* Where the last of these words begins; NULL: nowhere. */
static const char *find_last(const char *text, size_t bytes, const char *words)
{
    const size_t n = strlen(words);
    for (size_t at = bytes >= n ? bytes - n + 1 : 0; at-- > 0;)
        if (!memcmp(text + at, words, n))
            return text + at;
    return NULL;
}

/* Whole texts: the common beginning, back to a blank so that no word is cut. */
static hn_status set_implicit_texts(hn_record *record, hn_span chosen, hn_span rejected)
{
    static const char human[] = "\n\nHuman:", assistant[] = "\n\nAssistant:";
    const char *c = chosen.data, *r = rejected.data;
    size_t n = 0;
    while (n < chosen.bytes && n < rejected.bytes && c[n] == r[n])
        n++;
    HN_REQUIRE(n < chosen.bytes || n < rejected.bytes, HN_ERR_FORMAT,
               "chosen and rejected: expected two texts, found the same twice");
    while (n && c[n - 1] != ' ' && c[n - 1] != '\n')
        n--;
    if (n && c[n - 1] == ' ')
        n--; /* tokens begin with their blank */
    HN_REQUIRE(n, HN_ERR_FORMAT,
               "chosen and rejected: expected texts that begin with one prompt, found that they "
               "differ from their first word");
    const char *asks = find_last(c, n, human), *answers = find_last(c, n, assistant);
    HN_REQUIRE(!asks || (answers && answers > asks), HN_ERR_FORMAT,
               "chosen and rejected: expected one prompt and two answers, found that they part at "
               "byte %zu, while the human speaks", n);
    record->part[0].prompt = record->part[1].prompt = (hn_span){ c, n };
    record->part[0].completion = (hn_span){ c + n, chosen.bytes - n };
    record->part[1].completion = (hn_span){ r + n, rejected.bytes - n };
    return HN_OK;
}

/* UltraFeedback's: a prompt beside conversations that hold it. */
static bool begins_with(const hn_json *messages, const hn_span *prompt)
{
    const hn_json *m = hn_json_at(messages, 0);
    const hn_json *role = hn_json_get(m, "role");
    if (!strcmp(hn_json_string(role), "system"))
        m = m->next;
    const hn_json *content = hn_json_get(m, "content");
    return content && content->kind == HN_JSON_STRING &&
           hn_json_bytes(content) == prompt->bytes &&
           !memcmp(hn_json_string(content), prompt->data, prompt->bytes);
}

hn_status hn_pair_read_preference(hn_record *record, const hn_json *example,
                                  const hn_record_options *options)
{
    const hn_json *c = hn_json_get(example, "chosen"), *r = hn_json_get(example, "rejected");
    hn_asked asked;
    HN_REQUIRE(c->kind == r->kind && (c->kind == HN_JSON_STRING || c->kind == HN_JSON_ARRAY),
               HN_ERR_FORMAT,
               "chosen and rejected: expected two strings or two lists of messages, found %s "
               "and %s",
               hn_json_kind_text(c->kind), hn_json_kind_text(r->kind));
    record->n_parts = 2;
    HN_TRY(hn_asked_read(record, example, &asked));
    HN_TRY(hn_tools_read(record, hn_json_get(example, "tools"), &record->part[0].tools));
    record->part[1].tools = record->part[0].tools;
    const bool is_list = c->kind == HN_JSON_ARRAY;
    const bool is_whole =
        !asked.is_there || (!asked.list && is_list && begins_with(c, &asked.text) &&
                            begins_with(r, &asked.text));
    if (is_whole && is_list)
        return set_implicit_lists(record, asked.system, c, r, options);
    if (is_whole) {
        HN_REQUIRE(!asked.system.bytes, HN_ERR_FORMAT,
                   "system: expected a prompt beside it, found texts that hold their own");
        return set_implicit_texts(record, (hn_span){ hn_json_string(c), hn_json_bytes(c) },
                                  (hn_span){ hn_json_string(r), hn_json_bytes(r) });
    }
    HN_TRY(hn_record_set_either(record, &record->part[0], &asked, c, "chosen", options));
    HN_TRY(hn_record_set_either(record, &record->part[1], &asked, r, "rejected", options));
    HN_REQUIRE(!same(c, r, 0), HN_ERR_FORMAT,
               "chosen and rejected: expected two answers, found the same twice");
    return HN_OK;
}

hn_status hn_pair_read_preferred(hn_record *record, const hn_json *example,
                                 const hn_record_options *options)
{
    const hn_json *input = hn_json_get(example, "input");
    const hn_json *messages = hn_json_get(input, "messages");
    const hn_json *c = hn_json_get(example, "preferred_output");
    const hn_json *r = hn_json_get(example, "non_preferred_output");
    const hn_span none = { "", 0 };
    HN_REQUIRE(messages && messages->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "input: expected {\"messages\": [...]}, found %s",
               hn_json_kind_text(input->kind));
    HN_TRY(hn_keys_check_part(input, "input", "messages tools", options));
    HN_REQUIRE(
        !same(c, r, 0), HN_ERR_FORMAT,
        "preferred_output and non_preferred_output: expected two answers, found the same "
        "twice");
    record->n_parts = 2;
    HN_TRY(hn_tools_read(record, hn_json_get(input, "tools"), &record->part[0].tools));
    record->part[1].tools = record->part[0].tools;
    HN_TRY(hn_record_set_lists(record, &record->part[0], none, messages, c, options));
    return hn_record_set_lists(record, &record->part[1], none, messages, r, options);
}
