#include "data/record.h"

#include "data/message.h"

#include <string.h>

hn_record hn_record_on(hn_heap *heap)
{
    return (hn_record){ .heap = heap, .tree = hn_tree_on(heap), .text = hn_str_on(heap) };
}

void hn_record_free(hn_record *record)
{
    hn_tree_free(&record->tree);
    hn_str_free(&record->text);
    hn_free(record->heap, record->weights);
    *record = hn_record_on(record->heap);
}

static void clear(hn_record *record)
{
    hn_tree_clear(&record->tree);
    hn_str_clear(&record->text);
    record->n_weights = 0;
    record->has_weights = false;
    record->n_parts = 1;
    record->weight = 1;
    record->part[0] = record->part[1] = (hn_record_part){ 0 };
}

void hn_record_set_text(hn_record *record, const char *text, size_t bytes)
{
    clear(record);
    record->part[0].completion = (hn_span){ text, bytes };
}

static hn_status want_text(const hn_json *example, const char *key, hn_span *out)
{
    const hn_json *value = hn_json_get(example, key);
    const char *text = NULL;
    HN_TRY(hn_json_want_string(value, key, &text));
    *out = (hn_span){ text, value->as.string.bytes };
    return HN_OK;
}

/* One that may be missing, null or empty: then {"", 0}. */
static hn_status may_text(const hn_json *example, const char *key, hn_span *out)
{
    const hn_json *value = hn_json_get(example, key);
    *out = (hn_span){ "", 0 };
    return value && value->kind != HN_JSON_NULL ? want_text(example, key, out) : HN_OK;
}

static hn_status want_template(const hn_record_options *options, const char *what)
{
    HN_REQUIRE(!options->plain, HN_ERR_ARGUMENT,
               "%s are messages: expected a chat template, found none (or --plain)", what);
    return HN_OK;
}

static hn_status read_messages(hn_record *record, const hn_json *example,
                               const hn_record_options *options)
{
    HN_TRY(want_template(options, "messages"));
    hn_tree_node list = hn_tree_new(&record->tree, HN_JSON_ARRAY);
    HN_TRY(hn_messages_add(record, options, hn_json_get(example, "messages"), &list));
    record->part[0].messages = list.value;
    return hn_tools_read(record, hn_json_get(example, "tools"), &record->part[0].tools);
}

static hn_status read_turns(hn_record *record, const hn_json *example,
                            const hn_record_options *options)
{
    hn_span system;
    HN_TRY(want_template(options, "conversations"));
    HN_TRY(may_text(example, "system", &system));
    hn_tree_node list = hn_tree_new(&record->tree, HN_JSON_ARRAY);
    if (system.bytes)
        HN_TRY(hn_message_add_text(record, &list, "system", system.data, system.bytes));
    HN_TRY(hn_turns_add(record, options, hn_json_get(example, "conversations"), &list));
    record->part[0].messages = list.value;
    return hn_tools_read(record, hn_json_get(example, "tools"), &record->part[0].tools);
}

/* A question and an answer, or a text and what follows it. */
static hn_status set_strings(hn_record *record, hn_record_part *part, hn_span prompt,
                             hn_span completion, bool plain)
{
    if (plain) {
        part->prompt = prompt;
        part->completion = completion;
        return HN_OK;
    }
    hn_tree_node list = hn_tree_new(&record->tree, HN_JSON_ARRAY);
    HN_TRY(hn_message_add_text(record, &list, "user", prompt.data, prompt.bytes));
    HN_TRY(hn_message_add_text(record, &list, "assistant", completion.data, completion.bytes));
    part->messages = list.value;
    part->n_prompt = 1;
    return HN_OK;
}

static hn_status set_lists(hn_record *record, hn_record_part *part, const hn_json *prompt,
                           const hn_json *completion, const hn_record_options *options)
{
    hn_tree_node list = hn_tree_new(&record->tree, HN_JSON_ARRAY);
    HN_TRY(want_template(options, "prompt and completion"));
    if (prompt)
        HN_TRY(hn_messages_add(record, options, prompt, &list));
    part->n_prompt = prompt ? prompt->as.children.n : 0;
    HN_TRY(hn_messages_add(record, options, completion, &list));
    part->messages = list.value;
    return HN_OK;
}

static hn_status set_either(hn_record *record, hn_record_part *part, const hn_json *example,
                            const char *key, const hn_record_options *options)
{
    const hn_json *prompt = hn_json_get(example, "prompt"), *rest = hn_json_get(example, key);
    if (prompt->kind == HN_JSON_STRING && rest->kind == HN_JSON_STRING)
        return set_strings(
            record, part, (hn_span){ prompt->as.string.text, prompt->as.string.bytes },
            (hn_span){ rest->as.string.text, rest->as.string.bytes }, options->plain);
    HN_REQUIRE(prompt->kind == HN_JSON_ARRAY && rest->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "prompt and %s: expected two strings or two lists of messages, found %s and %s",
               key, hn_json_kind_text(prompt->kind), hn_json_kind_text(rest->kind));
    return set_lists(record, part, prompt, rest, options);
}

static hn_status read_prompt(hn_record *record, const hn_json *example,
                             const hn_record_options *options)
{
    HN_REQUIRE(!hn_json_get(example, "label"), HN_ERR_UNSUPPORTED,
               "prompt, completion and label: expected a pair of chosen and rejected, found "
               "unpaired preferences");
    HN_TRY(set_either(record, &record->part[0], example, "completion", options));
    return hn_tools_read(record, hn_json_get(example, "tools"), &record->part[0].tools);
}

/* The sections of the original Alpaca; without a template they are its prompt. */
static void write_alpaca(hn_str *out, hn_span instruction, hn_span input)
{
    hn_str_add(out, "Below is an instruction that describes a task");
    hn_str_add(out, input.bytes ? ", paired with an input that provides further context" : "");
    hn_str_add(out, ". Write a response that appropriately completes the request.\n\n"
                    "### Instruction:\n");
    hn_str_add_bytes(out, instruction.data, instruction.bytes);
    if (input.bytes) {
        hn_str_add(out, "\n\n### Input:\n");
        hn_str_add_bytes(out, input.data, input.bytes);
    }
    hn_str_add(out, "\n\n### Response:");
}

static hn_status add_history(hn_record *record, const hn_json *history, hn_tree_node *list)
{
    if (!history || history->kind == HN_JSON_NULL)
        return HN_OK;
    HN_REQUIRE(history->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "history: expected an array, found %s", hn_json_kind_text(history->kind));
    for (const hn_json *h = history->as.children.first; h; h = h->next) {
        const hn_json *q = hn_json_at(h, 0), *a = hn_json_at(h, 1);
        HN_REQUIRE(q && a && q->kind == HN_JSON_STRING && a->kind == HN_JSON_STRING &&
                       h->as.children.n == 2,
                   HN_ERR_FORMAT, "history: expected pairs of strings, found %s",
                   hn_json_kind_text(h->kind));
        HN_TRY(
            hn_message_add_text(record, list, "user", q->as.string.text, q->as.string.bytes));
        HN_TRY(hn_message_add_text(record, list, "assistant", a->as.string.text,
                                   a->as.string.bytes));
    }
    return HN_OK;
}

static hn_status read_alpaca(hn_record *record, const hn_json *example,
                             const hn_record_options *options)
{
    hn_span instruction, input, output, system;
    const hn_json *history = hn_json_get(example, "history");
    HN_TRY(want_text(example, "instruction", &instruction));
    HN_TRY(may_text(example, "input", &input));
    HN_TRY(want_text(example, "output", &output));
    HN_TRY(may_text(example, "system", &system));
    hn_str *text = &record->text;
    if (options->plain) {
        const bool has_history =
            history && history->kind == HN_JSON_ARRAY && history->as.children.n;
        HN_REQUIRE(!system.bytes && !has_history, HN_ERR_UNSUPPORTED,
                   "%s: expected a chat template to write it with, found none (or --plain)",
                   has_history ? "history" : "system");
        write_alpaca(text, instruction, input);
        record->part[0].prompt = (hn_span){ text->text, text->length };
        record->part[0].completion = output;
        return hn_str_status(text);
    }
    hn_str_add_bytes(text, instruction.data, instruction.bytes);
    hn_str_add(text, instruction.bytes && input.bytes ? "\n\n" : "");
    hn_str_add_bytes(text, input.data, input.bytes);
    HN_TRY(hn_str_status(text));
    hn_tree_node list = hn_tree_new(&record->tree, HN_JSON_ARRAY);
    if (system.bytes)
        HN_TRY(hn_message_add_text(record, &list, "system", system.data, system.bytes));
    HN_TRY(add_history(record, history, &list));
    HN_TRY(hn_message_add_text(record, &list, "user", text->text, text->length));
    HN_TRY(hn_message_add_text(record, &list, "assistant", output.data, output.bytes));
    record->part[0].messages = list.value;
    return HN_OK;
}

static bool same(const hn_json *a, const hn_json *b, int depth)
{
    if (a->kind != b->kind || depth > HN_JSON_MAX_DEPTH)
        return false;
    switch (a->kind) {
    case HN_JSON_NULL:
        return true;
    case HN_JSON_BOOL:
        return a->as.boolean == b->as.boolean;
    case HN_JSON_INT:
        return a->as.integer == b->as.integer;
    case HN_JSON_DOUBLE:
        return a->as.number >= b->as.number && a->as.number <= b->as.number;
    case HN_JSON_STRING:
        return a->as.string.bytes == b->as.string.bytes &&
               !memcmp(a->as.string.text, b->as.string.text, a->as.string.bytes);
    case HN_JSON_ARRAY:
    case HN_JSON_OBJECT:
        break;
    }
    const hn_json *v = a->as.children.first, *w = b->as.children.first;
    for (; v && w; v = v->next, w = w->next) {
        if (a->kind == HN_JSON_OBJECT && strcmp(v->key, w->key) != 0)
            return false;
        if (!same(v, w, depth + 1))
            return false;
    }
    return !v && !w;
}

/* Whole conversations: the prompt is what they have in common. */
static hn_status set_implicit_lists(hn_record *record, const hn_json *chosen,
                                    const hn_json *rejected, const hn_record_options *options)
{
    size_t n = 0;
    for (const hn_json *c = chosen->as.children.first, *r = rejected->as.children.first;
         c && r && same(c, r, 0); c = c->next, r = r->next)
        n++;
    HN_REQUIRE(
        n < chosen->as.children.n && n < rejected->as.children.n, HN_ERR_FORMAT,
        "chosen and rejected: expected conversations that part after their prompt, found "
        "%s",
        chosen->as.children.n == rejected->as.children.n ? "equal ones"
                                                         : "one that goes on the other");
    HN_TRY(set_lists(record, &record->part[0], NULL, chosen, options));
    HN_TRY(set_lists(record, &record->part[1], NULL, rejected, options));
    record->part[0].n_prompt = record->part[1].n_prompt = n;
    return HN_OK;
}

/* Whole texts: the common beginning, back to a blank so that no word is cut. */
static hn_status set_implicit_texts(hn_record *record, hn_span chosen, hn_span rejected)
{
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
    record->part[0].prompt = record->part[1].prompt = (hn_span){ c, n };
    record->part[0].completion = (hn_span){ c + n, chosen.bytes - n };
    record->part[1].completion = (hn_span){ r + n, rejected.bytes - n };
    return HN_OK;
}

/* UltraFeedback's: a prompt beside conversations that hold it. */
static bool begins_with(const hn_json *messages, const hn_json *prompt)
{
    const hn_json *m = hn_json_at(messages, 0);
    const hn_json *role = hn_json_get(m, "role");
    if (role && role->kind == HN_JSON_STRING && !strcmp(role->as.string.text, "system"))
        m = m->next;
    const hn_json *content = hn_json_get(m, "content");
    return content && same(content, prompt, 0);
}

static hn_status read_preference(hn_record *record, const hn_json *example,
                                 const hn_record_options *options)
{
    const hn_json *c = hn_json_get(example, "chosen"), *r = hn_json_get(example, "rejected");
    const hn_json *prompt = hn_json_get(example, "prompt");
    HN_REQUIRE(c->kind == r->kind && (c->kind == HN_JSON_STRING || c->kind == HN_JSON_ARRAY),
               HN_ERR_FORMAT,
               "chosen and rejected: expected two strings or two lists of messages, found %s "
               "and %s",
               hn_json_kind_text(c->kind), hn_json_kind_text(r->kind));
    record->n_parts = 2;
    HN_TRY(hn_tools_read(record, hn_json_get(example, "tools"), &record->part[0].tools));
    record->part[1].tools = record->part[0].tools;
    const bool is_whole = !prompt || prompt->kind == HN_JSON_NULL ||
                          (prompt->kind == HN_JSON_STRING && c->kind == HN_JSON_ARRAY &&
                           begins_with(c, prompt) && begins_with(r, prompt));
    if (is_whole && c->kind == HN_JSON_ARRAY)
        return set_implicit_lists(record, c, r, options);
    if (is_whole)
        return set_implicit_texts(record, (hn_span){ c->as.string.text, c->as.string.bytes },
                                  (hn_span){ r->as.string.text, r->as.string.bytes });
    HN_TRY(set_either(record, &record->part[0], example, "chosen", options));
    HN_TRY(set_either(record, &record->part[1], example, "rejected", options));
    HN_REQUIRE(!same(c, r, 0), HN_ERR_FORMAT,
               "chosen and rejected: expected two answers, found the same twice");
    return HN_OK;
}

static hn_status read_preferred(hn_record *record, const hn_json *example,
                                const hn_record_options *options)
{
    const hn_json *input = hn_json_get(example, "input");
    const hn_json *messages = hn_json_get(input, "messages");
    const hn_json *c = hn_json_get(example, "preferred_output");
    const hn_json *r = hn_json_get(example, "non_preferred_output");
    HN_REQUIRE(messages && messages->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "input: expected {\"messages\": [...]}, found %s",
               hn_json_kind_text(input->kind));
    HN_REQUIRE(
        !same(c, r, 0), HN_ERR_FORMAT,
        "preferred_output and non_preferred_output: expected two answers, found the same "
        "twice");
    record->n_parts = 2;
    HN_TRY(hn_tools_read(record, hn_json_get(input, "tools"), &record->part[0].tools));
    record->part[1].tools = record->part[0].tools;
    HN_TRY(set_lists(record, &record->part[0], messages, c, options));
    return set_lists(record, &record->part[1], messages, r, options);
}

static hn_status read_tokens(hn_record *record, const hn_json *example)
{
    const hn_json *ids = hn_json_get(example, "ids"), *weights = hn_json_get(example, "weights");
    hn_record_part *part = &record->part[0];
    HN_REQUIRE(ids->kind == HN_JSON_ARRAY && ids->as.children.n, HN_ERR_FORMAT,
               "ids: expected an array of tokens, found %s",
               ids->kind == HN_JSON_ARRAY ? "an empty one" : hn_json_kind_text(ids->kind));
    part->ids = ids;
    if (!weights || weights->kind == HN_JSON_NULL)
        return HN_OK;
    HN_REQUIRE(weights->kind == HN_JSON_ARRAY, HN_ERR_FORMAT, "weights: expected an array, found %s",
               hn_json_kind_text(weights->kind));
    HN_REQUIRE(weights->as.children.n == ids->as.children.n, HN_ERR_FORMAT,
               "weights: expected one for each of %zu ids, found %zu", ids->as.children.n,
               weights->as.children.n);
    part->id_weights = weights;
    return HN_OK;
}

static hn_status read_any(hn_record *record, const hn_json *example, hn_data_format format,
                          const hn_record_options *options)
{
    switch (format) {
    case HN_DATA_MESSAGES:
        return read_messages(record, example, options);
    case HN_DATA_PROMPT:
        return read_prompt(record, example, options);
    case HN_DATA_ALPACA:
        return read_alpaca(record, example, options);
    case HN_DATA_SHAREGPT:
        return read_turns(record, example, options);
    case HN_DATA_TEXT:
        return want_text(example, "text", &record->part[0].completion);
    case HN_DATA_PREFERENCE:
        return read_preference(record, example, options);
    case HN_DATA_PREFERRED:
        return read_preferred(record, example, options);
    case HN_DATA_TOKENS:
        return read_tokens(record, example);
    case HN_N_DATA_FORMATS:
        break;
    }
    return hn_fail(HN_ERR_ARGUMENT, "an example without a format");
}

static hn_status check_messages(const hn_record *record)
{
    for (int i = 0; i < record->n_parts; i++) {
        const hn_record_part *part = &record->part[i];
        HN_REQUIRE(!part->messages || part->messages->as.children.n, HN_ERR_FORMAT,
                   "messages: expected at least one, found none");
    }
    return HN_OK;
}

hn_status hn_record_read(hn_record *record, const hn_json *example, hn_data_format format,
                         const hn_record_options *options)
{
    clear(record);
    HN_TRY(hn_weight_read(example, 1, &record->weight));
    HN_TRY(read_any(record, example, format, options));
    HN_TRY(hn_tree_status(&record->tree));
    HN_REQUIRE(record->n_parts == 1 || !record->has_weights, HN_ERR_UNSUPPORTED,
               "weight of a message: expected none in preference pairs, found one");
    HN_REQUIRE(!hn_json_get(example, "images"), HN_ERR_UNSUPPORTED,
               "images: expected text alone, found images");
    return check_messages(record);
}
