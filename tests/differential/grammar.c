/* JSON schemas beside other programs': for each of the committed ones, texts that are to be had and texts that are not
 * (grammar.jsonl; tools/reference/grammar.py made it, and says by whom each was decided).
 *
 *     grammar [FILE]          each line: {"schema": ..., "accept": [...], "reject": [...]}, or "refused": the words why
 *     grammar --ask FILE      each line: {"schema": ..., "texts": [...]}; writes a line for each: a digit for each text, or
 *                             "refused " and the words */
#include "base/file.h"
#include "base/json.h"
#include "tests/harness/check.h"
#include "text/grammar/states.h"

#include <stdio.h>
#include <string.h>

static hn_heap heap;
static const hn_grammar_limits limits = HN_GRAMMAR_DEFAULTS;

static bool has(hn_states *states, const char *text, size_t bytes)
{
    uint32_t at = HN_STATE_DEAD;
    if (!CHECK_OK(hn_states_begin(states, &at)))
        return false;
    for (size_t i = 0; i < bytes && at != HN_STATE_DEAD; i++)
        if (!CHECK_OK(hn_states_byte(states, at, (uint8_t)text[i], &at)))
            return false;
    return at != HN_STATE_DEAD && hn_states_may_end(states, at);
}

/* The schema as it stands in the line. */
static hn_status compile(const hn_json *line, hn_grammar **g, hn_states **states)
{
    const hn_json *schema = hn_json_get(line, "schema");
    *g = NULL;
    *states = NULL;
    HN_REQUIRE(schema && schema->kind == HN_JSON_STRING, HN_ERR_FORMAT, "expected a schema, as a string");
    HN_TRY(hn_grammar_from_schema(&heap, schema->as.string.text, schema->as.string.bytes, &limits, g));
    return hn_states_new(states, &heap, *g, NULL);
}

static void ask(const hn_json *line)
{
    hn_grammar *g;
    hn_states *states;
    if (compile(line, &g, &states) != HN_OK) {
        printf("refused %s\n", hn_error_message());
    } else {
        for (size_t i = 0; hn_json_at(hn_json_get(line, "texts"), i); i++) {
            const hn_json *text = hn_json_at(hn_json_get(line, "texts"), i);
            putchar('0' + has(states, text->as.string.text, text->as.string.bytes));
        }
        putchar('\n');
    }
    hn_states_free(states);
    hn_grammar_free(g);
}

static size_t replay(const hn_json *line, size_t number)
{
    hn_grammar *g;
    hn_states *states;
    const hn_json *refused = hn_json_get(line, "refused");
    size_t n = 0;
    const hn_status status = compile(line, &g, &states);
    if (refused) {
        if (!CHECK(status != HN_OK && strstr(hn_error_message(), refused->as.string.text)))
            printf("  line %zu: expected it to be refused by \"%s\"\n", number, refused->as.string.text);
    } else if (!CHECK_OK(status)) {
        printf("  line %zu\n", number);
    } else {
        for (int k = 0; k < 2; k++)
            for (size_t i = 0; hn_json_at(hn_json_get(line, k ? "accept" : "reject"), i); i++, n++) {
                const hn_json *text = hn_json_at(hn_json_get(line, k ? "accept" : "reject"), i);
                if (!CHECK_INT(k, has(states, text->as.string.text, text->as.string.bytes)))
                    printf("  line %zu: %s of %s\n", number, text->as.string.text, hn_json_get(line, "schema")->as.string.text);
            }
    }
    hn_states_free(states);
    hn_grammar_free(g);
    return n;
}

int main(int argc, char **argv)
{
    const bool asks = argc > 2 && !strcmp(argv[1], "--ask");
    const char *path = argc > 1 ? argv[argc - 1] : HN_SOURCE_DIR "/tests/differential/grammar.jsonl";
    void *text = NULL;
    size_t bytes = 0, n_texts = 0, n_lines = 0;
    if (!asks)
        check_open(1, argv);
    hn_heap_init(&heap, NULL);
    if (!CHECK_OK(hn_file_read(&heap, path, 1u << 28, &text, &bytes)))
        return check_close();
    for (const char *at = text, *end = at + bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((newline ? newline : end) - at);
        hn_json_text *json = NULL;
        if (CHECK_OK(hn_json_read(&heap, path, at, length, &json))) {
            n_lines++;
            if (asks)
                ask(hn_json_root(json));
            else
                n_texts += replay(hn_json_root(json), n_lines);
        }
        hn_json_free(json);
        at += length + 1;
    }
    hn_free(&heap, text);
    if (asks)
        return 0;
    CHECK(n_lines > 100 && n_texts > 1000);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
