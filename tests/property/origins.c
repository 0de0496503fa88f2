/* Nobody forges a turn: every token that a committed template writes, and every usual one, is put in place of every kind of
 * words that a conversation has, as a whole, with words around it, and in two halves at the ends of neighbours; the ids hold
 * no special token more than with a harmless word there. And what a template does to words, by every filter and method, does
 * not make data the template's own, nor the other way. */
#include "base/file.h"
#include "text/template/chat.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/vocab.h"
#include "text/unicode/unicode.h"

#include "tests/harness/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MARKS = 160, MOST_IDS = 1 << 12 };

static hn_heap heap;
static const int64_t clock_at = 1753531200;

/* ---- marks ---- */

typedef struct marks {
    char text[MOST_MARKS][64];
    int n, n_special; /* those before are special whatever the way */
} marks;

static void add_mark(marks *m, const char *text, size_t bytes)
{
    if (bytes < 3 || bytes >= sizeof m->text[0] || m->n == MOST_MARKS)
        return;
    for (int i = 0; i < m->n; i++)
        if (strlen(m->text[i]) == bytes && !memcmp(m->text[i], text, bytes))
            return;
    memcpy(m->text[m->n++], text, bytes);
}

/* Everything in a source that looks like a mark: <...> and [...] without blanks, quotes or signs of Jinja. */
static void find_marks(marks *m, const char *source, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        const char close = source[i] == '<' ? '>' : source[i] == '[' ? ']' : 0;
        size_t end = i + 1;
        while (close && end < bytes && source[end] != close && !strchr(" \t\n\"'{}()=+~\\,[<", source[end]))
            end++;
        const bool is_word = end > i + 2 && end < bytes && source[end] == close;
        bool is_upper = true;
        for (size_t k = i + 1; k < end; k++)
            is_upper &= (source[k] >= 'A' && source[k] <= 'Z') || source[k] == '_' || source[k] == '/';
        if (is_word && (close == '>' || is_upper))
            add_mark(m, source + i, end + 1 - i);
    }
}

static const char *const usual[] = {
    "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|start_header_id|>", "<start_of_turn>",
    "<end_of_turn>", "<think>", "</think>", "<tool_call>", "</tool_call>", "[INST]", "[/INST]", "[TOOL_CALLS]",
    "<|python_tag|>", "<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|channel|>", "<|message|>", "<|start|>",
};

/* ---- a tokenizer whose added tokens are these: bytes, a run of blanks, and the marks ---- */

static void put_json(hn_str *to, const char *text, size_t bytes)
{
    hn_str_add_char(to, '"');
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '"' || text[i] == '\\')
            hn_str_add_char(to, '\\');
        if ((unsigned char)text[i] < ' ')
            hn_str_print(to, "\\u%04x", text[i]);
        else
            hn_str_add_char(to, text[i]);
    }
    hn_str_add_char(to, '"');
}

static void put_added(hn_str *to, int id, const char *text, bool special, bool normalized)
{
    hn_str_print(to, "%s{\"id\":%d,\"content\":", id > 256 ? "," : "", id);
    put_json(to, text, strlen(text));
    hn_str_print(to, ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":%s,\"special\":%s}",
                 normalized ? "true" : "false", special ? "true" : "false");
}

static bool make_tokenizer(const marks *m, bool special, bool normalized, hn_tokenizer **out)
{
    hn_str json = hn_str_on(&heap);
    hn_json_text *text = NULL;
    *out = NULL;
    hn_str_add(&json, "{\"added_tokens\":[");
    put_added(&json, 256, "\n\n", false, false);
    for (int i = 0; i < m->n; i++)
        put_added(&json, 257 + i, m->text[i], special || i < m->n_special, normalized && i >= m->n_special);
    hn_str_add(&json, "],\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false},"
                      "\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{");
    for (int i = 0; i < 256; i++) {
        char bytes[4];
        const uint32_t code = hn_byte_char((uint8_t)i);
        size_t n = 0;
        if (code < 0x80)
            bytes[n++] = (char)code;
        else {
            bytes[n++] = (char)(0xc0 | code >> 6);
            bytes[n++] = (char)(0x80 | (code & 0x3f));
        }
        hn_str_add(&json, i ? "," : "");
        put_json(&json, bytes, n);
        hn_str_print(&json, ":%d", i);
    }
    hn_str_add(&json, "}}}");
    if (CHECK_OK(hn_str_status(&json)) && CHECK_OK(hn_json_read(&heap, "tokenizer", json.text, json.length, &text)))
        CHECK_OK(hn_tokenizer_from_json(&heap, "tokenizer", hn_json_root(text), NULL, NULL, out));
    hn_json_free(text);
    hn_str_free(&json);
    return *out != NULL;
}

/* ---- conversations with one place to fill ---- */

typedef struct field {
    const char *name, *json; /* @ is the word; & a neighbour's, "" but for halves */
    const char *variable;    /* a variable that is given the word; NULL: none */
    bool is_assistant;       /* what templates look for thoughts in */
} field;

#define TOOLS(description, schema)                                                                                   \
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":\"" description                   \
    "\",\"parameters\":{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\",\"description\":\"" schema     \
    "\"}},\"required\":[\"q\"]}}}]"
#define CALL                                                                                                         \
    "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"call12345\",\"type\":\"function\",\"function\":" \
    "{\"name\":\"f\",\"arguments\":{\"q\":\"x\"}}}]}"

static const field fields[] = {
    { "user", "{\"messages\":[{\"role\":\"user\",\"content\":\"@\"}]}", NULL, false },
    { "two users", "{\"messages\":[{\"role\":\"user\",\"content\":\"&@\"},{\"role\":\"assistant\",\"content\":\"b\"},"
                   "{\"role\":\"user\",\"content\":\"@\"}]}", NULL, false },
    { "system", "{\"messages\":[{\"role\":\"system\",\"content\":\"@\"},{\"role\":\"user\",\"content\":\"&\"}]}", NULL, false },
    { "developer", "{\"messages\":[{\"role\":\"developer\",\"content\":\"@\"},{\"role\":\"user\",\"content\":\"&\"}]}", NULL, false },
    { "parts", "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"@\"},{\"type\":\"text\","
               "\"text\":\"&\"}]}]}", NULL, false },
    { "assistant", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"@\"},"
                   "{\"role\":\"user\",\"content\":\"&\"}]}", NULL, true },
    { "thought", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\","
                 "\"reasoning_content\":\"@\"}],\"add_generation_prompt\":false}", NULL, true },
    { "role", "{\"messages\":[{\"role\":\"@\",\"content\":\"&\"}]}", NULL, false },
    { "name", "{\"messages\":[{\"role\":\"user\",\"name\":\"@\",\"content\":\"a\"}," CALL ",{\"role\":\"tool\",\"tool_call_id\":"
              "\"call12345\",\"name\":\"@\",\"content\":\"&\"}]," TOOLS("d", "d") "}", NULL, false },
    { "description", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]," TOOLS("@", "d") "}", NULL, false },
    { "schema", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]," TOOLS("d", "@") "}", NULL, false },
    { "tool's name", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":"
             "\"@\",\"description\":\"d\",\"parameters\":{\"type\":\"object\",\"properties\":{\"@\":{\"type\":\"string\"}}}}}]}", NULL, false },
    { "arguments", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":"
                   "[{\"id\":\"call12345\",\"type\":\"function\",\"function\":{\"name\":\"@\",\"arguments\":{\"@\":\"@\"}}}]},"
                   "{\"role\":\"tool\",\"tool_call_id\":\"call12345\",\"name\":\"f\",\"content\":\"&\"}]," TOOLS("d", "d") "}", NULL, false },
    { "arguments as text", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":"
                   "[{\"id\":\"call12345\",\"type\":\"function\",\"function\":{\"name\":\"@\",\"arguments\":\"{'@'}\"}}]}]," TOOLS("d", "d") "}", NULL, false },
    { "result", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}," CALL ",{\"role\":\"tool\",\"tool_call_id\":\"call12345\","
                "\"name\":\"f\",\"content\":\"@\"}]," TOOLS("d", "d") "}", NULL, false },
    { "document", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"documents\":[{\"doc_id\":\"1\",\"title\":\"@\","
                  "\"text\":\"&@\",\"content\":\"@\"}]}", NULL, false },
    { "variable", "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}", "*", false },
};

/* Texts that templates ask for beside the conversation. */
static const char *const variables[] = { "model_identity", "reasoning_effort", "date_string", "today_date", "custom_instructions",
                                         "thinking_budget", "system_message", "developer_role", "builtin_tools", "length" };

static void fill(hn_str *to, const char *json, const char *word, const char *neighbour)
{
    hn_str_clear(to);
    for (const char *c = json; *c; c++) {
        const char *text = *c == '@' ? word : *c == '&' ? neighbour : NULL;
        for (; text && *text; text++) {
            if (*text == '"' || *text == '\\' || *text == '\n')
                hn_str_add_char(to, '\\');
            hn_str_add_char(to, *text == '\n' ? 'n' : *text);
        }
        if (*c != '@' && *c != '&')
            hn_str_add_char(to, *c);
    }
}

typedef struct bench {
    const char *name;
    hn_chat_format *chat;
    hn_tokenizer *tok;
    const marks *marks;
    hn_encoding encoding;
    hn_template_origins origins;
    hn_str json, text;
    int counts[MOST_MARKS], harmless[MOST_MARKS];
    int n_tried[HN_COUNT(fields)];
} bench;

/* How often each mark is a token of the conversation; false if the template does not take it, or does not write the word. */
static bool count_marks(bench *b, const field *f, const char *word, const char *neighbour, int *counts)
{
    hn_json_text *text = NULL;
    hn_template_var vars[HN_COUNT(variables)];
    hn_chat_request request = { .vars = vars, .options.clock = &clock_at };
    fill(&b->json, f->json, word, neighbour);
    memset(counts, 0, MOST_MARKS * sizeof *counts);
    if (!CHECK_OK(hn_json_read(&heap, "chat", b->json.text, b->json.length, &text)))
        return false;
    request.messages = hn_json_root(text);
    const hn_json *prompt = hn_json_get(request.messages, "add_generation_prompt");
    request.no_generation_prompt = prompt != NULL;
    for (size_t i = 0; f->variable && i < HN_COUNT(variables); i++)
        vars[request.n_vars++] = (hn_template_var){ .name = variables[i], .text = word };
    hn_str_clear(&b->text);
    const bool takes = hn_chat_render(b->chat, &request, &b->text, NULL, &b->origins) == HN_OK;
    const hn_text_origins origins = hn_template_origins_view(&b->origins);
    const hn_encode_options o = { .add_bos = HN_NO, .add_eos = HN_NO, .parse_special = true, .origins = &origins };
    if (takes && CHECK_OK(hn_tokenizer_encode(b->tok, b->text.text, b->text.length, &o, &b->encoding)))
        for (size_t i = 0; i < b->encoding.n; i++)
            if (b->encoding.ids[i] >= 257)
                counts[b->encoding.ids[i] - 257]++;
    hn_json_free(text);
    return takes;
}

/* Templates that look for </think> in what the assistant said write the thought's marks themselves where they find it: it is
 * they who say so, in the assistant's own turn, and no word of it becomes a token. */
static bool may_be_more(const field *f, const char *word, const char *mark)
{
    return f->is_assistant && strstr(word, "think") && strstr(mark, "think");
}

static void try_word(bench *b, const field *f, const char *word, const char *neighbour)
{
    if (!count_marks(b, f, word, neighbour, b->counts))
        return;
    for (int i = 0; i < b->marks->n; i++)
        if (b->counts[i] > b->harmless[i] && !may_be_more(f, word, b->marks->text[i]))
            CHECK_THAT(false, "%s, %s: '%s' and '%s' make a token of '%s' (%d, else %d): %s", b->name, f->name, word, neighbour,
                       b->marks->text[i], b->counts[i], b->harmless[i], b->text.text);
}

static void try_field(bench *b, size_t k)
{
    const field *f = &fields[k];
    if (!count_marks(b, f, "zq", "y", b->harmless) || !strstr(b->text.text, "zq"))
        return;
    b->n_tried[k]++;
    for (int i = 0; i < b->marks->n; i++) {
        char word[140], half[70];
        const char *mark = b->marks->text[i];
        const size_t n = strlen(mark);
        try_word(b, f, mark, "y");
        snprintf(word, sizeof word, "a%s\nb%s", mark, mark);
        try_word(b, f, word, "y");
        for (size_t cut = 1; cut < n; cut += n / 3 + 1) { /* the template puts them side by side, or not */
            if (((unsigned char)mark[cut] & 0xc0) == 0x80)
                continue;
            snprintf(half, sizeof half, "%.*s", (int)cut, mark);
            try_word(b, f, mark + cut, half);
            try_word(b, f, half, mark + cut);
        }
    }
    CHECK(true);
}

static bool holds(const char *data, size_t bytes, const char *word)
{
    const size_t n = strlen(word);
    for (size_t i = 0; i + n <= bytes; i++)
        if (!memcmp(data + i, word, n))
            return true;
    return false;
}

static void try_source(const char *name, const char *data, size_t bytes, int *totals)
{
    static marks m;
    bench b = { .name = name, .marks = &m, .json = hn_str_on(&heap), .text = hn_str_on(&heap) };
    m = (marks){ 0 };
    for (size_t i = 0; i < HN_COUNT(usual); i++)
        if (!holds(data, bytes, usual[i]))
            add_mark(&m, usual[i], strlen(usual[i]));
    m.n_special = m.n; /* what a template does not write itself is a token that nobody writes */
    find_marks(&m, data, bytes);
    CHECK_OK(hn_chat_format_new(&heap, name, &b.chat));
    CHECK_OK(hn_chat_format_add(b.chat, "default", data, bytes));
    CHECK_OK(hn_chat_format_set_token(b.chat, "bos_token", "<s>", 3));
    CHECK_OK(hn_chat_format_set_token(b.chat, "eos_token", "</s>", 4));
    for (int way = 0; way < 3; way++) /* special; user's own, in the text; the same, after normalising */
        if (make_tokenizer(&m, way == 0, way == 2, &b.tok)) {
            for (size_t k = 0; k < HN_COUNT(fields); k++)
                try_field(&b, k);
            hn_encoding_free(&b.encoding);
            hn_tokenizer_free(b.tok);
        }
    CHECK_THAT(b.n_tried[0] == 3, "%s: takes no user", name);
    for (size_t k = 0; k < HN_COUNT(fields); k++)
        totals[k] += b.n_tried[k] > 0;
    hn_template_origins_free(&b.origins);
    hn_str_free(&b.json);
    hn_str_free(&b.text);
    hn_chat_format_free(b.chat);
}

static void try_template(const char *path, const char *name, int *totals)
{
    void *data = NULL;
    size_t bytes = 0;
    if (CHECK_OK(hn_file_read(&heap, path, 1 << 22, &data, &bytes)))
        try_source(name, data, bytes, totals);
    hn_free(&heap, data);
}

static void all_templates(const char *folder, bool is_whole)
{
    int totals[HN_COUNT(fields)] = { 0 };
    DIR *dir = opendir(folder);
    if (!CHECK_THAT(dir != NULL, "%s: no folder", folder))
        return;
    for (struct dirent *e; (e = readdir(dir));) {
        char path[1024];
        const size_t n = strlen(e->d_name);
        if (n < 7 || strcmp(e->d_name + n - 6, ".jinja") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        try_template(path, e->d_name, totals);
    }
    closedir(dir);
    /* what none of them does: names beside words, and tokens made of words */
    static const char odd[] = "{{ bos_token }}{% for m in messages %}{{ '<|' + m.role + '|>' }}{{ m.name }}<|{{ m.name }}|><|user|>"
                              "<|{{ m.content }}|><{% if m.content %}{{ m.content|string|trim }}{% endif %}>{% endfor %}<|assistant|>";
    if (is_whole)
        try_source("odd", odd, sizeof odd - 1, totals);
    for (size_t k = 0; is_whole && k < HN_COUNT(fields); k++) {
        printf("%s: %d templates\n", fields[k].name, totals[k]);
        CHECK_THAT(totals[k] > 0, "no template writes %s", fields[k].name);
    }
}

/* ---- every operation ---- */

/* What came out, data as it is and the template's own bytes between braces. */
static void check_own(const char *source, const char *want)
{
    static const char json[] = "{\"d\":\"ab cd\",\"l\":[\"x\",\"y\"],\"m\":{\"k\":\"v\"},\"messages\":[{\"role\":\"user\","
                               "\"content\":\"hi\"},{\"role\":\"user|\"}],\"n\":7,\"sp\":\"  z  \",\"t\":\"a-b-c\"}";
    hn_json_text *text = NULL;
    hn_template *t = NULL;
    hn_template_var vars[12];
    hn_template_input input = { .vars = vars, .options.clock = &clock_at };
    hn_template_origins origins = { 0 };
    hn_str out = hn_str_on(&heap), shown = hn_str_on(&heap);
    if (!CHECK_OK(hn_json_read(&heap, "vars", json, strlen(json), &text)))
        return;
    for (const hn_json *v = hn_json_root(text)->as.children.first; v; v = v->next)
        vars[input.n_vars++] = (hn_template_var){ .name = v->key, .json = v, .has_roles = !strcmp(v->key, "messages") };
    vars[input.n_vars++] = (hn_template_var){ .name = "bos", .text = "<s>", .is_own = true };
    CHECK_OK(hn_template_parse(&heap, "t", source, strlen(source), &t));
    if (CHECK_OK(hn_template_render(t, &input, &out, NULL, &origins))) {
        size_t at = 0;
        for (size_t i = 0; i < origins.own.n; i++) {
            hn_str_add_bytes(&shown, out.text + at, origins.own.at[i].begin - at);
            hn_str_add_char(&shown, '{');
            hn_str_add_bytes(&shown, out.text + origins.own.at[i].begin, origins.own.at[i].end - origins.own.at[i].begin);
            hn_str_add_char(&shown, '}');
            at = origins.own.at[i].end;
        }
        hn_str_add_bytes(&shown, out.text + at, out.length - at);
        CHECK_THAT(!strcmp(want, shown.text), "%s: expected %s, found %s", source, want, shown.text);
    }
    hn_template_origins_free(&origins);
    hn_template_free(t);
    hn_json_free(text);
    hn_str_free(&out);
    hn_str_free(&shown);
}

static void operations(void)
{
    static const char *const cases[][2] = {
        { "T{{ d }}T", "{T}ab cd{T}" },
        { "{{ 'T' + d + 'T' }}", "{T}ab cd{T}" },
        { "{{ 'T' ~ d ~ n ~ 'T' }}", "{T}ab cd7{T}" },
        { "{{ ('T' + d) * 2 }}", "{T}ab cd{T}ab cd" },
        { "{{ bos }}{{ d }}", "{<s>}ab cd" },
        { "{{ ('T' + d)|upper }}", "{T}AB CD" },
        { "{{ ('t' + d).upper() }}", "{T}AB CD" },
        { "{{ ('T' + d)|lower }}", "{t}ab cd" },
        { "{{ ('t' + d)|capitalize }}", "{T}ab cd" },
        { "{{ ('t ' + d)|title }}", "{T }Ab Cd" },
        { "{{ ('t ' + d).title() }}", "{T }Ab Cd" },
        { "{{ ('t' + d).swapcase() }}", "{T}AB CD" },
        { "{{ ('T' + sp)|trim }}", "{T}  z" },
        { "{{ (sp + 'T').strip() }}", "z  {T}" },
        { "{{ ('T' + sp).rstrip() }}|{{ (sp + 'T').lstrip() }}", "{T}  z{|}z  {T}" },
        { "{{ ('T' + d)[0:2] }}|{{ ('T' + d)[1] }}|{{ ('T' + d)[0] }}", "{T}a{|}a{|T}" },
        { "{{ ('T' + d)[::-1] }}", "dc ba{T}" },
        { "{{ ('T' + d)|reverse }}", "dc ba{T}" },
        { "{{ ('T' + d)[::2] }}", "{T}bc" },
        { "{{ ('T-' + t).split('-')|join('+') }}", "{T+}a{+}b{+}c" },
        { "{{ ('T-' + t).rsplit('-', 1)[0] }}", "{T-}a-b" },
        { "{{ ('T-' + t).partition('-')[2] }}", "a-b-c" },
        { "{{ ('T\\n' + d).splitlines()|join('|') }}", "{T|}ab cd" },
        { "{{ l|join('T') }}", "x{T}y" },
        { "{{ 'T'.join(l) }}", "x{T}y" },
        { "{{ d|replace('b', 'T') }}", "a{T} cd" },
        { "{{ ('TbT')|replace('b', d) }}", "{T}ab cd{T}" },
        { "{{ d.replace('b', 'T') }}", "a{T} cd" },
        { "{{ d.replace('', '-') }}", "{-}a{-}b{-} {-}c{-}d{-}" },
        { "{{ 'T%sT' % d }}", "{T}ab cd{T}" },
        { "{{ 'T%(k)sT%%' % m }}", "{T}v{T%}" },
        { "{{ '%s' % 'T' }}|{{ d % () }}", "{T|}ab cd" },
        { "{{ 'T%sT'|format(d) }}", "{T}ab cd{T}" },
        { "{{ 'T{}T{{'.format(d) }}|{{ '{0}'.format('T') }}|{{ '{:>3}'.format('T') }}", "{T}ab cd{T{|T|}  {T}" },
        { "{{ '{!s}'.format('T') }}{{ '{!r}'.format('T') }}", "{T}'T'" },
        { "{{ ('T' + d)|center(10) }}", "  {T}ab cd  " },
        { "{{ ('T' + d).ljust(8) }}|{{ ('T' + d).rjust(8, '-') }}|{{ 'T'.zfill(3) }}", "{T}ab cd  {|--T}ab cd{|}00{T}" },
        { "{{ ('T\\t' + d).expandtabs(4) }}", "{T}   ab cd" },
        { "{{ ('T\\n' + d)|indent(2) }}", "{T}\n  ab cd" },
        { "{{ ('T\\n' + d)|indent('T', true) }}", "{TT}\n{T}ab cd" },
        { "{{ ('Txxxxxxxxx' + d)|truncate(6, true, '..', 0) }}", "{Txxx..}" },
        { "{{ ('T' + d + d + d)|truncate(6, true, '..', 0) }}", "{T}ab {..}" },
        { "{{ ('<' + d)|e }}{{ ('<' + d)|forceescape }}", "{&lt;}ab cd{&lt;}ab cd" },
        { "{{ ('T' + d)|safe + d }}", "{T}ab cdab cd" },
        { "{{ ('T' + d)|tojson }}", "\"Tab cd\"" },
        { "{{ m|tojson }}{{ ['T'] }}", "{\"k\": \"v\"}['T']" },
        { "{{ ('T' + d)|string }}{{ ('T' + d)|list|join }}", "{T}ab cd{T}ab cd" },
        { "{{ ('T' + d)|urlencode }}", "Tab%20cd" },
        { "{{ l|first }}{{ (['T'] + l)|first }}{{ (['T'] + l)|last }}", "x{T}y" },
        { "{{ l|map('upper')|join('T') }}", "X{T}Y" },
        { "{{ (['T'] + l)|sort|join }}{{ (['T'] + l)|unique|join }}", "{T}xy{T}xy" },
        { "{% for c in 'T' + d %}{{ c }}{% endfor %}", "{T}ab cd" },
        { "{% for x in l %}T{{ x }}{{ loop.index }}{% endfor %}", "{T}x1{T}y2" },
        { "{% for x in l recursive %}T{{ x }}{% if loop.depth < 2 %}{{ loop(['T']) }}{% endif %}{% endfor %}", "{T}x{TTT}y{TT}" },
        { "{% for k, v in m.items() %}{{ k }}T{{ v }}{% endfor %}", "k{T}v" },
        { "{% set x %}T{{ d }}{% endset %}{{ x }}|{{ x|upper }}", "{T}ab cd{|T}AB CD" },
        { "{% set x = 'T' + d %}{{ x }}{% set ns = namespace(a=x) %}{% set ns.a = ns.a + 'T' %}{{ ns.a }}", "{T}ab cd{T}ab cd{T}" },
        { "{% macro f(a) %}T{{ a }}{% endmacro %}{{ f(d) }}{{ f('T')|upper }}", "{T}ab cd{TT}" },
        { "{% macro f() %}T{{ caller() }}{% endmacro %}{% call f() %}{{ d }}T{% endcall %}", "{T}ab cd{T}" },
        { "{% filter upper %}t{{ d }}{% endfilter %}", "{T}AB CD" },
        { "{% with x = d %}T{{ x }}{% endwith %}{% generation %}T{{ d }}{% endgeneration %}", "{T}ab cd{T}ab cd" },
        { "{{ {'a': 'T'}['a'] }}{{ {'a': d}.a }}{{ missing|default('T') }}{{ d|default('T') }}", "{T}ab cd{T}ab cd" },
        { "{{ ['T', d]|join(', ') }}{{ dict(a='T').a }}{{ cycler('T', 'U').next() }}", "{T, }ab cd{TT}" },
        { "{{ ('T,' + d).split(',')|first }}{{ 'T' if d else d }}", "{TT}" },
        { "{{ '<|' + messages[0].role + '|>' }}", "{<|user|>}" },
        { "{{ '<|' + messages[1].role + '|>' }}", "{<|}user|{|>}" },
        { "{{ '<|' + messages[0].content + '|>' }}", "{<|}hi{|>}" },
        { "{{ m|xmlattr }}", " k=\"v\"" },
        { "{{ 'T%c' % 65 }}{{ '%d' % 7 }}{{ n }}{{ 1 }}", "{T}A771" },
        { "{{ strftime_now('T%Y') }}", "T2025" },
        { "{{ m }}{{ (m|items)|list }}", "{'k': 'v'}[('k', 'v')]" },
    };
    for (size_t i = 0; i < HN_COUNT(cases); i++)
        check_own(cases[i][0], cases[i][1]);
}

int main(int argc, char **argv)
{
    const char *more = getenv("HN_TEMPLATES");
    char folder[1024];
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    operations();
    all_templates(HN_SOURCE_DIR "/tests/differential/templates/real", true);
    if (more) {
        snprintf(folder, sizeof folder, "%s/real", more);
        all_templates(folder, false);
    } else {
        check_skip("templates of other licences", "HN_TEMPLATES names no folder");
    }
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
