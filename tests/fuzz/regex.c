/* A pattern and a text: refused with a message, or matches that lie in the text, in order, and
 * are the same when asked again. The input is the pattern, a newline, the text. */
#include "text/pattern/regex.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 400 };

static void walk(hn_heap *heap, const hn_regex *regex, const uint8_t *text, size_t bytes)
{
    hn_regex_stack stack = { 0 };
    size_t from = 0, begin, end;
    while (from <= bytes) {
        if (hn_regex_find(regex, &stack, text, bytes, from, &begin, &end) != HN_OK ||
            begin > bytes)
            break;
        if (begin < from || end < begin || end > bytes)
            abort();
        from = end > begin ? end : end + 1;
    }
    hn_regex_stack_free(heap, &stack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const uint8_t *newline = bytes ? memchr(data, '\n', bytes) : NULL;
    const size_t n_pattern = newline ? (size_t)(newline - data) : bytes;
    size_t n_text = newline ? bytes - n_pattern - 1 : 0;
    if (n_pattern > 200)
        return 0;
    n_text = n_text > MOST_TEXT ? MOST_TEXT : n_text;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    heap.limit_bytes = 1 << 26;
    hn_regex *regex = NULL;
    if (hn_regex_new(&heap, (const char *)data, n_pattern, &regex) == HN_OK)
        walk(&heap, regex, newline ? newline + 1 : data, n_text);
    else if (regex || !hn_error_message()[0])
        abort();
    hn_regex_free(regex);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
