/* Which tokens count is decided by characters, not by tokens: stretches of the rendered text are supervised, and a
 * token is if it begins in one. What is cut off a long sequence is cut after that, so what stays counts as it did.
 *
 * The clock that templates may ask for stands still (hn_example_clock): otherwise the same data would be another
 * on another day. */
#include "data/example.h"

#include "data/marks.h"
#include "data/message.h"
#include "data/unread.h"

#include <string.h>

const int64_t hn_example_clock = 1767268800;

const char *hn_token_role_name(hn_token_role role)
{
    static const char *const names[HN_N_TOKEN_ROLES] = { "-",    "system", "user", "assistant",
                                                         "tool", "prompt", "text" };
    return names[role];
}

static const char *const loss_names[] = { HN_LOSS_LIST(HN_WORD_ALONE, HN_WORD_ALONE, HN_WORD_ALONE) };
static const char *const cut_names[HN_N_CUTS] = { "error", "keep-start", "keep-end", "allow" };

const char *hn_loss_on_name(hn_loss_on loss) { return loss_names[loss]; }
const char *hn_cut_name(hn_cut cut) { return cut_names[cut]; }

hn_status hn_loss_on_parse(const char *name, hn_loss_on *out)
{
    for (int i = 0; i < HN_N_LOSS_ON; i++)
        if (!strcmp(name, loss_names[i])) {
            *out = (hn_loss_on)i;
            return HN_OK;
        }
    return hn_fail(HN_ERR_ARGUMENT, "loss: expected " HN_LOSS_WORDS ", found '%s'", name);
}

hn_status hn_cut_parse(const char *name, hn_cut *out)
{
    for (int i = 0; i < HN_N_CUTS; i++)
        if (!strcmp(name, cut_names[i])) {
            *out = (hn_cut)i;
            return HN_OK;
        }
    hn_word_text all;
    return hn_fail(HN_ERR_ARGUMENT, "too long examples: expected %s, found '%s'", hn_words_or(HN_N_CUTS, cut_names, &all), name);
}

hn_example hn_example_on(hn_heap *heap)
{
    hn_example e = { .heap = heap, .record = hn_record_on(heap), .rendered = hn_str_on(heap) };
    e.part[0].text = e.part[1].text = hn_str_on(heap);
    return e;
}

void hn_example_free(hn_example *e)
{
    for (int i = 0; i < 2; i++) {
        hn_sample *s = &e->part[i];
        hn_free(e->heap, s->ids);
        hn_free(e->heap, s->weights);
        hn_free(e->heap, s->roles);
        hn_free(e->heap, s->begin);
        hn_free(e->heap, s->end);
        hn_str_free(&s->text);
    }
    hn_record_free(&e->record);
    hn_encoding_free(&e->encoding);
    hn_str_free(&e->rendered);
    hn_free(e->heap, e->spans.at);
    hn_template_origins_free(&e->origins);
    hn_template_origins_free(&e->rendered_origins);
    hn_free(e->heap, e->stretches.at);
    hn_free(e->heap, e->messages.at);
    *e = hn_example_on(e->heap);
}

hn_record_options hn_example_rule_records(const hn_example_rule *rule)
{
    return (hn_record_options){ .plain = rule->plain || !rule->chat,
                                .text_calls = rule->text_calls,
                                .ignored = rule->ignored,
                                .n_ignored = rule->n_ignored };
}

size_t hn_example_rule_limit(const hn_example_rule *rule)
{
    const size_t most = rule->max_length, context = rule->cut == HN_CUT_ALLOW ? rule->reach : rule->context;
    return !most || (context && context < most) ? context : most;
}

/* Whether the template takes the probe, and writes `sign`. */
static hn_status try_probe(hn_heap *heap, const hn_example_rule *rule, const char *arguments,
                           const char *sign, bool *takes, bool *shows)
{
    hn_str json = hn_str_on(heap), text = hn_str_on(heap);
    hn_json_text *messages = NULL;
    hn_str_print(
        &json,
        "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"\","
        "\"tool_calls\":[{\"id\":\"call00000\",\"type\":\"function\",\"function\":{"
        "\"name\":\"f\",\"arguments\":%s}}]}]",
        arguments);
    hn_status status = hn_str_status(&json);
    if (status == HN_OK)
        status = hn_json_read(heap, "probe", json.text, json.length, &messages);
    if (status == HN_OK) {
        const hn_chat_request request = { .messages = hn_json_root(messages),
                                          .no_generation_prompt = true,
                                          .template_name = rule->template_name,
                                          .vars = rule->vars,
                                          .n_vars = rule->n_vars,
                                          .options.clock = &hn_example_clock };
        status = hn_chat_render(rule->chat, &request, &text, NULL, NULL);
    }
    *takes = status == HN_OK;
    *shows = *takes && strstr(text.text, sign);
    hn_json_free(messages);
    hn_str_free(&json);
    hn_str_free(&text);
    return hn_is_no_answer(status) ? status : HN_OK; /* a template without tools may refuse */
}

hn_status hn_example_rule_probe(hn_heap *heap, hn_example_rule *rule)
{
    bool takes_object = false, prints_object = false, takes_text = false, shows_text = false;
    rule->text_calls = false;
    if (!rule->chat || rule->plain)
        return HN_OK;
    HN_TRY(try_probe(heap, rule, "{\"probe\":1}", "'probe'", &takes_object, &prints_object));
    HN_TRY(try_probe(heap, rule, "\"{\\\"probe\\\": 1}\"", "{\"probe\": 1}", &takes_text,
                     &shows_text));
    rule->text_calls = shows_text && (!takes_object || prints_object);
    return HN_OK;
}

static hn_status make_room(hn_heap *heap, hn_sample *s, size_t n)
{
    if (n <= s->room)
        return HN_OK;
    const size_t room = n + n / 2;
#define GROW(field)                                                                            \
    do {                                                                                       \
        void *more = hn_realloc_array(heap, HN_TAG_TEXT, s->field, room, sizeof *s->field);    \
        if (!more)                                                                             \
            return HN_ERR_MEMORY;                                                              \
        s->field = more;                                                                       \
    } while (0)
    GROW(ids);
    GROW(weights);
    GROW(roles);
    GROW(begin);
    GROW(end);
#undef GROW
    s->room = room;
    return HN_OK;
}

/* The ids of the sample's text, with one BOS where chat has one: templates write it, or the
 * tokenizer adds it. */
static hn_status encode(hn_example *e, const hn_example_rule *rule, hn_sample *s, bool is_chat)
{
    hn_encoding *to = &e->encoding;
    const int32_t bos = hn_tokenizer_special(rule->tok, HN_SPECIAL_BOS);
    const hn_text_origins origins = hn_template_origins_view(&e->origins);
    hn_encode_options o = { .add_bos = is_chat ? HN_NO : HN_BY_MODEL,
                            .add_eos = HN_NO,
                            .parse_special = is_chat,
                            .wants_offsets = true,
                            .origins = is_chat ? &origins : NULL };
    HN_TRY(hn_tokenizer_encode(rule->tok, s->text.text, s->text.length, &o, to));
    const bool adds = hn_tokenizer_adds_bos(rule->tok);
    if (is_chat && adds && !(bos >= 0 && to->n && to->ids[0] == bos)) {
        o.add_bos = HN_BY_MODEL;
        HN_TRY(hn_tokenizer_encode(rule->tok, s->text.text, s->text.length, &o, to));
    }
    s->has_double_bos = bos >= 0 && to->n > 1 && to->ids[0] == bos && to->ids[1] == bos;
    s->lacks_bos = adds && bos >= 0 && !(to->n && to->ids[0] == bos);
    HN_TRY(make_room(e->heap, s, to->n + 1));
    s->n = to->n;
    if (!to->n)
        return HN_OK;
    memcpy(s->ids, to->ids, to->n * sizeof *s->ids);
    memcpy(s->begin, to->begin, to->n * sizeof *s->begin);
    memcpy(s->end, to->end, to->n * sizeof *s->end);
    memset(s->weights, 0, to->n * sizeof *s->weights);
    memset(s->roles, HN_ROLE_NONE, to->n * sizeof *s->roles);
    return HN_OK;
}

static bool is_blank(const hn_sample *s, size_t t)
{
    for (size_t i = s->begin[t]; i < s->end[t]; i++)
        if (!strchr(" \n\r\t", s->text.text[i]) || !s->text.text[i])
            return false;
    return true;
}

static void supervise(hn_sample *s, size_t t, const hn_stretch *stretch)
{
    s->weights[t] = stretch->weight;
    if (stretch->role)
        s->roles[t] = (uint8_t)stretch->role;
}

/* After a stretch that the template marked: its end token, which some templates write behind
 * the block, belongs to it, for otherwise the model never learns to stop. */
static bool end_marked(hn_sample *s, const hn_tokenizer *tok, size_t first, size_t next,
                       const hn_stretch *stretch)
{
    for (size_t t = next; t > first; t--) {
        if (hn_tokenizer_ends(tok, s->ids[t - 1]))
            return true;
        if (!is_blank(s, t - 1))
            break;
    }
    size_t end = next;
    while (end < s->n && is_blank(s, end) && !hn_tokenizer_ends(tok, s->ids[end]))
        end++;
    if (end == s->n || !hn_tokenizer_ends(tok, s->ids[end]))
        return false;
    for (size_t t = next; t <= end; t++)
        supervise(s, t, stretch);
    return true;
}

static hn_status apply(hn_sample *s, const hn_tokenizer *tok, const hn_stretch *stretch,
                       size_t *from)
{
    size_t t = *from;
    while (t < s->n && s->begin[t] < stretch->begin) {
        s->n_straddling += s->end[t] > stretch->begin;
        t++;
    }
    const size_t first = t;
    bool has_ended = false, says = false;
    for (; t < s->n && s->begin[t] < stretch->end && !has_ended; t++) {
        supervise(s, t, stretch);
        s->n_straddling += s->end[t] > stretch->end;
        const bool is_end = hn_tokenizer_ends(tok, s->ids[t]);
        has_ended = !stretch->is_marked && is_end;
        says |= !is_end && !is_blank(s, t);
    }
    s->is_hollow |= !says;
    HN_REQUIRE(has_ended || !stretch->is_open, HN_ERR_UNSUPPORTED,
               "chat template: message %zu: expected an end token after the assistant's turn, "
               "found none, and the conversation up to it does not begin the whole text; a "
               "template with {%% generation %%} blocks (--template) or --loss last may do",
               stretch->message);
    if (!has_ended)
        has_ended = end_marked(s, tok, first, t, stretch);
    s->n_turns++;
    s->n_unended += !has_ended;
    *from = first;
    return HN_OK;
}

static void show_roles(hn_sample *s, const hn_stretches *messages)
{
    for (size_t k = 0, t = 0; k < messages->n; k++) {
        const hn_stretch *m = &messages->at[k];
        while (t < s->n && s->begin[t] < m->begin)
            t++;
        for (; t < s->n && s->begin[t] < m->end; t++)
            s->roles[t] = (uint8_t)m->role;
    }
}

static hn_status make_chat(hn_example *e, const hn_example_rule *rule,
                           const hn_record_part *part, hn_sample *s)
{
    const hn_chat_request request = { .messages = part->messages,
                                      .tools = part->tools,
                                      .no_generation_prompt = true,
                                      .template_name = rule->template_name,
                                      .vars = rule->vars,
                                      .n_vars = rule->n_vars,
                                      .options.clock = &hn_example_clock };
    HN_REQUIRE(rule->chat, HN_ERR_ARGUMENT,
               "messages: expected a chat template, found none in the model");
    HN_TRY(hn_chat_render(rule->chat, &request, &s->text, &e->spans, &e->origins));
    if (rule->finds_unread && !e->unread[0])
        HN_TRY(hn_unread_find(e, rule, part, &s->text));
    HN_TRY(hn_stretches_find(e, rule, part, &s->text, &s->is_hollow));
    HN_TRY(hn_marks_find(e, &s->text));
    HN_TRY(encode(e, rule, s, true));
    show_roles(s, &e->messages);
    size_t from = 0;
    for (size_t k = 0; k < e->stretches.n; k++)
        HN_TRY(apply(s, rule->tok, &e->stretches.at[k], &from));
    return HN_OK;
}

static bool is_blank_text(hn_span text)
{
    const char *at = text.data;
    for (size_t i = 0; i < text.bytes; i++)
        if (!at[i] || !strchr(" \n\r\t", at[i]))
            return false;
    return true;
}

/* Prompt and completion in one piece, then EOS. */
static hn_status make_text(hn_example *e, const hn_example_rule *rule,
                           const hn_record_part *part, hn_sample *s)
{
    const int32_t eos = hn_tokenizer_special(rule->tok, HN_SPECIAL_EOS);
    HN_REQUIRE(
        eos >= 0, HN_ERR_UNSUPPORTED,
        "a text: expected the tokenizer to have an EOS token to end it with, found none");
    HN_REQUIRE(rule->loss != HN_LOSS_WEIGHTS, HN_ERR_ARGUMENT,
               "--loss weights: expected messages with weights, found a text");
    hn_str_add_bytes(&s->text, part->prompt.data, part->prompt.bytes);
    hn_str_add_bytes(&s->text, part->completion.data, part->completion.bytes);
    HN_TRY(hn_str_status(&s->text));
    HN_TRY(encode(e, rule, s, false));
    const size_t border = part->prompt.bytes;
    for (size_t t = 0; t < s->n; t++) {
        const bool is_prompt = s->begin[t] < border;
        s->weights[t] = !is_prompt || rule->loss == HN_LOSS_ALL ? 1.0f : 0.0f;
        s->roles[t] = is_prompt ? HN_ROLE_PROMPT : HN_ROLE_TEXT;
        s->n_straddling += is_prompt && s->end[t] > border;
    }
    s->is_hollow = is_blank_text(part->completion);
    s->ids[s->n] = eos;
    s->weights[s->n] = 1;
    s->roles[s->n] = HN_ROLE_TEXT;
    s->begin[s->n] = s->end[s->n] = (uint32_t)s->text.length;
    s->n++;
    s->n_turns = 1;
    return HN_OK;
}

/* Tokens as they are: BOS and ends too are as they were given. */
static hn_status make_tokens(hn_example *e, const hn_example_rule *rule,
                             const hn_record_part *part, hn_sample *s)
{
    const int32_t bos = hn_tokenizer_special(rule->tok, HN_SPECIAL_BOS);
    const int64_t n_ids = rule->n_ids ? rule->n_ids : hn_tokenizer_size(rule->tok);
    const hn_json *weight = hn_json_first(part->id_weights);
    HN_REQUIRE(rule->loss != HN_LOSS_WEIGHTS || weight, HN_ERR_ARGUMENT,
               "--loss weights: expected weights beside ids, found none");
    HN_TRY(make_room(e->heap, s, hn_json_count(part->ids)));
    for (const hn_json *v = hn_json_first(part->ids); v; v = v->next) {
        int64_t id;
        double x = 1;
        HN_TRY(hn_json_want_int(v, "ids", &id));
        HN_REQUIRE(id >= 0 && id < n_ids, HN_ERR_FORMAT, "ids: token %lld: the vocabulary has %lld",
                   (long long)id, (long long)n_ids);
        if (weight) {
            HN_TRY(hn_json_want_double(weight, "weights", &x));
            HN_REQUIRE(x >= 0 && x <= 1e30, HN_ERR_FORMAT,
                       "weights: expected finite ones, not negative, found %g", x);
            weight = weight->next;
        }
        s->ids[s->n] = (int32_t)id;
        s->weights[s->n] = rule->loss == HN_LOSS_ALL ? 1.0f : (float)x;
        s->roles[s->n] = HN_ROLE_TEXT;
        s->begin[s->n] = s->end[s->n] = 0;
        s->n++;
    }
    s->n_turns = 1;
    s->has_double_bos = bos >= 0 && s->n > 1 && s->ids[0] == bos && s->ids[1] == bos;
    return HN_OK;
}

static void keep_end(hn_sample *s, size_t n, bool keeps_first)
{
    const size_t at = keeps_first ? 1 : 0, from = s->n - (n - at);
    memmove(s->ids + at, s->ids + from, (n - at) * sizeof *s->ids);
    memmove(s->weights + at, s->weights + from, (n - at) * sizeof *s->weights);
    memmove(s->roles + at, s->roles + from, (n - at) * sizeof *s->roles);
    memmove(s->begin + at, s->begin + from, (n - at) * sizeof *s->begin);
    memmove(s->end + at, s->end + from, (n - at) * sizeof *s->end);
}

static void cut(hn_sample *s, const hn_example_rule *rule)
{
    const size_t n = hn_example_rule_limit(rule);
    if (!n || s->n <= n)
        return;
    if (rule->cut == HN_CUT_ERROR || rule->cut == HN_CUT_ALLOW) { /* what is past the reach nothing allows */
        s->is_too_long = true;
        return;
    }
    const int32_t bos = hn_tokenizer_special(rule->tok, HN_SPECIAL_BOS);
    if (rule->cut == HN_CUT_KEEP_END)
        keep_end(s, n, n > 1 && bos >= 0 && s->ids[0] == bos);
    s->n_cut = s->n - n;
    s->n = n;
}

static hn_status make_sample(hn_example *e, const hn_example_rule *rule, int i)
{
    const hn_record_part *part = &e->record.part[i];
    hn_sample *s = &e->part[i];
    hn_str_clear(&s->text);
    s->n = s->n_supervised = s->n_cut = s->n_straddling = s->n_turns = s->n_unended = 0;
    s->has_double_bos = s->lacks_bos = s->is_too_long = s->is_hollow = false;
    HN_TRY(part->ids        ? make_tokens(e, rule, part, s)
           : part->messages ? make_chat(e, rule, part, s)
                            : make_text(e, rule, part, s));
    cut(s, rule);
    if (s->n)
        s->weights[0] = 0; /* nothing comes before it to foretell it by */
    for (size_t t = 0; t < s->n; t++) {
        s->weights[t] *= e->record.weight;
        s->n_supervised += s->weights[t] > 0;
    }
    return HN_OK;
}

hn_status hn_example_make(hn_example *e, const hn_example_rule *rule)
{
    e->n_parts = e->record.n_parts;
    e->label = e->record.label;
    e->unread[0] = '\0';
    for (int i = 0; i < e->n_parts; i++)
        HN_TRY(make_sample(e, rule, i));
    return HN_OK;
}
