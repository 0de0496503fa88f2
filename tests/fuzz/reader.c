/* Any bytes as what a model says, by any family: whole and in pieces it is the same, nothing is lost of what is no mark, calls
 * come in order, arguments that are whole are JSON where the model's were, and nothing leaks. */
#include "infer/reader.h"
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

typedef struct heard {
    hn_str all;
    hn_voice voice;
    int32_t n_calls;
    bool has_voice;
} heard;

/* Pieces of one voice, and of one call, run together. */
static void say(void *context, hn_voice voice, const char *text, size_t bytes)
{
    heard *h = context;
    if (!bytes)
        abort();
    if (!h->has_voice || h->voice != voice)
        hn_str_add(&h->all, voice == HN_VOICE_THOUGHT ? "\x01" : "\x02");
    h->has_voice = true;
    h->voice = voice;
    hn_str_add_bytes(&h->all, text, bytes);
}

static void call(void *context, int32_t index, const char *id, const char *name, const char *arguments, size_t bytes)
{
    heard *h = context;
    if (!name != !id || index != h->n_calls - !name || (name && (!*name || bytes)))
        abort();
    h->n_calls += name != NULL;
    h->has_voice = false;
    if (name)
        hn_str_print(&h->all, "\x03%s\x04%s\x05", id, name);
    hn_str_add_bytes(&h->all, arguments, bytes);
}

static bool hear(hn_heap *heap, const hn_reader_options *o, const uint8_t *data, size_t bytes, size_t step, heard *h)
{
    const hn_reader_ear ear = { say, call, h };
    hn_reader *r = NULL;
    bool is_cut = false;
    *h = (heard){ .all = hn_str_on(heap) };
    if (hn_reader_new(&r, heap, o, &ear) != HN_OK)
        abort();
    hn_status status = HN_OK;
    for (size_t at = 0; at < bytes && status == HN_OK; at += step)
        status = hn_reader_add(r, (const char *)data + at, bytes - at < step ? bytes - at : step);
    if (status == HN_OK)
        status = hn_reader_finish(r, &is_cut);
    hn_reader_free(r);
    if (status != HN_OK)
        abort();
    return is_cut;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char tools[] = "[{\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{\"s\":{\"type\":\"string\"},"
                                "\"n\":{\"type\":\"integer\"}}}}}]";
    hn_heap heap;
    hn_json_text *json = NULL;
    heard whole, cut;
    size_t n = 0;
    if (bytes < 2)
        return 0;
    hn_heap_init(&heap, NULL);
    if (hn_json_read(&heap, "tools", tools, sizeof tools - 1, &json) != HN_OK)
        abort();
    while (hn_call_family_at(n))
        n++;
    hn_reader_options o = { .family = hn_call_family_at(data[0] % n), .in_thought = data[1] & 1 };
    o.tools = data[1] & 2 || o.family->form == HN_CALLS_REFUSED ? NULL : hn_json_root(json);
    const bool ended = hear(&heap, &o, data + 2, bytes - 2, bytes, &whole);
    if (ended != hear(&heap, &o, data + 2, bytes - 2, 1 + data[1] / 4 % 7, &cut) || whole.n_calls != cut.n_calls ||
        whole.all.length != cut.all.length || memcmp(whole.all.text, cut.all.text, cut.all.length))
        abort();
    hn_str_free(&whole.all);
    hn_str_free(&cut.all);
    hn_json_free(json);
    if (atomic_load(&heap.live_blocks))
        abort();
    return 0;
}
