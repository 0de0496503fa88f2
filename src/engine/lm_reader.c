/* Public readers: what a model says, told apart. */
#include "base/word_list.h"
#include "engine/lm.h"
#include "hone/chat.h"
#include "infer/answer_rules.h"
#include "infer/reader.h"

#include <string.h>

struct hn_lm_reader {
    hn_lm *lm;
    hn_lm_reader_options o; /* its callbacks */
    hn_json_text *tools;
    hn_reader *inner;
    hn_decoder decoder;
    hn_str text;
    bool is_finished;
};

static hn_span source_of(const hn_lm *lm)
{
    hn_span source = { NULL, 0 };
    const char *which = lm->which ? lm->which : lm->carried;
    if (!hn_chat_format_source(lm->input.chat, which, &source) && !which)
        hn_chat_format_source(lm->input.chat, "tool_use", &source);
    return source.data ? source : (hn_span){ "", 0 };
}

/* Where there are tools it is the template for them that counts. */
static const hn_call_family *family_of(const hn_lm *lm)
{
    hn_span source = source_of(lm), tools;
    if (!lm->which && !lm->carried && hn_chat_format_source(lm->input.chat, "tool_use", &tools))
        source = tools;
    return hn_call_family_of(source.data, source.bytes);
}

static const char *family_at(int32_t i)
{
    const hn_call_family *f;
    for (size_t k = 0; i >= 0 && (f = hn_call_family_at(k)) != NULL; k++)
        if (f->form != HN_CALLS_REFUSED && i-- == 0)
            return f->name;
    return NULL;
}

const char *hn_lm_call_family(int32_t i)
{
    HN_ENTER();
    return family_at(i);
}

static hn_status choose_family(const hn_lm *lm, const char *name, const hn_call_family **out)
{
    *out = name ? hn_call_family_named(name) : family_of(lm);
    if (*out || !name)
        return HN_OK;
    const char *names[64];
    hn_word_text all;
    int n = 0;
    while (n < 64 && (names[n] = family_at(n)) != NULL)
        n++;
    return hn_fail(HN_ERR_ARGUMENT, "family: expected %s, found '%.60s'", hn_words_or(n, names, &all), name);
}

hn_status hn_lm_call_style_of(const hn_lm *lm, const char *name, hn_lm_call_style *to, size_t size)
{
    HN_ENTER();
    const hn_call_family *f = NULL;
    HN_GIVES(hn_lm_call_style, out, to, size);
    HN_REQUIRE(lm && to, HN_ERR_ARGUMENT, "hn_lm_call_style_of: expected a model and out, found NULL");
    HN_TRY(hn_lm_want_words(lm));
    HN_TRY(choose_family(lm, name, &f));
    HN_REQUIRE(f, HN_ERR_UNSUPPORTED, "tools: expected a chat template whose way to write calls is known, found another; the "
                                      "family json may be asked for");
    *out = (hn_lm_call_style){ .family = f->name, .form = hn_call_form_name(f->form), .open = f->open, .begin = f->begin,
                                     .prefix = f->prefix, .sep = f->sep, .end = f->end, .close = f->close,
                                     .trigger = f->open[0] ? hn_tokenizer_find(lm->tok, f->open, strlen(f->open)) : -1 };
    return HN_OK;
}

/* ---- hearing ---- */

static void say(void *context, hn_voice voice, const char *text, size_t bytes)
{
    const hn_lm_reader *r = context;
    void (*call)(void *, const char *, size_t) = voice == HN_VOICE_THOUGHT ? r->o.on_thought : r->o.on_text;
    if (!call)
        return;
    HN_CALL_HOST();
    call(r->o.context, text, bytes);
}

static void call(void *context, int32_t index, const char *id, const char *name, const char *arguments, size_t bytes)
{
    const hn_lm_reader *r = context;
    const hn_lm_call piece = { .index = index, .id = id, .name = name, .arguments = arguments, .bytes = bytes };
    if (!r->o.on_call)
        return;
    HN_CALL_HOST();
    r->o.on_call(r->o.context, &piece);
}

/* ---- making ---- */

/* Whether the prompt's end, without white space, is a thought's mark. */
static hn_status ends_in_thought(const hn_lm *lm, const int32_t *prompt, int64_t n_prompt, const char *open, bool *does)
{
    enum { LAST = 32 };
    HN_REQUIRE(n_prompt >= 0 && (prompt || !n_prompt), HN_ERR_ARGUMENT, "prompt: expected ids, found NULL");
    const int64_t n = n_prompt < LAST ? n_prompt : LAST;
    const size_t bytes = strlen(open);
    hn_str end = hn_str_on(&lm->engine->heap);
    hn_status status = n ? hn_tokenizer_decode(lm->tok, prompt + n_prompt - n, (size_t)n, false, &end) : HN_OK;
    if (status == HN_OK)
        status = hn_str_status(&end);
    size_t length = end.length;
    while (length && strchr(" \n\r\t", end.text[length - 1]))
        length--;
    *does = status == HN_OK && bytes && length >= bytes && !memcmp(end.text + length - bytes, open, bytes);
    hn_str_free(&end);
    return status;
}

static hn_status open_reader(hn_lm_reader *r)
{
    const hn_span source = source_of(r->lm);
    hn_reader_options o = { .thoughts = hn_thought_marks_of(source.data, source.bytes) };
    const hn_reader_ear ear = { say, call, r };
    HN_TRY(hn_take_json(&r->lm->engine->heap, "tools", r->o.tools, &r->tools));
    HN_TRY(choose_family(r->lm, r->o.family, &o.family));
    HN_TRY(ends_in_thought(r->lm, r->o.prompt, r->o.n_prompt, o.thoughts.open, &o.in_thought));
    o.tools = r->tools ? hn_json_root(r->tools) : NULL;
    HN_TRY(hn_reader_new(&r->inner, &r->lm->engine->heap, &o, &ear));
    r->decoder = hn_decoder_on(r->lm->tok, true);
    r->decoder.has_begun = true; /* the prompt came before */
    return HN_OK;
}

hn_status hn_lm_reader_new(hn_lm_reader **out, hn_lm *lm, const hn_lm_reader_options *options)
{
    HN_ENTER();
    hn_lm_reader_options o;
    HN_REQUIRE(out && lm, HN_ERR_ARGUMENT, "hn_lm_reader_new: expected out and a model, found NULL");
    *out = NULL;
    HN_TRY(hn_take_struct("hn_lm_reader_options", options, sizeof o, &o));
    HN_TRY(hn_lm_want_words(lm));
    hn_lm_reader *r = hn_alloc(&lm->engine->heap, HN_TAG_TEXT, sizeof *r);
    if (!r)
        return HN_ERR_MEMORY;
    hn_status status = hn_lm_hold_words(lm);
    if (status != HN_OK) {
        hn_free(&lm->engine->heap, r);
        return status;
    }
    *r = (hn_lm_reader){ .lm = lm, .o = o, .text = hn_str_on(&lm->engine->heap) };
    status = open_reader(r);
    r->o = (hn_lm_reader_options){ .on_text = o.on_text, .on_thought = o.on_thought, .on_call = o.on_call, .context = o.context };
    if (status != HN_OK) {
        hn_lm_reader_free(r);
        return status;
    }
    *out = r;
    return HN_OK;
}

void hn_lm_reader_free(hn_lm_reader *r)
{
    HN_ENTER();
    if (!r)
        return;
    hn_lm *lm = r->lm;
    hn_reader_free(r->inner);
    hn_json_free(r->tools);
    hn_str_free(&r->text);
    hn_free(&lm->engine->heap, r);
    hn_lm_let_go(lm);
}

/* ---- reading ---- */

/* Special tokens have no text, but for the marks that the reader knows. */
static bool is_mark(const hn_lm_reader *r, int32_t id, hn_span *piece)
{
    const hn_token_kind kind = hn_tokenizer_token_kind(r->lm->tok, id);
    *piece = hn_tokenizer_piece(r->lm->tok, id);
    return (kind == HN_TOKEN_CONTROL || kind == HN_TOKEN_USER_DEFINED) && hn_reader_knows(r->inner, piece->data, piece->bytes);
}

hn_status hn_lm_reader_add(hn_lm_reader *r, int32_t id)
{
    HN_ENTER();
    hn_span piece;
    HN_REQUIRE(r && !r->is_finished, HN_ERR_ARGUMENT, "hn_lm_reader_add: expected a reader that was not finished, found %s",
               r ? "one that was" : "NULL");
    if (id >= hn_tokenizer_size(r->lm->tok) && id < hn_lm_vocabulary(r->lm))
        return HN_OK; /* vocabularies are padded: it has no text */
    hn_str_clear(&r->text);
    if (is_mark(r, id, &piece)) {
        HN_TRY(hn_decoder_finish(&r->decoder, &r->text));
        r->decoder.has_begun = true;
        hn_str_add_bytes(&r->text, piece.data, piece.bytes);
    } else {
        HN_TRY(hn_decoder_add(&r->decoder, id, &r->text));
    }
    HN_TRY(hn_str_status(&r->text));
    return hn_reader_add(r->inner, r->text.text, r->text.length);
}

hn_status hn_lm_reader_add_text(hn_lm_reader *r, const char *text, size_t bytes)
{
    HN_ENTER();
    HN_REQUIRE(r && !r->is_finished && (text || !bytes), HN_ERR_ARGUMENT,
               "hn_lm_reader_add_text: expected a reader that was not finished and a text, found %s", r ? "others" : "NULL");
    return hn_reader_add(r->inner, text ? text : "", bytes);
}

hn_status hn_lm_reader_finish(hn_lm_reader *r, int32_t *is_cut)
{
    HN_ENTER();
    bool cut = false;
    HN_REQUIRE(r && is_cut && !r->is_finished, HN_ERR_ARGUMENT,
               "hn_lm_reader_finish: expected a reader that was not finished and room, found %s", r ? "others" : "NULL");
    r->is_finished = true;
    *is_cut = 0;
    hn_str_clear(&r->text);
    HN_TRY(hn_decoder_finish(&r->decoder, &r->text));
    HN_TRY(hn_str_status(&r->text));
    HN_TRY(hn_reader_add(r->inner, r->text.text, r->text.length));
    HN_TRY(hn_reader_finish(r->inner, &cut));
    *is_cut = cut;
    return HN_OK;
}

/* ---- rules ---- */

static int32_t find_control(const void *context, const char *text, size_t *bytes)
{
    enum { LONGEST = 64 };
    const hn_lm *lm = context;
    size_t n = 0;
    while (n < LONGEST && text[n])
        n++;
    for (; n > 1; n--) {
        const int32_t id = hn_tokenizer_find(lm->tok, text, n);
        if (id >= 0 && hn_tokenizer_token_kind(lm->tok, id) == HN_TOKEN_CONTROL) {
            *bytes = n;
            return id;
        }
    }
    return -1;
}

static int32_t find_token(const void *context, const char *text)
{
    const hn_lm *lm = context;
    return hn_tokenizer_find(lm->tok, text, strlen(text));
}

static hn_status write_rules(const hn_lm *lm, const hn_lm_rules_options *o, hn_json_text **tools, hn_str *out)
{
    const hn_span source = source_of(lm);
    hn_answer_rules rules = { .thoughts = hn_thought_marks_of(source.data, source.bytes), .only = o->only, .must_call = o->must_call,
                              .once = o->once, .most_thought = o->thought ? o->thought : -1, .schema = o->schema,
                              .control = find_control, .token = find_token, .context = lm };
    HN_REQUIRE(o->thought >= 0, HN_ERR_ARGUMENT, "thought: expected a number of tokens, found %lld", (long long)o->thought);
    HN_REQUIRE(!o->schema || !o->tools, HN_ERR_ARGUMENT, "schema: of an answer without tools, found both");
    HN_TRY(hn_take_json(&lm->engine->heap, "tools", o->tools, tools));
    HN_TRY(choose_family(lm, o->family, &rules.family));
    HN_TRY(ends_in_thought(lm, o->prompt, o->n_prompt, rules.thoughts.open, &rules.in_thought));
    rules.tools = *tools ? hn_json_root(*tools) : NULL;
    HN_REQUIRE(!rules.tools || rules.tools->kind == HN_JSON_ARRAY, HN_ERR_ARGUMENT, "tools: expected an array");
    HN_REQUIRE(rules.tools || !o->must_call, HN_ERR_ARGUMENT, "must_call: expected tools, found none");
    return hn_answer_rules_write(&lm->engine->heap, &rules, out);
}

hn_status hn_lm_answer_rules(const hn_lm *lm, const hn_lm_rules_options *options, char *to, size_t room, size_t *bytes)
{
    HN_ENTER();
    hn_lm_rules_options o;
    hn_json_text *tools = NULL;
    HN_REQUIRE(lm, HN_ERR_ARGUMENT, "hn_lm_answer_rules: expected a model, found NULL");
    HN_TRY(hn_take_struct("hn_lm_rules_options", options, sizeof o, &o));
    HN_TRY(hn_lm_want_words(lm));
    hn_str text = hn_str_on(&lm->engine->heap);
    hn_status status = write_rules(lm, &o, &tools, &text);
    if (status == HN_OK)
        status = hn_give_text(text.text, text.length, to, room, bytes);
    hn_str_free(&text);
    hn_json_free(tools);
    return status;
}
