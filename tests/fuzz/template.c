/* Any bytes as a template: refused with a message, or rendered within its bounds to UTF-8;
 * nothing leaks. */
#include "text/template/template.h"
#include "base/utf8.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

static const char variables[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Gr\\u00fc\\u00dfe {x} %s\"}, "
    "{\"role\": \"assistant\", \"content\": null, "
    "\"tool_calls\": [{\"function\": {\"name\": \"f\", \"arguments\": {\"a\": [1, 2.5, "
    "true]}}}]}], \"tools\": [{\"type\": \"function\"}], "
    "\"l\": [3, 1, 2], \"m\": [\"b\", \"A\"], \"d\": {\"x\": 1, \"items\": 3}, \"s\": \"Hello "
    "World\", \"n\": 5, \"f\": 2.5, "
    "\"r\": [{\"a\": 1, \"b\": \"x\"}, {\"a\": 2}], \"nest\": [[1, 2], [3], []]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = 1 << 26;
    const int64_t clock = 1753531200;
    hn_json_text *text = NULL;
    hn_template *t = NULL;
    hn_template_var vars[16];
    hn_template_input input = { .vars = vars,
                                .options = { .clock = &clock,
                                             .max_bytes = 1 << 20,
                                             .max_memory = 1 << 24,
                                             .max_steps = 200000 } };
    if (hn_json_read(&heap, "variables", variables, sizeof variables - 1, &text) != HN_OK)
        abort();
    for (const hn_json *v = hn_json_root(text)->as.children.first; v; v = v->next)
        vars[input.n_vars++] = (hn_template_var){ v->key, v, NULL };
    hn_str out = hn_str_on(&heap);
    hn_template_spans spans = { 0 };
    hn_template_origins origins = { 0 };
    hn_status status = hn_template_parse(&heap, "fuzz", (const char *)data, bytes, &t);
    if (status == HN_OK)
        status = hn_template_render(t, &input, &out, bytes % 2 ? &spans : NULL, &origins);
    else if (t)
        abort();
    if (status != HN_OK && (!hn_error_message()[0] || out.length))
        abort();
    for (size_t i = 0, n = 0; i < out.length; i += n)
        if (!(n = hn_utf8_length(out.text + i, out.length - i)))
            abort();
    for (size_t i = 0; status == HN_OK && i < origins.own.n; i++)
        if (origins.own.at[i].begin >= origins.own.at[i].end || origins.own.at[i].end > out.length ||
            (i && origins.own.at[i].begin <= origins.own.at[i - 1].end))
            abort();
    hn_template_origins_free(&origins);
    for (size_t i = 0; status == HN_OK && i < spans.n; i++)
        if (spans.at[i].begin > spans.at[i].end || spans.at[i].end > out.length)
            abort();
    hn_free(&heap, spans.at);
    hn_str_free(&out);
    hn_template_free(t);
    hn_json_free(text);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
