/* What models say, told apart: outputs with the message that they are, by families of calls. The files in speech/ have them:
 * `said` is read whole, a byte at a time, and in two pieces cut at every byte; names and ids are the text that is expected,
 * content and thoughts too, of others' outputs but for white space at their ends, which differs by template there, and arguments are the JSON.
 * What vLLM reads otherwise has `ours` beside it, and why. */
#include "base/file.h"
#include "infer/reader.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

static hn_heap heap;

enum { MOST_CALLS = 8 };

typedef struct heard {
    hn_str voices[2], names[MOST_CALLS], ids[MOST_CALLS], arguments[MOST_CALLS];
    int n_calls;
    bool is_cut;
} heard;

static void say(void *context, hn_voice voice, const char *text, size_t bytes)
{
    heard *h = context;
    CHECK_THAT(bytes > 0, "an empty piece");
    hn_str_add_bytes(&h->voices[voice], text, bytes);
}

static void call(void *context, int32_t index, const char *id, const char *name, const char *arguments, size_t bytes)
{
    heard *h = context;
    if (!CHECK(index >= 0 && index < MOST_CALLS) || !CHECK((name != NULL) == (index == h->n_calls)) || !CHECK((id != NULL) == (name != NULL)))
        return;
    if (name) {
        h->n_calls++;
        hn_str_add(&h->names[index], name);
        hn_str_add(&h->ids[index], id);
    }
    CHECK(index == h->n_calls - 1);
    hn_str_add_bytes(&h->arguments[index], arguments, bytes);
}

static void begin(heard *h)
{
    *h = (heard){ .n_calls = 0 };
    h->voices[0] = h->voices[1] = hn_str_on(&heap);
    for (int i = 0; i < MOST_CALLS; i++)
        h->names[i] = h->ids[i] = h->arguments[i] = hn_str_on(&heap);
}

static void end(heard *h)
{
    hn_str_free(&h->voices[0]);
    hn_str_free(&h->voices[1]);
    for (int i = 0; i < MOST_CALLS; i++) {
        hn_str_free(&h->names[i]);
        hn_str_free(&h->ids[i]);
        hn_str_free(&h->arguments[i]);
    }
}

static const char *text_of(const hn_json *object, const char *key)
{
    const hn_json *v = hn_json_get(object, key);
    return v && v->kind == HN_JSON_STRING ? v->as.string.text : "";
}

static bool is_same(const hn_json *a, const hn_json *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case HN_JSON_BOOL:
        return a->as.boolean == b->as.boolean;
    case HN_JSON_INT:
        return a->as.integer == b->as.integer;
    case HN_JSON_DOUBLE:
        return a->as.number == b->as.number;
    case HN_JSON_STRING:
        return a->as.string.bytes == b->as.string.bytes && !memcmp(a->as.string.text, b->as.string.text, a->as.string.bytes);
    case HN_JSON_ARRAY:
    case HN_JSON_OBJECT: {
        const hn_json *x = a->as.children.first, *y = b->as.children.first;
        for (; x && y; x = x->next, y = y->next)
            if ((a->kind == HN_JSON_OBJECT && strcmp(x->key, y->key) != 0) || !is_same(x, y))
                return false;
        return !x && !y;
    }
    default:
        return true;
    }
}

static bool is_same_json(const char *want, const char *got)
{
    hn_json_text *a = NULL, *b = NULL;
    const bool same = hn_json_read(&heap, "want", *want ? want : "{}", strlen(*want ? want : "{}"), &a) == HN_OK &&
                      hn_json_read(&heap, "got", got, strlen(got), &b) == HN_OK && is_same(hn_json_root(a), hn_json_root(b));
    hn_json_free(a);
    hn_json_free(b);
    return same;
}

static const hn_json *tool_list(const hn_json *all, const hn_json *names, hn_json *room, hn_json *list)
{
    *list = (hn_json){ .kind = HN_JSON_ARRAY };
    size_t n = 0;
    for (const hn_json *v = names->as.children.first; v; v = v->next, n++) {
        room[n] = *hn_json_get(all, v->as.string.text);
        room[n].next = v->next ? &room[n + 1] : NULL;
        list->as.children.first = room;
    }
    list->as.children.n = n;
    return n ? list : NULL;
}

static hn_reader_options options_of(const hn_json *all, const hn_json *c, hn_json *room, hn_json *list)
{
    const char *sign = text_of(c, "thoughts");
    const hn_json *in_thought = hn_json_get(c, "in_thought"), *names = hn_json_get(c, "tools");
    hn_reader_options o = { .thoughts = hn_thought_marks_of(sign, strlen(sign)), .in_thought = in_thought && in_thought->as.boolean };
    const char *family = text_of(c, "family");
    if (*family) {
        o.family = hn_call_family_named(family);
        CHECK_THAT(o.family != NULL, "no family %s", family);
    }
    o.tools = names ? tool_list(all, names, room, list) : NULL;
    return o;
}

/* Pieces of `step` bytes, or, where `cut` is given, two. */
static bool hear(const hn_reader_options *o, const char *said, size_t n, size_t step, size_t cut, heard *h)
{
    const hn_reader_ear ear = { say, call, h };
    hn_reader *r = NULL;
    begin(h);
    if (!CHECK_OK(hn_reader_new(&r, &heap, o, &ear)))
        return false;
    if (cut) {
        CHECK_OK(hn_reader_add(r, said, cut));
        CHECK_OK(hn_reader_add(r, said + cut, n - cut));
    }
    for (size_t at = 0; !cut && at < n; at += step)
        CHECK_OK(hn_reader_add(r, said + at, n - at < step ? n - at : step));
    CHECK_OK(hn_reader_finish(r, &h->is_cut));
    hn_reader_free(r);
    return true;
}

/* But for white space at their ends. */
static bool has_words(const char *want, const char *got)
{
    const char *words[2] = { want, got };
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        words[i] += strspn(words[i], " \n");
        for (n[i] = strlen(words[i]); n[i] && strchr(" \n", words[i][n[i] - 1]);)
            n[i]--;
    }
    return n[0] == n[1] && !memcmp(words[0], words[1], n[0]);
}

static bool is_words(const char *want, const char *got, bool to_the_byte)
{
    return CHECK_THAT(to_the_byte ? !strcmp(want, got) : has_words(want, got), "expected \"%s\", found \"%s\"", want, got);
}

/* Whether this is what was heard: of an output that others read otherwise, theirs is not. */
static bool is_heard(const hn_json *of, const heard *h)
{
    const hn_json *calls = hn_json_get(of, "calls");
    bool is_so = has_words(text_of(of, "content"), h->voices[HN_VOICE_ANSWER].text) && has_words(text_of(of, "reasoning"), h->voices[HN_VOICE_THOUGHT].text) &&
                 (int)calls->as.children.n == h->n_calls;
    int i = 0;
    for (const hn_json *v = calls->as.children.first; v && is_so; v = v->next, i++)
        is_so = !strcmp(text_of(v, "name"), h->names[i].text) && is_same_json(text_of(v, "arguments"), h->arguments[i].text);
    return is_so;
}

static bool is_as_wanted(const hn_json *c, const heard *h)
{
    const hn_json *calls = hn_json_get(c, "calls"), *cut = hn_json_get(c, "is_cut");
    const bool is_own = !strcmp(text_of(c, "from"), "own");
    bool is_right = is_words(text_of(c, "content"), h->voices[HN_VOICE_ANSWER].text, is_own);
    is_right &= is_words(text_of(c, "reasoning"), h->voices[HN_VOICE_THOUGHT].text, is_own);
    is_right &= CHECK_INT(calls ? (int64_t)calls->as.children.n : 0, h->n_calls);
    is_right &= CHECK_INT(cut && cut->as.boolean, h->is_cut);
    int i = 0;
    for (const hn_json *v = calls ? calls->as.children.first : NULL; v && i < h->n_calls; v = v->next, i++) {
        is_right &= CHECK_TEXT(text_of(v, "name"), h->names[i].text);
        if (*text_of(v, "id"))
            is_right &= CHECK_TEXT(text_of(v, "id"), h->ids[i].text);
        is_right &= h->is_cut ? CHECK_TEXT(text_of(v, "arguments"), h->arguments[i].text)
                              : CHECK_THAT(is_same_json(text_of(v, "arguments"), h->arguments[i].text), "expected %s, found %s",
                                           text_of(v, "arguments"), h->arguments[i].text);
    }
    return is_right;
}

static bool is_alike(const heard *a, const heard *b)
{
    bool same = a->n_calls == b->n_calls && a->is_cut == b->is_cut && !strcmp(a->voices[0].text, b->voices[0].text) &&
                !strcmp(a->voices[1].text, b->voices[1].text);
    for (int i = 0; same && i < a->n_calls; i++)
        same = !strcmp(a->names[i].text, b->names[i].text) && !strcmp(a->ids[i].text, b->ids[i].text) &&
               !strcmp(a->arguments[i].text, b->arguments[i].text);
    return same;
}

static void try_case(const hn_json *all, const hn_json *c)
{
    char group[300];
    hn_json room[32], list;
    heard whole, other;
    const char *said = text_of(c, "said");
    const size_t n = strlen(said);
    const hn_reader_options o = options_of(all, c, room, &list);
    snprintf(group, sizeof group, "%s (%s): %.180s", text_of(c, "family"), text_of(c, "from"), said);
    check_group(group);
    if (!hear(&o, said, n, n ? n : 1, 0, &whole))
        return;
    const hn_json *ours = hn_json_get(c, "ours");
    is_as_wanted(ours ? ours : c, &whole);
    if (ours)
        CHECK_THAT(!is_heard(c, &whole), "it is read alike: %s is why it was not", text_of(c, "why"));
    for (size_t k = 0; k < n + 2; k++) { /* pieces of 1 and 3 bytes, and two pieces */
        const size_t step = k == 0 ? 1 : 3, cut = k < 2 ? 0 : k - 1;
        if (cut < n && hear(&o, said, n, step, cut, &other)) {
            CHECK_THAT(is_alike(&whole, &other), "pieces of %zu, or cut at %zu: '%s' '%s' %d calls, and whole '%s' '%s' %d", step, cut,
                       other.voices[0].text, other.voices[1].text, other.n_calls, whole.voices[0].text, whole.voices[1].text, whole.n_calls);
            end(&other);
        }
    }
    end(&whole);
    check_group(NULL);
}

static void try_file(const char *name, size_t least)
{
    char path[1024];
    void *data = NULL;
    size_t bytes = 0;
    hn_json_text *text = NULL;
    snprintf(path, sizeof path, "%s/tests/conformance/speech/%s", HN_SOURCE_DIR, name);
    if (CHECK_OK(hn_file_read(&heap, path, 1 << 24, &data, &bytes)) && CHECK_OK(hn_json_read(&heap, name, data, bytes, &text))) {
        const hn_json *cases = hn_json_get(hn_json_root(text), "cases"), *tools = hn_json_get(hn_json_root(text), "tools");
        CHECK(cases->as.children.n >= least);
        for (const hn_json *c = cases->as.children.first; c; c = c->next)
            try_case(tools, c);
    }
    hn_json_free(text);
    hn_free(&heap, data);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    try_file("llama_cpp.json", 260);
    try_file("own.json", 80);
    try_file("vllm.json", 300);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
