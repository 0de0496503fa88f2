/* Reads any format into the same few fields; whatever of an example is left unread is refused in keys.c. Texts are
 * not copied: they lie in the JSON or in the record's tree. */
#include "data/record.h"

#include "data/asked.h"
#include "data/keys.h"
#include "data/message.h"
#include "data/pair.h"

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
    record->label = 0;
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
    *out = (hn_span){ text, hn_json_bytes(value) };
    return HN_OK;
}

hn_status hn_record_want_template(const hn_record_options *options, const char *what)
{
    HN_REQUIRE(!options->plain, HN_ERR_ARGUMENT,
               "%s are messages: expected a chat template, found none (or --plain)", what);
    return HN_OK;
}

/* A system text that stands beside messages comes before them, which then have none of their own. */
static hn_status add_system(hn_record *record, hn_span system, const hn_json *messages,
                            const char *key, hn_tree_node *list)
{
    const hn_json *first = hn_json_at(messages, 0);
    const hn_json *role = hn_json_get(first, hn_json_get(first, "role") ? "role" : "from");
    const bool has_own =
        !strcmp(hn_json_string(role), "system");
    if (!system.bytes)
        return HN_OK;
    HN_REQUIRE(!has_own, HN_ERR_FORMAT, "system: expected none beside %s that begin with one, found both",
               key);
    return hn_message_add_text(record, list, "system", system.data, system.bytes);
}

static hn_status read_messages(hn_record *record, const hn_json *example,
                               const hn_record_options *options)
{
    hn_span system;
    const hn_json *messages = hn_json_get(example, "messages");
    HN_TRY(hn_record_want_template(options, "messages"));
    HN_TRY(hn_asked_system(example, &system));
    hn_tree_node list = hn_tree_new(&record->tree, HN_JSON_ARRAY);
    HN_TRY(add_system(record, system, messages, "messages", &list));
    HN_TRY(hn_messages_add(record, options, messages, &list));
    record->part[0].messages = list.value;
    return hn_tools_read(record, hn_json_get(example, "tools"), &record->part[0].tools);
}

static hn_status read_turns(hn_record *record, const hn_json *example,
                            const hn_record_options *options)
{
    hn_span system;
    const hn_json *turns = hn_json_get(example, "conversations");
    HN_TRY(hn_record_want_template(options, "conversations"));
    HN_TRY(hn_asked_system(example, &system));
    hn_tree_node list = hn_tree_new(&record->tree, HN_JSON_ARRAY);
    HN_TRY(add_system(record, system, turns, "conversations", &list));
    HN_TRY(hn_turns_add(record, options, turns, &list));
    record->part[0].messages = list.value;
    return hn_tools_read(record, hn_json_get(example, "tools"), &record->part[0].tools);
}

/* A question and an answer, or a text and what follows it. */
static hn_status set_strings(hn_record *record, hn_record_part *part, const hn_asked *asked,
                             hn_span completion, const hn_record_options *options)
{
    if (options->plain) {
        HN_REQUIRE(!asked->system.bytes, HN_ERR_UNSUPPORTED,
                   "system: expected a chat template to write it with, found none (or --plain)");
        part->prompt = asked->text;
        part->completion = completion;
        return HN_OK;
    }
    hn_tree_node list = hn_tree_new(&record->tree, HN_JSON_ARRAY);
    HN_TRY(add_system(record, asked->system, NULL, "", &list));
    HN_TRY(hn_message_add_text(record, &list, "user", asked->text.data, asked->text.bytes));
    HN_TRY(hn_message_add_text(record, &list, "assistant", completion.data, completion.bytes));
    part->messages = list.value;
    part->n_prompt = asked->system.bytes ? 2 : 1;
    return HN_OK;
}

hn_status hn_record_set_lists(hn_record *record, hn_record_part *part, hn_span system,
                              const hn_json *prompt, const hn_json *completion,
                              const hn_record_options *options)
{
    hn_tree_node list = hn_tree_new(&record->tree, HN_JSON_ARRAY);
    HN_TRY(hn_record_want_template(options, "prompt and completion"));
    HN_TRY(add_system(record, system, prompt ? prompt : completion, "messages", &list));
    if (prompt)
        HN_TRY(hn_messages_add(record, options, prompt, &list));
    part->n_prompt = (prompt ? hn_json_count(prompt) : 0) + (system.bytes ? 1 : 0);
    HN_TRY(hn_messages_add(record, options, completion, &list));
    part->messages = list.value;
    return HN_OK;
}

hn_status hn_record_set_either(hn_record *record, hn_record_part *part, const hn_asked *asked,
                               const hn_json *rest, const char *key,
                               const hn_record_options *options)
{
    const hn_json *prompt = asked->list;
    if (!prompt && rest->kind == HN_JSON_STRING)
        return set_strings(record, part, asked,
                           (hn_span){ hn_json_string(rest), hn_json_bytes(rest) }, options);
    HN_REQUIRE(prompt && rest->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "prompt and %s: expected two strings or two lists of messages, found %s and %s",
               key, prompt ? "an array" : "a string", hn_json_kind_text(rest->kind));
    return hn_record_set_lists(record, part, asked->system, prompt, rest, options);
}

static hn_status read_prompt(hn_record *record, const hn_json *example,
                             const hn_record_options *options)
{
    hn_asked asked;
    HN_TRY(hn_asked_read(record, example, &asked));
    HN_TRY(hn_record_set_either(record, &record->part[0], &asked,
                                hn_json_get(example, "completion"), "completion", options));
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
    for (const hn_json *h = hn_json_first(history); h; h = h->next) {
        const hn_json *q = hn_json_at(h, 0), *a = hn_json_at(h, 1);
        HN_REQUIRE(q && a && q->kind == HN_JSON_STRING && a->kind == HN_JSON_STRING &&
                       hn_json_count(h) == 2,
                   HN_ERR_FORMAT, "history: expected pairs of strings, found %s",
                   hn_json_kind_text(h->kind));
        HN_TRY(
            hn_message_add_text(record, list, "user", hn_json_string(q), hn_json_bytes(q)));
        HN_TRY(hn_message_add_text(record, list, "assistant", hn_json_string(a),
                                   hn_json_bytes(a)));
    }
    return HN_OK;
}

static hn_status read_alpaca(hn_record *record, const hn_json *example,
                             const hn_record_options *options)
{
    hn_asked asked;
    hn_span output, response;
    const hn_json *history = hn_json_get(example, "history");
    const bool has_history = history && history->kind == HN_JSON_ARRAY && hn_json_count(history);
    HN_TRY(hn_asked_read(record, example, &asked));
    HN_TRY(hn_asked_text(example, "output", &output));
    HN_TRY(hn_asked_text(example, "response", &response));
    HN_REQUIRE(!output.bytes || !response.bytes, HN_ERR_FORMAT,
               "output and response: expected one of them, found both");
    output = output.bytes ? output : response;
    if (options->plain) {
        HN_REQUIRE(!asked.system.bytes && !has_history, HN_ERR_UNSUPPORTED,
                   "%s: expected a chat template to write it with, found none (or --plain)",
                   has_history ? "history" : "system");
        hn_str *text = &record->text;
        hn_str_clear(text);
        write_alpaca(text, asked.instruction, asked.input);
        record->part[0].prompt = (hn_span){ text->text, text->length };
        record->part[0].completion = output;
        return hn_str_status(text);
    }
    hn_tree_node list = hn_tree_new(&record->tree, HN_JSON_ARRAY);
    HN_TRY(add_system(record, asked.system, NULL, "", &list));
    HN_TRY(add_history(record, history, &list));
    HN_TRY(hn_message_add_text(record, &list, "user", asked.text.data, asked.text.bytes));
    HN_TRY(hn_message_add_text(record, &list, "assistant", output.data, output.bytes));
    record->part[0].messages = list.value;
    return HN_OK;
}

static hn_status read_tokens(hn_record *record, const hn_json *example)
{
    const hn_json *ids = hn_json_get(example, "ids"), *weights = hn_json_get(example, "weights");
    hn_record_part *part = &record->part[0];
    HN_REQUIRE(ids->kind == HN_JSON_ARRAY && hn_json_count(ids), HN_ERR_FORMAT,
               "ids: expected an array of tokens, found %s",
               ids->kind == HN_JSON_ARRAY ? "an empty one" : hn_json_kind_text(ids->kind));
    part->ids = ids;
    if (!weights || weights->kind == HN_JSON_NULL)
        return HN_OK;
    HN_REQUIRE(weights->kind == HN_JSON_ARRAY, HN_ERR_FORMAT, "weights: expected an array, found %s",
               hn_json_kind_text(weights->kind));
    HN_REQUIRE(hn_json_count(weights) == hn_json_count(ids), HN_ERR_FORMAT,
               "weights: expected one for each of %zu ids, found %zu", hn_json_count(ids),
               hn_json_count(weights));
    part->id_weights = weights;
    return HN_OK;
}

/* An answer and whether it is wanted. */
static hn_status read_labelled(hn_record *record, const hn_json *example,
                               const hn_record_options *options)
{
    const hn_json *label = hn_json_get(example, "label");
    HN_REQUIRE(label->kind == HN_JSON_BOOL, HN_ERR_FORMAT,
               "label: expected true or false, as beside unpaired preferences, found %s",
               hn_json_kind_text(label->kind));
    HN_TRY(read_prompt(record, example, options));
    record->label = hn_json_is_true(label) ? 1 : -1;
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
    case HN_DATA_LABELLED:
        return read_labelled(record, example, options);
    case HN_DATA_ALPACA:
        return read_alpaca(record, example, options);
    case HN_DATA_SHAREGPT:
        return read_turns(record, example, options);
    case HN_DATA_TEXT:
        return want_text(example, "text", &record->part[0].completion);
    case HN_DATA_PREFERENCE:
        return hn_pair_read_preference(record, example, options);
    case HN_DATA_PREFERRED:
        return hn_pair_read_preferred(record, example, options);
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
        HN_REQUIRE(!part->messages || hn_json_count(part->messages), HN_ERR_FORMAT,
                   "messages: expected at least one, found none");
    }
    return HN_OK;
}

hn_status hn_record_read(hn_record *record, const hn_json *example, hn_data_format format,
                         const hn_record_options *options)
{
    clear(record);
    const hn_json *images = hn_json_get(example, "images");
    HN_REQUIRE(!images || images->kind == HN_JSON_NULL, HN_ERR_UNSUPPORTED,
               "images: expected text alone, found images");
    HN_TRY(hn_weight_read(example, 1, &record->weight));
    HN_TRY(hn_keys_check(example, format, options));
    HN_TRY(read_any(record, example, format, options));
    HN_TRY(hn_tree_status(&record->tree));
    HN_REQUIRE(record->n_parts == 1 || !record->has_weights, HN_ERR_UNSUPPORTED,
               "weight of a message: expected none in preference pairs, found one");
    HN_REQUIRE(!options->plain || !record->part[0].tools, HN_ERR_UNSUPPORTED,
               "tools: expected a chat template to write them with, found none (or --plain)");
    HN_REQUIRE(!record->label || !record->has_weights, HN_ERR_UNSUPPORTED,
               "weight of a message: expected none in unpaired preferences, found one");
    return check_messages(record);
}
