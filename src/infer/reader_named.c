/* Calls whose name stands before their arguments, which are a JSON object. */
#include "infer/reader_parts.h"

#include <string.h>

enum { LONGEST_NAME = 256, LONGEST_FENCE = 64 };

static void cut_at(hn_str *text, size_t n)
{
    text->text[n] = 0;
    text->length = n;
}

static void trim(hn_str *text)
{
    size_t begin = 0;
    while (begin < text->length && strchr(" \n\r\t", text->text[begin]))
        begin++;
    while (text->length > begin && strchr(" \n\r\t", text->text[text->length - 1]))
        cut_at(text, text->length - 1);
    if (begin) {
        memmove(text->text, text->text + begin, text->length - begin);
        cut_at(text, text->length - begin);
    }
}

/* name, or name[CALL_ID]id; functions.name:0 is the id of name. */
static void take_name(hn_reader *r)
{
    const hn_call_family *f = r->o.family;
    static const char id_mark[] = "[CALL_ID]";
    const size_t n_prefix = strlen(f->prefix);
    hn_str_clear(&r->name);
    hn_str_clear(&r->id);
    trim(&r->word);
    char *id = strstr(r->word.text, id_mark);
    if (id) {
        hn_str_add(&r->id, id + sizeof id_mark - 1);
        cut_at(&r->word, (size_t)(id - r->word.text));
    }
    const bool has_prefix = n_prefix && r->word.length > n_prefix && !memcmp(r->word.text, f->prefix, n_prefix);
    char *colon = strrchr(r->word.text, ':');
    if (has_prefix && colon && colon[1] >= '0' && colon[1] <= '9') {
        hn_str_add_bytes(&r->id, r->word.text, r->word.length);
        cut_at(&r->word, (size_t)(colon - r->word.text));
    }
    hn_str_add_bytes(&r->name, r->word.text + (has_prefix ? n_prefix : 0), r->word.length - (has_prefix ? n_prefix : 0));
    trim(&r->name);
}

/* What a name cannot hold shows that it is none; `function` and a mark may come before it. */
static bool is_no_name(const hn_reader *r, char c)
{
    return c == '{' || c == '"' || r->word.length > LONGEST_NAME;
}

static void read_name(hn_reader *r, char c)
{
    const hn_call_family *f = r->o.family;
    hn_str_add_char(&r->raw, c);
    hn_str_add_char(&r->word, c);
    if (is_no_name(r, c)) {
        hn_reader_abandon(r);
        return;
    }
    if (!hn_reader_ends(&r->word, f->sep))
        return;
    cut_at(&r->word, r->word.length - strlen(f->sep));
    take_name(r);
    if (!hn_reader_is_name(&r->name)) {
        hn_reader_abandon(r);
        return;
    }
    hn_reader_tell(r);
    r->value = (hn_value_scan){ 0 };
    hn_str_clear(&r->word);
    r->phase = HN_READS_VALUE;
}

static void begin_end(hn_reader *r)
{
    hn_str_clear(&r->word);
    if (r->o.family->end[0])
        r->phase = HN_READS_END;
    else
        hn_reader_end_call(r);
}

/* Arguments may stand in a fence, ```json. */
static void read_value(hn_reader *r, char c)
{
    const hn_call_family *f = r->o.family;
    if (!r->value.has_begun && c != '{') {
        hn_str_add_char(&r->word, c);
        if (f->end[0] && hn_reader_ends(&r->word, f->end))
            hn_reader_end_call(r);
        else if (r->word.length > LONGEST_FENCE) {
            hn_reader_end_call(r);
            hn_reader_end_section(r);
        }
        return;
    }
    const hn_value_step step = hn_value_feed(&r->value, c);
    hn_reader_give(r, &c, 1);
    if (step != HN_VALUE_GOES_ON)
        begin_end(r);
}

/* A message with a call ends as any other may: where it is not the answer's last, the next is read as what it is. */
static bool ends_message(const hn_reader *r)
{
    return hn_reader_ends(&r->word, r->o.family->end) || hn_reader_ends(&r->word, "<|end|>") || hn_reader_ends(&r->word, "<|return|>");
}

static void read_end(hn_reader *r, char c)
{
    const hn_call_family *f = r->o.family;
    hn_str_add_char(&r->word, c);
    if (f->form == HN_CALLS_HARMONY) {
        if (!ends_message(r))
            return;
        hn_reader_end_call(r);
        hn_reader_end_section(r);
    } else if (hn_reader_ends(&r->word, f->end)) {
        hn_reader_end_call(r);
    } else if (f->close[0] && hn_reader_ends(&r->word, f->close)) {
        hn_reader_end_call(r);
        hn_reader_end_section(r);
    } else if (f->begin[0] && hn_reader_ends(&r->word, f->begin)) {
        hn_reader_end_call(r);
        hn_str_clear(&r->word);
        r->phase = HN_READS_NAME;
    }
}

void hn_reader_named(hn_reader *r, char c)
{
    if (r->phase == HN_READS_NAME && r->o.family->form == HN_CALLS_XML)
        hn_reader_elements(r, c);
    else if (r->phase == HN_READS_NAME)
        read_name(r, c);
    else if (r->phase == HN_READS_VALUE)
        read_value(r, c);
    else
        read_end(r, c);
}

/* ---- messages with headers ---- */

static bool may_begin_header(const hn_str *word)
{
    static const char *const beginnings[] = { " to=", "<|channel|>", "<|message|>", "<|start|>" };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        const size_t n = strlen(beginnings[i]);
        if (!memcmp(word->text, beginnings[i], word->length < n ? word->length : n))
            return true;
    }
    return false;
}

/* <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|> */
void hn_reader_header(hn_reader *r, char c)
{
    static const char recipient[] = "to=functions.", message[] = "<|message|>";
    hn_str_add_char(&r->word, c);
    if (r->is_first && !may_begin_header(&r->word)) {
        r->is_first = false;
        r->phase = HN_READS_TEXT;
        hn_reader_say(r, r->word.text, r->word.length);
        return;
    }
    if (!hn_reader_ends(&r->word, message))
        return;
    r->is_first = false;
    cut_at(&r->word, r->word.length - strlen(message));
    const char *name = strstr(r->word.text, recipient), *channel = NULL, *to = strstr(r->word.text, " to=");
    for (const char *at = r->word.text; (at = strstr(at, "<|channel|>")) != NULL; at++)
        channel = at; /* the last counts */
    r->phase = HN_READS_TEXT;
    hn_str_clear(&r->name);
    hn_str_clear(&r->id);
    if (name)
        hn_str_add_bytes(&r->name, name + strlen(recipient), strcspn(name + strlen(recipient), " <\n"));
    if (r->o.tools && hn_reader_is_name(&r->name)) {
        hn_reader_tell(r);
        r->value = (hn_value_scan){ 0 };
        hn_str_clear(&r->word);
        r->phase = HN_READS_VALUE;
        return;
    }
    r->voice = !strncmp(channel ? channel + 11 : r->word.text, "analysis", 8) ? HN_VOICE_THOUGHT : HN_VOICE_ANSWER;
    r->is_trimmed = false;
    /* a message to a tool that nobody offered is nobody's to read */
    r->is_unsaid = to && strncmp(to + 4, "assistant", 9) != 0 && strncmp(to + 4, "user", 4) != 0;
    hn_str_clear(&r->word);
}
