/* Text, thoughts and calls come apart from the reader; here they become blocks in their order, each a piece of one
 * text. What might begin a stop is not told yet, and is told at once when a thought or a call begins. */
#include "server/hearing.h"

/* ---- what a reader says ---- */

/* Everything is kept first: the status says whether it could be. */
static bool may_hear(const hn_hearing *h) { return !h->stopped_by && h->status == HN_OK; }

/* The block that what is said now is of: the last, or a new one. */
static hn_heard_block *block_of(hn_hearing *h, hn_block_kind kind, int32_t call, size_t at)
{
    hn_heard_block *last = h->n_blocks ? &h->blocks[h->n_blocks - 1] : NULL;
    if (last && last->kind == kind && last->call == call)
        return last;
    if (h->n_blocks == h->room_blocks) {
        const size_t room = h->room_blocks ? 2 * h->room_blocks : 8;
        hn_heard_block *grown = hn_realloc_array(h->heap, HN_TAG_TEXT, h->blocks, room, sizeof *grown);
        if (!grown) {
            h->status = HN_ERR_MEMORY;
            return NULL;
        }
        h->blocks = grown;
        h->room_blocks = room;
    }
    h->blocks[h->n_blocks] = (hn_heard_block){ kind, call, at, at };
    return &h->blocks[h->n_blocks++];
}

/* Pieces that end at `end`. */
static void extend_block(hn_hearing *h, hn_block_kind kind, int32_t call, size_t begin, size_t end)
{
    hn_heard_block *b = begin < end || kind == HN_CALL_BLOCK ? block_of(h, kind, call, begin) : NULL;
    if (b)
        b->end = end;
}

static void add_text(hn_hearing *h, const char *text, size_t bytes)
{
    int which = 0;
    h->said = bytes ? HN_TEXT_BLOCK : h->said;
    if (!may_hear(h))
        return;
    const size_t begin = h->text.length;
    hn_str_add_bytes(&h->text, text, bytes);
    h->status = hn_str_status(&h->text);
    const size_t at = hn_stops_find(h->stops, h->text.text, h->text.length, h->told, &which);
    h->uncut = h->text.length;
    if (at < h->text.length) {
        h->stopped_by = h->stops->at[which];
        h->text.length = at;
        h->text.text[at] = '\0';
    }
    if (at > begin)
        extend_block(h, HN_TEXT_BLOCK, 0, begin, at);
    else if (h->n_blocks && h->blocks[h->n_blocks - 1].kind == HN_TEXT_BLOCK && at < h->blocks[h->n_blocks - 1].end) {
        h->blocks[h->n_blocks - 1].end = at; /* the stop began before */
        h->n_blocks -= at <= h->blocks[h->n_blocks - 1].begin;
    }
}

/* Before a thought or a call the text is told whole: no stop goes across it. */
static void tell_text(hn_hearing *h)
{
    if (h->hearer.on_text && h->told < h->text.length)
        h->hearer.on_text(h->hearer.context, h->text.length);
    h->told = h->text.length;
}

static void on_text(void *context, const char *text, size_t bytes)
{
    add_text(context, text, bytes);
}

static void on_thought(void *context, const char *text, size_t bytes)
{
    hn_hearing *h = context;
    h->said = bytes ? HN_THOUGHT_BLOCK : h->said;
    if (!may_hear(h))
        return;
    tell_text(h);
    hn_str_add_bytes(&h->thought, text, bytes);
    h->status = hn_str_status(&h->thought);
    extend_block(h, HN_THOUGHT_BLOCK, 0, h->thought.length - (h->status == HN_OK ? bytes : 0), h->thought.length);
    if (h->hearer.on_thought)
        h->hearer.on_thought(h->hearer.context, text, bytes);
}

static hn_status keep_call(hn_hearing *h, const hn_lm_call *call)
{
    HN_REQUIRE(call->index < HN_MOST_CALLS, HN_ERR_UNSUPPORTED, "an answer of more than %d calls of tools", HN_MOST_CALLS);
    if (!h->calls)
        h->calls = hn_alloc_array(h->heap, HN_TAG_TEXT, HN_MOST_CALLS, sizeof *h->calls);
    if (!h->calls)
        return HN_ERR_MEMORY;
    for (; h->n_calls <= call->index; h->n_calls++)
        h->calls[h->n_calls] = (hn_heard_call){ hn_str_on(h->heap), hn_str_on(h->heap), hn_str_on(h->heap) };
    hn_heard_call *to = &h->calls[call->index];
    hn_str_add(&to->id, call->id ? call->id : "");
    hn_str_add(&to->name, call->name ? call->name : "");
    hn_str_add_bytes(&to->arguments, call->arguments, call->bytes);
    HN_TRY(hn_str_status(&to->id));
    HN_TRY(hn_str_status(&to->name));
    return hn_str_status(&to->arguments);
}

static void on_call(void *context, const hn_lm_call *call)
{
    hn_hearing *h = context;
    h->said = HN_CALL_BLOCK;
    if (!may_hear(h))
        return;
    tell_text(h);
    h->status = keep_call(h, call);
    if (h->status == HN_OK)
        extend_block(h, HN_CALL_BLOCK, call->index, 0, h->calls[call->index].arguments.length);
    if (h->status == HN_OK && h->hearer.on_call)
        h->hearer.on_call(h->hearer.context, call);
}

/* ---- beginning and end ---- */

static void begin(hn_hearing *h, hn_heap *heap, const hn_stops *stops, const hn_hearer *hearer)
{
    *h = (hn_hearing){ .heap = heap, .stops = stops, .text = hn_str_on(heap), .thought = hn_str_on(heap) };
    if (hearer)
        h->hearer = *hearer;
}

hn_status hn_hearing_open_text(hn_hearing *h, hn_heap *heap, hn_lm *lm, const hn_stops *stops, const hn_hearer *hearer)
{
    begin(h, heap, stops, hearer);
    return hn_lm_decoder_new(&h->decoder, lm, 0);
}

hn_status hn_hearing_open_chat(hn_hearing *h, hn_heap *heap, hn_lm *lm, const hn_stops *stops, const hn_hearer *hearer,
                               const hn_heard_chat *chat)
{
    begin(h, heap, stops, hearer);
    const hn_lm_reader_options o = { .size = sizeof o, .tools = chat->tools, .family = chat->calls, .prompt = chat->prompt,
                                     .n_prompt = (int64_t)chat->n_prompt,
                                     .on_text = on_text, .on_thought = on_thought, .on_call = on_call, .context = h };
    return hn_lm_reader_new(&h->reader, lm, &o);
}

void hn_hearing_close(hn_hearing *h)
{
    if (!h->heap)
        return;
    hn_lm_decoder_free(h->decoder);
    hn_lm_reader_free(h->reader);
    for (int32_t i = 0; i < h->n_calls; i++) {
        hn_str_free(&h->calls[i].id);
        hn_str_free(&h->calls[i].name);
        hn_str_free(&h->calls[i].arguments);
    }
    hn_free(h->heap, h->calls);
    hn_free(h->heap, h->blocks);
    hn_str_free(&h->text);
    hn_str_free(&h->thought);
    *h = (hn_hearing){ .heap = NULL };
}

hn_status hn_hearing_add(hn_hearing *h, int32_t id, size_t *to)
{
    const char *text;
    size_t bytes;
    if (h->reader)
        HN_TRY(hn_lm_reader_add(h->reader, id));
    else {
        HN_TRY(hn_lm_decoder_add(h->decoder, id, &text, &bytes));
        add_text(h, text, bytes);
    }
    h->n_thought += h->said == HN_THOUGHT_BLOCK;
    *to = h->stopped_by ? h->text.length : hn_stops_safe(h->stops, h->text.text, h->text.length);
    *to = *to < h->told ? h->told : *to; /* what a stop might begin with was told before a thought */
    return h->status;
}

hn_status hn_hearing_finish(hn_hearing *h)
{
    const char *text;
    size_t bytes;
    int32_t is_cut;
    if (h->stopped_by)
        return h->status;
    if (h->reader)
        HN_TRY(hn_lm_reader_finish(h->reader, &is_cut));
    else {
        HN_TRY(hn_lm_decoder_finish(h->decoder, &text, &bytes));
        add_text(h, text, bytes);
    }
    return h->status;
}
