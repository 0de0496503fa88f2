/* null is as if the key were not there, and an empty text gives way to one under another name: tables of other
 * programs have every column in every row. */
#include "data/asked.h"

static bool is_there(const hn_json *example, const char *key)
{
    const hn_json *value = hn_json_get(example, key);
    return value && value->kind != HN_JSON_NULL;
}

hn_status hn_asked_text(const hn_json *example, const char *key, hn_span *out)
{
    const char *text = NULL;
    *out = (hn_span){ "", 0 };
    if (!is_there(example, key))
        return HN_OK;
    const hn_json *value = hn_json_get(example, key);
    HN_TRY(hn_json_want_string(value, key, &text));
    *out = (hn_span){ text, hn_json_bytes(value) };
    return HN_OK;
}

/* A text of one of two names. */
static hn_status either(const hn_json *example, const char *a, const char *b, hn_span *out)
{
    hn_span other;
    HN_TRY(hn_asked_text(example, a, out));
    HN_TRY(hn_asked_text(example, b, &other));
    HN_REQUIRE(!out->bytes || !other.bytes, HN_ERR_FORMAT,
               "%s and %s: expected one of them, found both", a, b);
    if (!out->bytes)
        *out = other;
    return HN_OK;
}

hn_status hn_asked_system(const hn_json *example, hn_span *out)
{
    return either(example, "system", "system_prompt", out);
}

static hn_status read_instruction(hn_record *record, const hn_json *example, hn_asked *out)
{
    hn_str *text = &record->text;
    HN_TRY(hn_asked_text(example, "instruction", &out->instruction));
    HN_TRY(either(example, "input", "context", &out->input));
    const size_t from = text->length;
    hn_str_add_bytes(text, out->instruction.data, out->instruction.bytes);
    hn_str_add(text, out->instruction.bytes && out->input.bytes ? "\n\n" : "");
    hn_str_add_bytes(text, out->input.data, out->input.bytes);
    HN_TRY(hn_str_status(text));
    out->text = (hn_span){ text->text + from, text->length - from };
    return HN_OK;
}

hn_status hn_asked_read(hn_record *record, const hn_json *example, hn_asked *out)
{
    static const char *const names[] = { "prompt", "question", "instruction" };
    const char *found = NULL;
    *out = (hn_asked){ .text = { "", 0 }, .instruction = { "", 0 }, .input = { "", 0 } };
    HN_TRY(hn_asked_system(example, &out->system));
    for (int i = 0; i < 3; i++) {
        if (!is_there(example, names[i]))
            continue;
        HN_REQUIRE(!found, HN_ERR_FORMAT, "%s and %s: expected one of them, found both", found,
                   names[i]);
        found = names[i];
    }
    out->is_there = found;
    HN_REQUIRE(found == names[2] || (!is_there(example, "input") && !is_there(example, "context")),
               HN_ERR_FORMAT, "%s: expected an instruction with it, found %s",
               is_there(example, "input") ? "input" : "context", found ? found : "none");
    if (!found)
        return HN_OK;
    if (found == names[2])
        return read_instruction(record, example, out);
    const hn_json *value = hn_json_get(example, found);
    if (value->kind == HN_JSON_ARRAY) {
        out->list = value;
        return HN_OK;
    }
    return hn_asked_text(example, found, &out->text);
}
