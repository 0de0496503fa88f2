/* Text, thoughts and the marks between them; what calls have in common.
 *
 *     TEXT --a call's mark--> SECTION <--> NAME, OBJECT, VALUE, BODY ...: one call     (reader_parts.h has all phases)
 *       ^                      |   `--> the call's name is told: from here on it is a call, and none of it is text again
 *       `----its end, or what is no call: said as text, from its mark on, unless a call was told
 *
 * In text a byte is in one place until it is given out: `held`, what may be the beginning of a mark, never longer than the
 * longest one; `blanks`, white space that is dropped if no word follows; `said`, which is flushed at the end of each piece and
 * before a change of voice. Within a call `raw` has all of it since its mark, what is held too, so that what turns out to be none
 * can be said after all (hn_reader_abandon). hn_reader_tell, which clears `raw`, is the one point of no return.
 *
 * What is given out depends on the bytes alone and not on how they were cut: all state is between bytes, and a piece's end flushes
 * only what no later byte can take back. Where a mark fails to come, the first held byte is said and the rest matched anew, so a mark
 * that begins within a false one is found.
 *
 * Memory that is lacking is remembered by each text (hn_str) and told at the end of a piece. */
#include "infer/reader_parts.h"

#include <string.h>

/* ---- making ---- */

hn_status hn_reader_new(hn_reader **out, hn_heap *heap, const hn_reader_options *o, const hn_reader_ear *ear)
{
    *out = NULL;
    HN_REQUIRE(!o->tools || o->tools->kind == HN_JSON_ARRAY, HN_ERR_ARGUMENT, "tools: expected an array, found %s",
               o->tools ? hn_json_kind_text(o->tools->kind) : "");
    HN_REQUIRE(!o->tools || o->family, HN_ERR_UNSUPPORTED,
               "tools: expected a chat template whose way to write calls is known, found another; the family json may be asked for");
    hn_reader *r = hn_alloc(heap, HN_TAG_TEXT, sizeof *r);
    if (!r)
        return HN_ERR_MEMORY;
    *r = (hn_reader){ .heap = heap, .o = *o, .ear = *ear, .is_blank = true };
    hn_str *const texts[] = { &r->said, &r->blanks, &r->held, &r->raw, &r->name, &r->id, &r->key, &r->word, &r->arguments };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = hn_str_on(heap);
    if (!r->o.thoughts.open)
        r->o.thoughts = hn_thought_marks_of("", 0);
    r->voice = o->in_thought ? HN_VOICE_THOUGHT : HN_VOICE_ANSWER;
    r->is_trimmed = o->in_thought;
    r->is_first = o->family && o->family->form == HN_CALLS_HARMONY; /* the prompt has begun a header */
    r->phase = r->is_first ? HN_READS_HEADER : HN_READS_TEXT;
    *out = r;
    return HN_OK;
}

void hn_reader_free(hn_reader *r)
{
    if (!r)
        return;
    hn_str *const texts[] = { &r->said, &r->blanks, &r->held, &r->raw, &r->name, &r->id, &r->key, &r->word, &r->arguments };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        hn_str_free(texts[i]);
    hn_free(r->heap, r);
}

void hn_reader_drop(hn_reader *r, hn_str *text)
{
    if (r->status == HN_OK)
        r->status = text->status;
    hn_str_free(text);
}

bool hn_reader_is_name(const hn_str *text) { return text->length && !memchr(text->text, 0, text->length); }

/* ---- giving out ---- */

static void flush_said(hn_reader *r)
{
    if (r->said.length)
        r->ear.say(r->ear.context, r->voice, r->said.text, r->said.length);
    hn_str_clear(&r->said);
}

static void flush_arguments(hn_reader *r)
{
    if (r->is_told && r->arguments.length) {
        r->ear.call(r->ear.context, r->index, NULL, NULL, r->arguments.text, r->arguments.length);
        hn_str_clear(&r->arguments);
    }
}

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static void say_byte(hn_reader *r, char c)
{
    if (r->is_unsaid)
        return;
    if (r->is_trimmed && (c == '\n' || c == '\r'))
        return;
    r->is_trimmed = false;
    const bool holds_blank = r->voice == HN_VOICE_THOUGHT || r->is_blank;
    if (is_blank(c) && holds_blank) {
        hn_str_add_char(&r->blanks, c);
        return;
    }
    hn_str_add_bytes(&r->said, r->blanks.text, r->blanks.length);
    hn_str_clear(&r->blanks);
    hn_str_add_char(&r->said, c);
    r->is_blank = r->is_blank && r->voice == HN_VOICE_THOUGHT;
}

void hn_reader_say(hn_reader *r, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        say_byte(r, text[i]);
}

static void turn_to(hn_reader *r, hn_voice voice)
{
    flush_said(r);
    hn_str_clear(&r->blanks);
    r->voice = voice;
    r->is_trimmed = true;
}

void hn_reader_tell(hn_reader *r)
{
    flush_said(r);
    hn_str_clear(&r->blanks);
    if (r->voice == HN_VOICE_THOUGHT)
        turn_to(r, HN_VOICE_ANSWER);
    r->ear.call(r->ear.context, r->index, r->id.text, r->name.text, "", 0);
    r->is_told = r->had_call = true;
    hn_str_clear(&r->raw);
    r->has_arguments = r->arguments.length > 0;
}

void hn_reader_give(hn_reader *r, const char *text, size_t bytes)
{
    hn_str_add_bytes(&r->arguments, text, bytes);
    r->has_arguments |= bytes > 0;
}

void hn_reader_end_call(hn_reader *r)
{
    if (!r->is_told)
        hn_reader_tell(r);
    if (!r->has_arguments)
        hn_reader_give(r, "{}", 2);
    flush_arguments(r);
    r->is_told = r->has_arguments = false;
    r->index++;
    hn_str_clear(&r->name);
    hn_str_clear(&r->id);
    hn_str_clear(&r->held);
    hn_str_clear(&r->raw);
    r->phase = HN_READS_SECTION;
}

void hn_reader_end_section(hn_reader *r)
{
    r->phase = HN_READS_TEXT;
    r->is_list = r->is_bare = false;
    r->is_trimmed = true;
    r->is_blank = true; /* white space after a call waits for words */
    hn_str_clear(&r->held);
    hn_str_clear(&r->raw);
}

void hn_reader_abandon(hn_reader *r)
{
    hn_str text = r->raw; /* what was held is in it */
    r->raw = hn_str_on(r->heap);
    r->phase = HN_READS_TEXT;
    r->is_list = r->is_bare = r->is_told = r->has_arguments = false;
    hn_str_clear(&r->held);
    hn_str_clear(&r->name);
    hn_str_clear(&r->id);
    hn_str_clear(&r->arguments);
    hn_reader_say(r, text.text, text.length);
    hn_reader_drop(r, &text);
}

/* ---- tools ---- */

static const hn_json *function_of(const hn_json *tool)
{
    const hn_json *function = hn_json_get(tool, "function");
    return function && function->kind == HN_JSON_OBJECT ? function : tool;
}

static const hn_json *find_tool(const hn_reader *r, const char *name)
{
    for (const hn_json *t = hn_json_first(r->o.tools); t; t = t->next) {
        const hn_json *function = function_of(t), *found = hn_json_get(function, "name");
        if (found && found->kind == HN_JSON_STRING && !strcmp(hn_json_string(found), name))
            return function;
    }
    return NULL;
}

bool hn_reader_has_tool(const hn_reader *r, const char *name) { return find_tool(r, name) != NULL; }

const hn_json *hn_reader_schema(const hn_reader *r, const char *name, const char *parameter)
{
    const hn_json *function = find_tool(r, name);
    const hn_json *all = function ? hn_json_get(hn_json_get(function, "parameters"), "properties") : NULL;
    return all ? hn_json_get(all, parameter) : NULL;
}

/* ---- marks ---- */

bool hn_reader_ends(const hn_str *text, const char *end)
{
    const size_t n = strlen(end);
    return n && text->length >= n && !memcmp(text->text + text->length - n, end, n);
}

typedef enum mark_kind { THOUGHT_OPENS, THOUGHT_CLOSES, CALL_OPENS, NAME_BEGINS, SILENT, HEADER_BEGINS } mark_kind;

typedef struct mark {
    const char *text;
    mark_kind kind;
} mark;

enum { MOST_MARKS = 8 };

/* A thought's mark that is only text opens one where nothing was said before: an answer may tell of <think>. */
static bool opens_anywhere(const char *text) { return text[0] == '[' || text[1] == '|'; }

/* Models that end a thought with a call. */
static bool calls_in_thought(const hn_call_family *f)
{
    return f->form == HN_CALLS_XML || !strcmp(f->name, "kimi-k2");
}

static int marks_here(const hn_reader *r, mark *m)
{
    const hn_call_family *f = r->o.family;
    const hn_thought_marks *t = &r->o.thoughts;
    const bool thinks = r->voice == HN_VOICE_THOUGHT;
    int n = 0;
    if (f && f->form == HN_CALLS_HARMONY) {
        static const char *const silent[] = { "<|end|>", "<|call|>", "<|return|>" };
        m[n++] = (mark){ "<|channel|>", HEADER_BEGINS };
        m[n++] = (mark){ "<|start|>", HEADER_BEGINS };
        m[n++] = (mark){ "<|message|>", SILENT };
        for (int i = 0; i < 3; i++)
            m[n++] = (mark){ silent[i], SILENT };
        return n;
    }
    if (thinks)
        m[n++] = (mark){ t->close, THOUGHT_CLOSES };
    else if (r->is_blank || opens_anywhere(t->open))
        m[n++] = (mark){ t->open, THOUGHT_OPENS };
    if (!thinks && t->before[0])
        m[n++] = (mark){ t->before, SILENT };
    if (!thinks && t->after[0])
        m[n++] = (mark){ t->after, SILENT };
    if (f && r->o.tools && f->open[0] && (!thinks || calls_in_thought(f))) {
        const char *begin = f->form == HN_CALLS_XML ? f->prefix : f->form == HN_CALLS_NAMED ? f->begin : "";
        m[n++] = (mark){ f->open, CALL_OPENS };
        if (begin[0]) /* what opens the list may be left out */
            m[n++] = (mark){ begin, NAME_BEGINS };
    }
    return n;
}

static void open_call(hn_reader *r, const char *text)
{
    const hn_call_family *f = r->o.family;
    hn_str_clear(&r->raw);
    hn_str_add(&r->raw, text);
    r->is_list = r->had_call = false;
    r->nesting = 0;
    r->quote = '\0';
    r->value = (hn_value_scan){ 0 };
    r->phase = HN_READS_SECTION;
    if (f->form == HN_CALLS_PAIRS || f->form == HN_CALLS_PYTHON)
        r->phase = HN_READS_WORDS;
    else if ((f->form == HN_CALLS_NAMED && !f->begin[0]) || (f->form == HN_CALLS_XML && !f->prefix[0]))
        r->phase = HN_READS_NAME;
    hn_str_clear(&r->word);
}

static void reach(hn_reader *r, const mark *m)
{
    hn_str_clear(&r->held);
    switch (m->kind) {
    case THOUGHT_OPENS:
    case THOUGHT_CLOSES:
        turn_to(r, m->kind == THOUGHT_OPENS ? HN_VOICE_THOUGHT : HN_VOICE_ANSWER);
        break;
    case CALL_OPENS:
        open_call(r, m->text);
        break;
    case NAME_BEGINS:
        open_call(r, m->text);
        r->phase = HN_READS_NAME;
        break;
    case HEADER_BEGINS:
        turn_to(r, HN_VOICE_ANSWER);
        hn_str_clear(&r->word);
        r->is_first = r->is_unsaid = false;
        r->phase = HN_READS_HEADER;
        break;
    case SILENT:
        break;
    }
}

/* -1: what is held is the beginning of none; 0: of one; 1: it is *found. */
static int match(const hn_str *held, const mark *marks, int n, const mark **found)
{
    int best = -1;
    for (int i = 0; i < n; i++) {
        const size_t bytes = strlen(marks[i].text);
        if (held->length > bytes || memcmp(held->text, marks[i].text, held->length))
            continue;
        if (held->length == bytes) {
            *found = &marks[i];
            return 1;
        }
        best = 0;
    }
    return best;
}

static void drop_first(hn_str *held)
{
    char rest[128];
    const size_t n = held->length - 1;
    memcpy(rest, held->text + 1, n < sizeof rest ? n : sizeof rest);
    hn_str_clear(held);
    hn_str_add_bytes(held, rest, n);
}

static void read_text(hn_reader *r, char c)
{
    const hn_call_family *f = r->o.family;
    mark marks[MOST_MARKS];
    const mark *found = NULL;
    if (!r->held.length && c == '{' && r->is_blank && r->voice == HN_VOICE_ANSWER && f && r->o.tools &&
        f->form == HN_CALLS_JSON && f->begin[0]) {
        open_call(r, "");
        r->is_bare = true;
        hn_reader_feed(r, c);
        return;
    }
    hn_str_add_char(&r->held, c);
    while (r->held.length && r->held.status == HN_OK) {
        const int how = match(&r->held, marks, marks_here(r, marks), &found);
        if (how > 0)
            reach(r, found);
        if (how >= 0)
            return;
        say_byte(r, r->held.text[0]);
        drop_first(&r->held);
    }
}

/* ---- between calls ---- */

static void reach_in_section(hn_reader *r, const char *text)
{
    const hn_call_family *f = r->o.family;
    hn_str_clear(&r->held);
    hn_str_clear(&r->word);
    if (text == f->close)
        hn_reader_end_section(r);
    else if (f->form == HN_CALLS_NAMED && (text == f->begin || !f->begin[0]))
        r->phase = HN_READS_NAME;
    else if (f->form == HN_CALLS_XML && (text == f->prefix || !f->prefix[0]))
        r->phase = HN_READS_NAME;
}

/* What is no call ends the section: where none was told yet, all of it was text. */
static void leave_section(hn_reader *r)
{
    if (r->raw.length && !r->had_call) {
        hn_reader_abandon(r);
        return;
    }
    hn_str rest = r->held;
    r->held = hn_str_on(r->heap);
    hn_reader_end_section(r);
    for (size_t i = 0; i < rest.length; i++)
        hn_reader_feed(r, rest.text[i]);
    hn_reader_drop(r, &rest);
}

static bool read_bracket(hn_reader *r, char c)
{
    const hn_call_family *f = r->o.family;
    if (r->held.length || (f->form != HN_CALLS_JSON && f->form != HN_CALLS_KEYED))
        return false;
    if (c == '{') {
        hn_reader_begin_object(r);
        return true;
    }
    if (c == '[' && !r->is_list) {
        r->is_list = true;
        return true;
    }
    if (c == ']' && r->is_list) {
        r->is_list = false;
        if (!f->close[0] && r->had_call)
            hn_reader_end_section(r);
        return true;
    }
    return (c == ',' || c == ';') && r->had_call;
}

static void read_section(hn_reader *r, char c)
{
    const hn_call_family *f = r->o.family;
    const mark marks[] = { { f->close, SILENT },
                           { f->begin, SILENT },
                           { f->form == HN_CALLS_XML ? f->prefix : "", SILENT },
                           { r->had_call ? f->open : "", SILENT } };
    mark here[4];
    const mark *found = NULL;
    int n = 0;
    hn_str_add_char(&r->raw, c);
    if ((is_blank(c) && !r->held.length) || read_bracket(r, c))
        return;
    hn_str_add_char(&r->held, c);
    for (int i = 0; i < 4; i++)
        if (marks[i].text[0] && !(f->form == HN_CALLS_JSON && i == 1))
            here[n++] = marks[i];
    const int how = match(&r->held, here, n, &found);
    if (how > 0)
        reach_in_section(r, found->text);
    else if (how < 0)
        leave_section(r);
}

/* ---- doors ---- */

void hn_reader_feed(hn_reader *r, char c)
{
    switch (r->phase) {
    case HN_READS_TEXT:
        read_text(r, c);
        break;
    case HN_READS_SECTION:
        read_section(r, c);
        break;
    case HN_READS_OBJECT:
        hn_reader_object(r, c);
        break;
    case HN_READS_NAME:
    case HN_READS_VALUE:
    case HN_READS_END:
        hn_reader_named(r, c);
        break;
    case HN_READS_BODY:
    case HN_READS_KEY:
    case HN_READS_ELEMENT:
        hn_reader_elements(r, c);
        break;
    case HN_READS_WORDS:
        hn_reader_words(r, c);
        break;
    case HN_READS_HEADER:
        hn_reader_header(r, c);
        break;
    }
}

static hn_status status_of(const hn_reader *r)
{
    const hn_str *const texts[] = { &r->said, &r->blanks, &r->held, &r->raw, &r->name, &r->id, &r->key, &r->word, &r->arguments };
    HN_TRY(r->status);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        HN_TRY(hn_str_status(texts[i]));
    return HN_OK;
}

hn_status hn_reader_add(hn_reader *r, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes && r->status == HN_OK; i++)
        hn_reader_feed(r, text[i]);
    HN_TRY(status_of(r));
    flush_said(r);
    flush_arguments(r);
    return HN_OK;
}

hn_status hn_reader_finish(hn_reader *r, bool *is_cut)
{
    *is_cut = false;
    HN_TRY(status_of(r));
    if (r->phase == HN_READS_TEXT)
        hn_reader_say(r, r->held.text, r->held.length);
    else if (r->phase == HN_READS_END)
        hn_reader_end_call(r); /* its arguments are whole */
    else if (r->is_told)
        *is_cut = true;
    else if (r->phase == HN_READS_HEADER && r->is_first)
        hn_reader_say(r, r->word.text, r->word.length);
    else if (r->raw.length && r->phase != HN_READS_HEADER && !(r->phase == HN_READS_SECTION && r->had_call))
        hn_reader_abandon(r);
    HN_TRY(status_of(r));
    flush_said(r);
    flush_arguments(r);
    return HN_OK;
}

static bool is_part(const char *text, const char *piece, size_t bytes)
{
    return bytes && strlen(text) >= bytes && hn_text_holds(text, strlen(text), piece, bytes);
}

bool hn_reader_knows(const hn_reader *r, const char *piece, size_t bytes)
{
    const hn_call_family *f = r->o.family;
    const hn_thought_marks *t = &r->o.thoughts;
    const char *const marks[] = { t->open, t->close, t->before, t->after, f ? f->open : "", f ? f->begin : "", f ? f->prefix : "",
                                  f ? f->sep : "", f ? f->end : "", f ? f->close : "", "<|\"|>", "[CALL_ID]", "<|constrain|>",
                                  "<|start|>", "<|end|>", "<|return|>" };
    const size_t n = sizeof marks / sizeof *marks;
    for (size_t i = 0; i < (f && f->form == HN_CALLS_HARMONY ? n : n - 3); i++)
        if (is_part(marks[i], piece, bytes))
            return true;
    return false;
}
