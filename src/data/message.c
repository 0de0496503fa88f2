/* All dialects end in one shape, and a message that holds anything but text is refused: images and sounds would
 * become no tokens, silently. A weight is taken down beside the messages, one for each, in their order. */
#include "data/message.h"

#include "data/keys.h"

#include <math.h>
#include <string.h>

hn_status hn_weight_read(const hn_json *holder, float otherwise, float *out)
{
    const hn_json *value = hn_json_get(holder, "weight");
    double weight = 0;
    *out = otherwise;
    if (!value || value->kind == HN_JSON_NULL)
        return HN_OK;
    HN_TRY(hn_json_want_double(value, "weight", &weight));
    HN_REQUIRE(weight >= 0 && weight <= 1e30, HN_ERR_FORMAT,
               "weight: expected a finite number that is not negative, found %g", weight);
    *out = (float)weight;
    return HN_OK;
}

/* Axolotl's `train` and `training`: whether a turn counts. */
static hn_status read_train(const hn_json *message, float *weight)
{
    static const char *const names[] = { "train", "training" };
    for (int i = 0; i < 2; i++) {
        const hn_json *value = hn_json_get(message, names[i]);
        bool is_trained = false;
        if (!value || value->kind == HN_JSON_NULL)
            continue;
        HN_TRY(hn_json_want_bool(value, names[i], &is_trained));
        HN_REQUIRE(isnan(*weight) || (*weight > 0) == is_trained, HN_ERR_FORMAT,
                   "%s of a message: expected what its weight says, found %s beside %g", names[i],
                   is_trained ? "true" : "false", (double)*weight);
        if (isnan(*weight))
            *weight = is_trained ? 1 : 0;
    }
    return HN_OK;
}

/* One a message; NULL: none was given. */
static hn_status add_weight(hn_record *record, const hn_json *message_or_null)
{
    if (record->n_weights == record->room) {
        const size_t room = record->room ? 2 * record->room : 32;
        float *more =
            hn_realloc_array(record->heap, HN_TAG_TEXT, record->weights, room, sizeof *more);
        if (!more)
            return HN_ERR_MEMORY;
        record->weights = more;
        record->room = room;
    }
    float *weight = &record->weights[record->n_weights++];
    HN_TRY(hn_weight_read(message_or_null, NAN, weight));
    HN_TRY(read_train(message_or_null, weight));
    record->has_weights |= !isnan(*weight);
    return HN_OK;
}

/* Parts of text as one, since few templates read parts. Anything but text has no tokens. */
static hn_status join_parts(hn_tree *tree, const hn_json *parts, const hn_record_options *options,
                            hn_tree_node *to)
{
    for (const hn_json *p = hn_json_first(parts); p; p = p->next)
        if (hn_json_get(p, "text")) /* of others the type is what is wrong */
            HN_TRY(hn_keys_check_part(p, "a part of content", "type text", options));
    hn_str joined = hn_str_on(tree->heap);
    for (const hn_json *p = hn_json_first(parts); p; p = p->next) {
        const hn_json *type = hn_json_get(p, "type"), *text = hn_json_get(p, "text");
        const bool is_text =
            !type || !strcmp(hn_json_string(type), "text");
        if (is_text && text && text->kind == HN_JSON_STRING) {
            hn_str_add_bytes(&joined, hn_json_string(text), hn_json_bytes(text));
            continue;
        }
        hn_str_free(&joined);
        HN_REQUIRE(is_text, HN_ERR_UNSUPPORTED,
                   "a part of content: expected one of type text, found type %s",
                   type->kind == HN_JSON_STRING ? hn_json_string(type)
                                                : hn_json_kind_text(type->kind));
        return hn_fail(HN_ERR_FORMAT, "a part of content: expected a text, found %s",
                       text ? hn_json_kind_text(text->kind) : "nothing");
    }
    const hn_status status = hn_str_status(&joined);
    if (status == HN_OK)
        hn_tree_copy_text(tree, to, "content", joined.text, joined.length);
    hn_str_free(&joined);
    return status;
}

/* OpenAI writes arguments as text, most templates want the object; a few want the text. An
 * argument text that is no object stays as it is: it is what the model wrote. */
static hn_status add_function(hn_tree *tree, bool text_calls, const hn_json *function,
                              hn_tree_node *to)
{
    hn_tree_node made = hn_tree_new(tree, HN_JSON_OBJECT);
    for (const hn_json *v = hn_json_first(function); v; v = v->next) {
        const hn_json *value = v;
        if (!text_calls && !strcmp(v->key, "arguments") && v->kind == HN_JSON_STRING &&
            hn_json_string(v)[0] == '{')
            HN_TRY(hn_tree_read(tree, "arguments of a tool call", v, &value));
        hn_tree_add(tree, &made, v->key, value);
    }
    hn_tree_add(tree, to, "function", made.value);
    return HN_OK;
}

static hn_status add_calls(hn_tree *tree, bool text_calls, const hn_json *calls,
                           hn_tree_node *to)
{
    hn_tree_node list = hn_tree_new(tree, HN_JSON_ARRAY);
    HN_REQUIRE(calls->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "tool_calls: expected an array, found %s", hn_json_kind_text(calls->kind));
    for (const hn_json *call = hn_json_first(calls); call; call = call->next) {
        HN_REQUIRE(call->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
                   "tool_calls: expected objects, found %s", hn_json_kind_text(call->kind));
        hn_tree_node made = hn_tree_new(tree, HN_JSON_OBJECT);
        for (const hn_json *v = hn_json_first(call); v; v = v->next)
            if (!strcmp(v->key, "function") && v->kind == HN_JSON_OBJECT)
                HN_TRY(add_function(tree, text_calls, v, &made));
            else
                hn_tree_add(tree, &made, v->key, v);
        hn_tree_add(tree, &list, NULL, made.value);
    }
    hn_tree_add(tree, to, "tool_calls", list.value);
    return HN_OK;
}

static hn_status check_role(const hn_json *message)
{
    static const char *const roles[] = { "system", "developer", "user",    "assistant",
                                         "tool",   "function",  "context", "ipython" };
    const char *role = NULL;
    HN_REQUIRE(message->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
               "messages: expected objects with a role, found %s",
               hn_json_kind_text(message->kind));
    HN_TRY(hn_json_want_string(hn_json_get(message, "role"), "role of a message", &role));
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (!strcmp(role, roles[i]))
            return HN_OK;
    return hn_fail(HN_ERR_FORMAT,
                   "role of a message: expected system, developer, user, assistant or tool, "
                   "found '%s'",
                   role);
}

static hn_status add_message(hn_record *record, const hn_record_options *options, const hn_json *message,
                             hn_tree_node *to)
{
    hn_tree *tree = &record->tree;
    hn_tree_node made = hn_tree_new(tree, HN_JSON_OBJECT);
    HN_TRY(check_role(message));
    HN_TRY(hn_keys_check_message(message, options));
    HN_TRY(add_weight(record, message));
    for (const hn_json *v = hn_json_first(message); v; v = v->next) {
        if (!strcmp(v->key, "weight") || !strcmp(v->key, "train") || !strcmp(v->key, "training"))
            continue;
        if (!strcmp(v->key, "content") && v->kind == HN_JSON_ARRAY)
            HN_TRY(join_parts(tree, v, options, &made));
        else if (!strcmp(v->key, "tool_calls") && v->kind != HN_JSON_NULL)
            HN_TRY(add_calls(tree, options->text_calls, v, &made));
        else
            hn_tree_add(tree, &made, v->key, v);
    }
    hn_tree_add(tree, to, NULL, made.value);
    return HN_OK;
}

hn_status hn_messages_add(hn_record *record, const hn_record_options *options,
                          const hn_json *messages, hn_tree_node *to)
{
    HN_REQUIRE(messages && messages->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "messages: expected an array, found %s",
               messages ? hn_json_kind_text(messages->kind) : "nothing");
    for (const hn_json *m = hn_json_first(messages); m; m = m->next)
        HN_TRY(add_message(record, options, m, to));
    return HN_OK;
}

hn_status hn_message_add_text(hn_record *record, hn_tree_node *to, const char *role,
                              const char *text, size_t bytes)
{
    hn_tree_node made = hn_tree_new(&record->tree, HN_JSON_OBJECT);
    HN_TRY(add_weight(record, NULL));
    hn_tree_add_text(&record->tree, &made, "role", role, strlen(role));
    hn_tree_add_text(&record->tree, &made, "content", text, bytes);
    hn_tree_add(&record->tree, to, NULL, made.value);
    return HN_OK;
}

/* {"name", "arguments"}, or a list of them, as the text of a turn. */
static hn_status add_call_turn(hn_record *record, bool text_calls, const hn_json *turn,
                               const hn_json *value, hn_tree_node *to)
{
    hn_tree *tree = &record->tree;
    const hn_json *call = NULL;
    HN_TRY(hn_tree_read(tree, "a function_call turn", value, &call));
    hn_tree_node made = hn_tree_new(tree, HN_JSON_OBJECT);
    hn_tree_node calls = hn_tree_new(tree, HN_JSON_ARRAY);
    const bool is_list = call->kind == HN_JSON_ARRAY;
    for (const hn_json *c = is_list ? hn_json_first(call) : call; c;
         c = is_list ? c->next : NULL) {
        HN_REQUIRE(hn_json_get(c, "name"), HN_ERR_FORMAT,
                   "a function_call turn: expected {\"name\", \"arguments\"}, found %s",
                   hn_json_kind_text(c->kind));
        hn_tree_node one = hn_tree_new(tree, HN_JSON_OBJECT);
        hn_tree_add_text(tree, &one, "type", "function", 8);
        HN_TRY(add_function(tree, text_calls, c, &one));
        hn_tree_add(tree, &calls, NULL, one.value);
    }
    HN_TRY(add_weight(record, turn));
    hn_tree_add_text(tree, &made, "role", "assistant", 9);
    hn_tree_add_text(tree, &made, "content", "", 0);
    hn_tree_add(tree, &made, "tool_calls", calls.value);
    hn_tree_add(tree, to, NULL, made.value);
    return HN_OK;
}

/* NULL: no such speaker. "call" is a turn that calls functions. */
static const char *role_of(const char *from)
{
    static const char *const roles[][2] = {
        { "human", "user" },
        { "user", "user" },
        { "gpt", "assistant" },
        { "assistant", "assistant" },
        { "model", "assistant" },
        { "chatgpt", "assistant" },
        { "bot", "assistant" },
        { "system", "system" },
        { "function_call", "call" },
        { "observation", "tool" },
        { "function_response", "tool" },
        { "tool", "tool" },
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (!strcmp(from, roles[i][0]))
            return roles[i][1];
    return NULL;
}

static hn_status add_turn(hn_record *record, const hn_record_options *options,
                          const hn_json *turn, hn_tree_node *to)
{
    const hn_json *value = hn_json_get(turn, "value");
    const char *from = NULL, *text = NULL;
    HN_REQUIRE(turn->kind == HN_JSON_OBJECT, HN_ERR_FORMAT,
               "conversations: expected objects with from and value, found %s",
               hn_json_kind_text(turn->kind));
    if (hn_json_get(turn, "role")) /* OpenAI's messages under the other name */
        return add_message(record, options, turn, to);
    HN_TRY(hn_keys_check_part(turn, "a turn", "from value weight train training", options));
    HN_TRY(hn_json_want_string(hn_json_get(turn, "from"), "from of a turn", &from));
    HN_TRY(hn_json_want_string(value, "value of a turn", &text));
    const char *role = role_of(from);
    HN_REQUIRE(role, HN_ERR_FORMAT,
               "from of a turn: expected human, gpt, system, function_call or observation, "
               "found '%s'",
               from);
    if (!strcmp(role, "call"))
        return add_call_turn(record, options->text_calls, turn, value, to);
    HN_TRY(hn_message_add_text(record, to, role, text, hn_json_bytes(value)));
    record->n_weights--; /* the turn's own */
    return add_weight(record, turn);
}

hn_status hn_turns_add(hn_record *record, const hn_record_options *options,
                       const hn_json *turns, hn_tree_node *to)
{
    HN_REQUIRE(turns->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "conversations: expected an array, found %s", hn_json_kind_text(turns->kind));
    for (const hn_json *t = hn_json_first(turns); t; t = t->next)
        HN_TRY(add_turn(record, options, t, to));
    return HN_OK;
}

hn_status hn_tools_read(hn_record *record, const hn_json *tools, const hn_json **out)
{
    hn_tree *tree = &record->tree;
    *out = NULL;
    if (!tools || tools->kind == HN_JSON_NULL)
        return HN_OK;
    if (tools->kind == HN_JSON_STRING && !hn_json_bytes(tools))
        return HN_OK;
    if (tools->kind == HN_JSON_STRING)
        HN_TRY(hn_tree_read(tree, "tools", tools, &tools));
    HN_REQUIRE(tools->kind == HN_JSON_ARRAY, HN_ERR_FORMAT,
               "tools: expected an array, found %s", hn_json_kind_text(tools->kind));
    if (!hn_json_count(tools))
        return HN_OK;
    hn_tree_node list = hn_tree_new(tree, HN_JSON_ARRAY);
    for (const hn_json *t = hn_json_first(tools); t; t = t->next) {
        if (!hn_json_get(t, "name") || hn_json_get(t, "function")) {
            hn_tree_add(tree, &list, NULL, t);
            continue;
        }
        hn_tree_node wrapped = hn_tree_new(tree, HN_JSON_OBJECT);
        hn_tree_add_text(tree, &wrapped, "type", "function", 8);
        hn_tree_add(tree, &wrapped, "function", t);
        hn_tree_add(tree, &list, NULL, wrapped.value);
    }
    *out = list.value;
    return HN_OK;
}
