/* Rules of what an answer may be, by family: what the reader's own cases say is allowed; and any text that rules lead to, at random,
 * is read as calls of the tools that there are, whose arguments are what the schema says. */
#include "base/file.h"
#include "infer/answer_rules.h"
#include "tests/harness/check.h"
#include "text/grammar/states.h"

#include <stdio.h>
#include <string.h>

enum { N_WALKS = 6, LONGEST = 6000 };

static hn_heap heap;
static const hn_grammar_limits limits = HN_GRAMMAR_DEFAULTS;
static const char tools_text[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\","
    "\"minimum\":1,\"maximum\":9},\"s\":{\"type\":\"string\"},\"b\":{\"type\":\"boolean\"}},\"required\":[\"a\",\"s\"],"
    "\"additionalProperties\":false}}},{\"name\":\"ns.g\",\"parameters\":{\"type\":\"object\",\"properties\":{\"w\":{\"enum\":[\"up\","
    "\"down\"]}},\"required\":[\"w\"],\"additionalProperties\":false}}]";

static int32_t no_control(const void *context, const char *text, size_t *bytes)
{
    (void)context;
    (void)text;
    *bytes = 0;
    return -1;
}

static int32_t no_token(const void *context, const char *text)
{
    (void)context;
    (void)text;
    return -1;
}

static hn_answer_rules rules_of(const char *family, const hn_json *tools)
{
    return (hn_answer_rules){ .family = hn_call_family_named(family), .thoughts = { "<think>", "</think>", "", "" }, .tools = tools,
                              .most_thought = -1, .control = no_control, .token = no_token };
}

static hn_grammar *make(const hn_answer_rules *rules)
{
    hn_grammar *g = NULL;
    hn_str text = hn_str_on(&heap);
    if (CHECK_OK(hn_answer_rules_write(&heap, rules, &text)) && text.length &&
        !CHECK_OK(hn_grammar_from_gbnf(&heap, text.text, text.length, &limits, &g)))
        fprintf(stderr, "%s: %s\n", rules->family ? rules->family->name : "", text.text);
    hn_str_free(&text);
    return g;
}

static bool has(const hn_grammar *g, const char *text)
{
    hn_states *states = NULL;
    uint32_t at = HN_STATE_DEAD;
    bool ends = false;
    if (CHECK_OK(hn_states_new(&states, &heap, g, NULL)) && CHECK_OK(hn_states_begin(states, &at))) {
        for (; *text && at != HN_STATE_DEAD; text++)
            if (hn_states_byte(states, at, (uint8_t)*text, &at) != HN_OK)
                at = HN_STATE_DEAD;
        ends = at != HN_STATE_DEAD && hn_states_may_end(states, at);
    }
    hn_states_free(states);
    return ends;
}

/* ---- what rules lead to ---- */

typedef struct heard {
    int n, n_text;
    bool is_known;
    hn_str names, arguments[64];
} heard;

static void on_said(void *context, hn_voice voice, const char *text, size_t bytes)
{
    heard *h = context;
    for (size_t i = 0; voice == HN_VOICE_ANSWER && i < bytes; i++)
        h->n_text += !strchr(" \n\r\t", text[i]);
}

static void on_call(void *context, int32_t index, const char *id, const char *name, const char *arguments, size_t bytes)
{
    heard *h = context;
    (void)id;
    if (index >= 64)
        return;
    if (name) {
        h->n = index + 1;
        h->is_known &= !strcmp(name, "f") || !strcmp(name, "ns.g");
        hn_str_print(&h->names, "%s ", name);
        h->arguments[index] = hn_str_on(&heap);
    }
    hn_str_add_bytes(&h->arguments[index], arguments, bytes);
}

static bool is_well(const char *name, const hn_json *arguments)
{
    const hn_json *a = hn_json_get(arguments, "a"), *s = hn_json_get(arguments, "s"), *w = hn_json_get(arguments, "w"), *b = hn_json_get(arguments, "b");
    if (!strncmp(name, "f ", 2))
        return a && a->kind == HN_JSON_INT && a->as.integer >= 1 && a->as.integer <= 9 && s && s->kind == HN_JSON_STRING &&
               (!b || b->kind == HN_JSON_BOOL);
    return w && w->kind == HN_JSON_STRING && (!strcmp(w->as.string.text, "up") || !strcmp(w->as.string.text, "down"));
}

static void check_said(const char *family, const hn_json *tools, const char *said, bool once)
{
    hn_reader *r = NULL;
    heard h = { .is_known = true, .names = hn_str_on(&heap) };
    const hn_reader_options o = { .thoughts = { "<think>", "</think>", "", "" }, .family = hn_call_family_named(family), .tools = tools };
    const hn_reader_ear ear = { on_said, on_call, &h };
    bool is_cut = true;
    if (!CHECK_OK(hn_reader_new(&r, &heap, &o, &ear)) || !CHECK_OK(hn_reader_add(r, said, strlen(said))) || !CHECK_OK(hn_reader_finish(r, &is_cut)))
        return;
    const char *name = h.names.text;
    bool all_well = true;
    for (int i = 0; i < h.n; i++) {
        hn_json_text *read = NULL;
        all_well &= CHECK_OK(hn_json_read(&heap, "arguments", h.arguments[i].text, h.arguments[i].length, &read)) && is_well(name, hn_json_root(read));
        hn_json_free(read);
        hn_str_free(&h.arguments[i]);
        name += strcspn(name, " ") + 1;
    }
    CHECK_THAT(!is_cut && all_well && h.is_known && !h.n_text && h.n >= 1 && (!once || h.n == 1), "%s: %d calls of %s, %d bytes of text, of: %s", family,
               h.n, h.names.text, h.n_text, said);
    hn_str_free(&h.names);
    hn_reader_free(r);
}

static uint32_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* Bytes at random of those that may come: rules of calls come to an end by themselves. False: these did not. */
static bool walk(const hn_grammar *g, uint64_t *state, char *said)
{
    hn_states *states = NULL;
    uint32_t at;
    size_t n = 0;
    bool ends = false;
    if (!CHECK_OK(hn_states_new(&states, &heap, g, NULL)) || !CHECK_OK(hn_states_begin(states, &at)))
        return false;
    while (n < LONGEST && !ends) {
        uint8_t may[256];
        uint32_t to[256], m = 0;
        for (int c = 1; c < 256; c++) {
            uint32_t next;
            if (hn_states_byte(states, at, (uint8_t)c, &next) != HN_OK)
                return CHECK(false);
            const bool is_plain = c < 0x80 && (c >= ' ' || c == '\n');
            if (next != HN_STATE_DEAD && (is_plain || !m)) {
                may[m] = (uint8_t)c;
                to[m++] = next;
            }
        }
        if (!m || (hn_states_may_end(states, at) && draw(state) % 4 == 0))
            break;
        /* marks and quotes come soon */
        uint32_t i = draw(state) % m;
        for (uint32_t k = 0; k < m; k++)
            if ((may[k] == '<' || may[k] == '"' || may[k] == '\n') && draw(state) % 3 == 0)
                i = k;
        said[n++] = (char)may[i];
        at = to[i];
    }
    ends = hn_states_may_end(states, at);
    said[n] = '\0';
    hn_states_free(states);
    return ends;
}

static void walk_all(const hn_json *tools)
{
    static const char *const families[] = { "hermes",      "llama-3", "json",        "mistral",       "mistral-args", "command-r7b", "phi-4-mini",
                                            "nemotron-v2", "granite", "firefunction", "apriel",       "apertus",      "deepseek-r1", "deepseek-v3.1",
                                            "kimi-k2",     "functionary-3.1", "qwen3-coder", "seed-oss", "glm-4.5",  "minimax-m2",  "deepseek-dsml",
                                            "deepseek-v4", "gemma4",  "lfm2",        "harmony" };
    static char said[LONGEST + 1];
    uint64_t state = check_seed();
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (int once = 0; once < 2; once++) {
            hn_answer_rules rules = rules_of(families[i], tools);
            rules.must_call = true;
            rules.once = once;
            rules.thoughts.open = "";
            hn_grammar *g = make(&rules);
            int n_ended = 0;
            for (int k = 0; g && k < N_WALKS * 4 && n_ended < N_WALKS; k++)
                if (walk(g, &state, said)) {
                    check_said(families[i], tools, said, once);
                    n_ended++;
                }
            CHECK_THAT(n_ended > 0, "%s: no walk ended, the last: %s", families[i], said);
            hn_grammar_free(g);
        }
}

/* ---- the reader's own cases ---- */

/* Those that are written as the family's template writes them; whether their arguments are of the schema is another matter. */
static void check_cases(const hn_json *tools)
{
    void *text;
    size_t bytes;
    hn_json_text *json = NULL;
    int n_allowed = 0;
    if (!CHECK_OK(hn_file_read(&heap, HN_SOURCE_DIR "/tests/conformance/speech/own.json", 1 << 22, &text, &bytes)) ||
        !CHECK_OK(hn_json_read(&heap, "own.json", text, bytes, &json)))
        return;
    const hn_json *cases = hn_json_get(hn_json_root(json), "cases");
    for (const hn_json *c = cases ? cases->as.children.first : NULL; c; c = c->next) {
        hn_answer_rules rules = rules_of(hn_json_get(c, "family")->as.string.text, tools);
        const hn_json *calls = hn_json_get(c, "calls");
        if (!rules.family || !calls->as.children.n || hn_json_get(c, "in_thought")->as.boolean)
            continue;
        hn_str rules_text = hn_str_on(&heap);
        hn_grammar *g = NULL;
        if (CHECK_OK(hn_answer_rules_write(&heap, &rules, &rules_text)) && rules_text.length &&
            CHECK_OK(hn_grammar_from_gbnf(&heap, rules_text.text, rules_text.length, &limits, &g)))
            n_allowed += has(g, hn_json_get(c, "said")->as.string.text);
        hn_grammar_free(g);
        hn_str_free(&rules_text);
    }
    CHECK_THAT(n_allowed >= 15, "%d of the reader's cases are allowed", n_allowed);
    hn_json_free(json);
    hn_free(&heap, text);
}

static void check_texts(const hn_json *tools)
{
    hn_answer_rules rules = rules_of("hermes", tools);
    hn_grammar *g = make(&rules);
    CHECK(has(g, "Hello <tool <tool_ca"));
    CHECK(has(g, "<think>hm</think>\nHello"));
    CHECK(has(g, "<<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": [1]}}\n</tool_call>"));
    CHECK(has(g, "<think><tool_call>{}</think>So"));
    CHECK(!has(g, "<tool_call>\n{\"name\": \"h\", \"arguments\": {}}\n</tool_call>"));
    CHECK(!has(g, "<tool_call>\n{\"name\": \"f\", \"arguments\": []}\n</tool_call>"));
    CHECK(!has(g, "Hello <tool_call>"));
    CHECK(!has(g, "<<tool_call>"));
    CHECK(!has(g, "<tool_<tool_call>."));
    hn_grammar_free(g);
    rules.must_call = rules.once = true;
    rules.only = "ns.g";
    g = make(&rules);
    static const char call[] = "<tool_call>\n{\"name\": \"ns.g\", \"arguments\": {\"w\": \"up\"}}\n</tool_call>";
    CHECK(has(g, call));
    CHECK(!has(g, "<tool_call>\n{\"name\": \"ns.g\", \"arguments\": {\"w\": \"by\"}}\n</tool_call>"));
    CHECK(!has(g, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1, \"s\": \"\"}}\n</tool_call>"));
    CHECK(!has(g, "Hello"));
    char two[200];
    snprintf(two, sizeof two, "%s\n%s", call, call);
    CHECK(!has(g, two));
    hn_grammar_free(g);
    rules.only = "no";
    hn_str text = hn_str_on(&heap);
    CHECK_FAILS(hn_answer_rules_write(&heap, &rules, &text), HN_ERR_ARGUMENT, "there is no tool no");
    rules = rules_of("llama-3", tools);
    CHECK_OK(hn_answer_rules_write(&heap, &rules, &text));
    CHECK(!text.length);
    rules.once = true;
    CHECK_FAILS(hn_answer_rules_write(&heap, &rules, &text), HN_ERR_UNSUPPORTED, "llama-3");
    rules = rules_of("hermes", tools);
    rules.most_thought = 5;
    CHECK_FAILS(hn_answer_rules_write(&heap, &rules, &text), HN_ERR_UNSUPPORTED, "</think>");
    hn_str_free(&text);
}

/* ---- notations of their own ---- */

static const char optional_text[] =
    "[{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"boolean\"},"
    "\"s\":{\"type\":\"string\"},\"o\":{\"type\":\"object\"}},\"required\":[\"b\"]}},"
    "{\"name\":\"g\",\"parameters\":{\"type\":\"object\",\"properties\":{\"x\":{\"enum\":[\"up\",\"down\"]},\"y\":{\"type\":\"null\"}}}},"
    "{\"name\":\"free\",\"strict\":false}]";

typedef struct said_case {
    bool is_allowed;
    const char *said;
} said_case;

static void check_list(const char *family, bool once, const hn_json *tools, const said_case *list, size_t n)
{
    hn_answer_rules rules = rules_of(family, tools);
    rules.must_call = true;
    rules.once = once;
    hn_grammar *g = make(&rules);
    for (size_t i = 0; g && i < n; i++)
        CHECK_THAT(has(g, list[i].said) == list[i].is_allowed, "%s: %s %s", family, list[i].said, list[i].is_allowed ? "is refused" : "is allowed");
    hn_grammar_free(g);
}

static void check_pairs(const hn_json *tools)
{
#define GEMMA(said) "<|tool_call>call:" said "<tool_call|>"
    static const said_case list[] = {
        { true, GEMMA("f{b:true}") },
        { true, GEMMA("f{a:-12,b:false}") },
        { true, GEMMA("f{a:1,b:true,s:<|\"|>x {y}, \"z\" </tool><|\"|>,o:{\"k\":[\"<tool_call|>\"]}}") },
        { true, GEMMA("f{b:true,o:{}}") GEMMA("g{}") },
        { true, GEMMA("g{x:<|\"|>up<|\"|>,y:null}") },
        { true, GEMMA("g{y:null}") },
        { true, GEMMA("free{}") },
        { true, GEMMA("free{k:<|\"|>v<|\"|>,l:[1]}") },
        { false, GEMMA("f{}") },
        { false, GEMMA("f{a:1}") },
        { false, GEMMA("f{,b:true}") },
        { false, GEMMA("f{b:true,}") },
        { false, GEMMA("f{b:true,a:1}") },
        { false, GEMMA("f{b:1}") },
        { false, GEMMA("f{b:true,s:x}") },
        { false, GEMMA("f{b:true,s:<|\"|><tool_call|><|\"|>}") },
        { false, GEMMA("g{x:<|\"|>by<|\"|>}") },
        { false, GEMMA("h{}") },
        { false, "f{b:true}" },
    };
    check_list("gemma4", false, tools, list, sizeof list / sizeof *list);
    check_list("gemma4", true, tools, (const said_case[]){ { false, GEMMA("g{}") GEMMA("g{}") }, { true, GEMMA("g{}") } }, 2);
}

static void check_python(const hn_json *tools)
{
#define LFM(said) "<|tool_call_start|>[" said "]<|tool_call_end|>"
    static const said_case list[] = {
        { true, LFM("f(b=True)") },
        { true, LFM("f(a=1, b=False, s=\"it's \\\"]<|tool_call_end|>\\\"\", o={\"k\": null})") },
        { true, LFM("f(b=True), g(x=\"down\", y=None), free(k=[1])") },
        { true, LFM("g()") },
        { false, LFM("") },
        { false, LFM("f()") },
        { false, LFM("f(b=true)") },
        { false, LFM("f(b=True, )") },
        { false, LFM("g(x=\"by\")") },
        { false, LFM("g(y=None, x=\"up\")") },
        { false, LFM("h()") },
    };
    check_list("lfm2", false, tools, list, sizeof list / sizeof *list);
    check_list("lfm2", true, tools, (const said_case[]){ { false, LFM("g(), g()") }, { true, LFM("g()") } }, 2);
}

static void check_messages(const hn_json *tools)
{
#define THOUGHT "<|channel|>analysis<|message|>hm<|end|><|start|>assistant"
#define CALL(said) "<|channel|>commentary to=functions." said
    static const said_case list[] = {
        { true, CALL("g <|constrain|>json<|message|>{\"x\": \"up\"}") },
        { true, THOUGHT CALL("f <|constrain|>json<|message|>{\"b\": true}") },
        { false, CALL("g <|constrain|>json<|message|>{\"x\": \"by\"}") },
        { false, CALL("h <|constrain|>json<|message|>{}") },
        { false, THOUGHT "<|channel|>final<|message|>Yes." },
        { false, "<|channel|>commentary<|message|>So,<|end|><|start|>assistant" CALL("g <|constrain|>json<|message|>{}") },
    };
    check_list("harmony", false, tools, list, sizeof list / sizeof *list);
    hn_answer_rules rules = rules_of("harmony", tools);
    hn_grammar *g = make(&rules);
    CHECK(has(g, THOUGHT "<|channel|>final<|message|>Yes."));
    CHECK(has(g, "<|channel|>commentary<|message|>So,<|end|><|start|>assistant" CALL("f <|constrain|>json<|message|>{}")));
    CHECK(!has(g, "<|channel|>final<|message|>Yes.<|start|>"));
    CHECK(!has(g, "<|channel|>final<|message|>Yes." CALL("f <|constrain|>json<|message|>{}")));
    CHECK(!has(g, "Yes."));
    CHECK(!has(g, "<|channel|>finalYes."));
    hn_grammar_free(g);
    rules.most_thought = 3;
    hn_str text = hn_str_on(&heap);
    CHECK_FAILS(hn_answer_rules_write(&heap, &rules, &text), HN_ERR_UNSUPPORTED, "<|end|>");
    hn_str_free(&text);
}

static void check_refused_tools(void)
{
    static const char *const families[] = { "gemma4", "lfm2" };
    static const char *const wrong[][2] = {
        { "[{\"name\":\"f\",\"parameters\":{\"properties\":{\"a b\":{}}}}]", "\"a b\"" },
        { "[{\"name\":\"f(\",\"parameters\":{}}]", "\"f(\"" },
        { "[{\"name\":\"f\",\"parameters\":{\"anyOf\":[]}}]", "anyOf" },
    };
    for (int i = 0; i < 6; i++) {
        hn_json_text *json = NULL;
        hn_str text = hn_str_on(&heap);
        if (!CHECK_OK(hn_json_read(&heap, "tools", wrong[i / 2][0], strlen(wrong[i / 2][0]), &json)))
            continue;
        hn_answer_rules rules = rules_of(families[i % 2], hn_json_root(json));
        rules.must_call = true;
        CHECK_FAILS(hn_answer_rules_write(&heap, &rules, &text), HN_ERR_UNSUPPORTED, wrong[i / 2][1]);
        hn_str_free(&text);
        hn_json_free(json);
    }
}

int main(int argc, char **argv)
{
    hn_json_text *tools = NULL, *optional = NULL;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    if (CHECK_OK(hn_json_read(&heap, "tools", tools_text, strlen(tools_text), &tools))) {
        check_texts(hn_json_root(tools));
        check_cases(hn_json_root(tools));
        walk_all(hn_json_root(tools));
    }
    if (CHECK_OK(hn_json_read(&heap, "tools", optional_text, strlen(optional_text), &optional))) {
        check_pairs(hn_json_root(optional));
        check_python(hn_json_root(optional));
        check_messages(hn_json_root(optional));
        check_refused_tools();
    }
    hn_json_free(optional);
    hn_json_free(tools);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
