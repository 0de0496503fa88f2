/* Every allocation that reading a model's words makes, and that a conversation in ids makes, refused in turn: a status, nothing
 * left behind, and what came out at last is what comes out undisturbed. */
#include "base/file.h"
#include "infer/reader.h"
#include "tests/harness/data.h"

#include <string.h>

static data_bench bench;
static hn_str heard; /* on a heap that refuses nothing */
static hn_heap calm;

static void say(void *context, hn_voice voice, const char *text, size_t bytes)
{
    (void)context;
    hn_str_print(&heard, "%c", voice ? 'T' : 'A');
    hn_str_add_bytes(&heard, text, bytes);
}

static void call(void *context, int32_t index, const char *id, const char *name, const char *arguments, size_t bytes)
{
    (void)context;
    hn_str_print(&heard, "%d %s %s ", index, id ? id : "", name ? name : "");
    hn_str_add_bytes(&heard, arguments, bytes);
}

static hn_status read(const hn_reader_options *o, const char *said)
{
    const hn_reader_ear ear = { say, call, NULL };
    hn_reader *r = NULL;
    bool is_cut = false;
    hn_str_clear(&heard);
    hn_status status = hn_reader_new(&r, &bench.heap, o, &ear);
    if (status == HN_OK)
        status = hn_reader_add(r, said, strlen(said));
    if (status == HN_OK)
        status = hn_reader_finish(r, &is_cut);
    hn_reader_free(r);
    return status;
}

static hn_status encode(const hn_reader_options *o, const char *said)
{
    static const char source[] = "{% for m in messages %}{% set x = '<|im_start|>' ~ m.role ~ '\n' ~ m.content|trim %}{{ x[0:] }}<|im_end|>"
                                 "{{ '%s' % m.content[::-1] }}{% endfor %}";
    hn_template *t = NULL;
    hn_json_text *json = NULL;
    hn_template_origins origins = { 0 };
    hn_encoding encoding = { 0 };
    hn_str out = hn_str_on(&bench.heap);
    (void)o;
    hn_str_clear(&heard);
    hn_status status = hn_json_read(&bench.heap, "m", said, strlen(said), &json);
    if (status == HN_OK)
        status = hn_template_parse(&bench.heap, "t", source, sizeof source - 1, &t);
    if (status == HN_OK) {
        const hn_template_var var = { .name = "messages", .json = hn_json_root(json), .has_roles = true };
        const hn_template_input input = { .vars = &var, .n_vars = 1 };
        status = hn_template_render(t, &input, &out, NULL, &origins);
    }
    const hn_text_origins view = hn_template_origins_view(&origins);
    const hn_encode_options how = { .add_bos = HN_NO, .add_eos = HN_NO, .parse_special = true, .origins = &view };
    if (status == HN_OK)
        status = hn_tokenizer_encode(bench.tok, out.text, out.length, &how, &encoding);
    for (size_t i = 0; status == HN_OK && i < encoding.n; i++)
        hn_str_print(&heard, "%d ", encoding.ids[i]);
    hn_encoding_free(&encoding);
    hn_template_origins_free(&origins);
    hn_template_free(t);
    hn_json_free(json);
    hn_str_free(&out);
    return status;
}

static void refuse_each(const char *name, hn_status (*run)(const hn_reader_options *o, const char *said), const hn_reader_options *o,
                        const char *said)
{
    const int64_t n_blocks = atomic_load(&bench.heap.live_blocks);
    hn_str want = hn_str_on(&calm);
    hn_status status = HN_ERR_MEMORY;
    int n = 0;
    check_group(name);
    CHECK_OK(run(o, said));
    hn_str_add_bytes(&want, heard.text, heard.length);
    CHECK(want.length > 0);
    for (; status != HN_OK && n < 1000; n++) {
        atomic_store(&bench.heap.n_calls, 0);
        atomic_store(&bench.heap.fail_at, n + 1);
        status = run(o, said);
        CHECK_THAT(status == HN_OK || status == HN_ERR_MEMORY, "allocation %d: %s", n, hn_error_message());
        CHECK_INT(n_blocks, atomic_load(&bench.heap.live_blocks));
    }
    atomic_store(&bench.heap.fail_at, 0);
    CHECK_THAT(n > 4 && n < 1000, "%d allocations", n);
    CHECK_TEXT(want.text, heard.text);
    hn_str_free(&want);
}

int main(int argc, char **argv)
{
    static const char tools[] = "[{\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{\"s\":{\"type\":\"string\"}}}}}]";
    static const char *const said[][2] = {
        { "hermes", "<think>hm</think>So <tool_call>{\"name\": \"f\", \"id\": \"x\", \"arguments\": {\"s\": 1}}</tool_call>" },
        { "hermes", "<tool_call>{\"name\": \"f\", \"arguments\": \"{}\"}</tool_call><tool_call>{no" },
        { "qwen3-coder", "<tool_call><function=f><parameter=s>\n1\n</parameter><parameter=t>[1]</parameter></function></tool_call>" },
        { "mistral-args", "[TOOL_CALLS]f[CALL_ID]abc[ARGS]{\"s\": 1}" },
        { "gemma4", "<|tool_call>call:f{s:<|\"|>x<|\"|>,t:[1,true]}<tool_call|>" },
        { "harmony", "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>" },
    };
    hn_json_text *json = NULL;
    check_open(argc, argv);
    data_bench_open(&bench);
    hn_heap_init(&calm, NULL);
    heard = hn_str_on(&calm);
    CHECK_OK(hn_json_read(&bench.heap, "tools", tools, sizeof tools - 1, &json));
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        const hn_reader_options o = { .family = hn_call_family_named(said[i][0]), .tools = hn_json_root(json) };
        refuse_each(said[i][0], read, &o, said[i][1]);
    }
    hn_json_free(json);
    refuse_each("origins", encode, NULL, "[{\"role\":\"user\",\"content\":\" a<|im_end|>b <|im_start|>\"},{\"role\":\"x\",\"content\":\"y\"}]");
    hn_str_free(&heard);
    data_bench_close(&bench);
    return check_close();
}
