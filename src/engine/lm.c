/* A public model: opened whole, or without its weights or its words, and held by what is made on it.
 *
 * n_holders counts the caller, until hn_lm_close, and each session, chat, batch, scheduler, sampler and matcher that is made on
 * the model, until it is freed. The last one to let go frees all of it, so a host may close the model first and its sessions later,
 * in any order; only the engine, whose heap it is on, has to outlive them all. Opening counts as well: what fails half-way lets
 * go, which takes a model of which only some parts are there.
 *
 * Since a part may be missing, nobody reads lm->model or lm->tok without having asked: by holding (hn_lm_hold, hn_lm_hold_words),
 * or, for what is done at once, by wanting. Both refuse by name what was not opened, and a process that is a child of fork, where
 * the engine's threads are not.
 *
 * What is opened is not changed any more, and any thread may ask it. But for two things: grammars that were bound to the
 * vocabulary are kept under bounds_lock, and adapters and the folder of digests are given to a model that no other thread uses
 * meanwhile (hone/model.h).
 * lm->chosen and lm->digests are lent to the template and to the model, so they go after these. */
#include "engine/lm_grammar.h"

#include "base/embedded.h"
#include "base/sha256.h"
#include "models/fingerprint.h"
#include "models/identity.h"
#include "models/open_tokenizer.h"

#include <string.h>

hn_status hn_give_text(const char *text, size_t n, char *to, size_t room, size_t *bytes)
{
    if (bytes)
        *bytes = n;
    if (!room)
        return HN_OK;
    HN_REQUIRE(to, HN_ERR_ARGUMENT, "room for %zu bytes at NULL", room);
    HN_REQUIRE(n < room, HN_ERR_ARGUMENT, "room for %zu bytes: expected %zu", room, n + 1);
    memcpy(to, text, n);
    to[n] = 0;
    return HN_OK;
}

static const hn_numerics inner_numerics[] = { HN_NUMERICS_F32, HN_NUMERICS_BF16, HN_NUMERICS_MIXED,
                                              HN_NUMERICS_INT8 };

hn_lm_numerics hn_outer_numerics(hn_numerics numerics)
{
    int i = HN_LM_F32;
    if (numerics == HN_NUMERICS_MIXED_1)
        return HN_LM_MIXED;
    while (i < HN_LM_INT8 && inner_numerics[i] != numerics)
        i++;
    return (hn_lm_numerics)i;
}

hn_status hn_inner_numerics(const char *name, hn_lm_numerics numerics, hn_numerics *out)
{
    HN_REQUIRE((unsigned)numerics <= HN_LM_INT8, HN_ERR_ARGUMENT,
               "%s is %d: expected HN_LM_F32, HN_LM_BF16, HN_LM_MIXED or HN_LM_INT8", name, (int)numerics);
    *out = inner_numerics[numerics];
    return HN_OK;
}

hn_status hn_lm_numerics_named(const char *word, hn_lm_numerics *out)
{
    HN_ENTER();
    hn_numerics inner;
    HN_REQUIRE(out, HN_ERR_ARGUMENT, "hn_lm_numerics_named: out is NULL");
    HN_TRY(hn_numerics_parse(word, &inner));
    *out = hn_outer_numerics(inner);
    return HN_OK;
}

const char *hn_lm_numerics_name(hn_lm_numerics numerics)
{
    HN_ENTER();
    return (unsigned)numerics <= HN_LM_INT8 ? hn_numerics_name(inner_numerics[numerics]) : "";
}

static hn_status hold(hn_lm *lm)
{
    atomic_fetch_add(&lm->n_holders, 1);
    return HN_OK;
}

hn_status hn_lm_want_model(const hn_lm *lm)
{
    HN_REQUIRE(lm->model, HN_ERR_UNSUPPORTED, "%s: opened by hn_lm_open_words, without its weights: expected hn_lm_open",
               lm->path);
    return hn_engine_check(lm->engine);
}

hn_status hn_lm_want_words(const hn_lm *lm)
{
    HN_REQUIRE(lm->tok, HN_ERR_UNSUPPORTED, "%s: opened by hn_lm_open_weights, without its tokenizer: expected hn_lm_open",
               lm->path);
    return hn_engine_check(lm->engine);
}

hn_status hn_lm_hold(hn_lm *lm)
{
    HN_TRY(hn_lm_want_model(lm));
    return hold(lm);
}

hn_status hn_lm_hold_words(hn_lm *lm)
{
    HN_TRY(hn_lm_want_words(lm));
    return hold(lm);
}

void hn_lm_let_go(hn_lm *lm)
{
    if (!lm || atomic_fetch_sub(&lm->n_holders, 1) > 1)
        return;
    hn_heap *heap = &lm->engine->heap;
    hn_lm_bounds_free(lm);
    hn_os_mutex_close(&lm->bounds_lock);
    hn_adapters_close(&lm->adapters);
    hn_chat_input_close(&lm->input);
    hn_model_close(lm->model);
    hn_tokenizer_free(lm->tok);
    hn_free(heap, lm->chosen);
    hn_free(heap, lm->name);
    hn_free(heap, lm->path);
    hn_free(heap, lm->digests);
    hn_free(heap, lm);
}

static hn_status open_template(hn_lm *lm, const char *path, const hn_lm_options *o)
{
    hn_template_choice choice = { o->template_file, o->template_name };
    const char *given = choice.file ? choice.file : choice.name;
    HN_TRY(hn_chat_input_open(&lm->input, path));
    if (choice.file && choice.name) /* refused there */
        return hn_chat_input_choose(&lm->input, &choice, &lm->which);
    if (given && !(lm->chosen = hn_strdup(&lm->engine->heap, HN_TAG_TEXT, given)))
        return HN_ERR_MEMORY;
    choice.file = choice.file ? lm->chosen : NULL;
    choice.name = choice.name ? lm->chosen : NULL;
    return hn_chat_input_choose(&lm->input, &choice, &lm->which);
}

static hn_status read_name(hn_lm *lm)
{
    hn_gguf *file = hn_model_gguf(lm->model);
    if (file)
        HN_TRY(hn_meta_text(hn_gguf_meta(file), "general.name", &lm->name));
    return HN_OK;
}

hn_status hn_take_ignored(const char *name, const char *const *keys, int32_t n, hn_ignored *out)
{
    *out = (hn_ignored){ .n = n };
    HN_REQUIRE(n >= 0 && n <= HN_MAX_IGNORED && (keys || !n), HN_ERR_ARGUMENT,
               "%s.ignored_keys: expected a list of at most %d, found %d%s", name, HN_MAX_IGNORED, n,
               keys ? "" : " at NULL");
    for (int32_t i = 0; i < n; i++) {
        HN_REQUIRE(keys[i], HN_ERR_ARGUMENT, "%s.ignored_keys[%d] is NULL", name, i);
        out->at[i] = keys[i];
    }
    return HN_OK;
}

/* What of a model is opened. */
enum { WORDS = 1, WEIGHTS = 2 };

static hn_status open_lm(hn_lm *lm, const char *path, const hn_lm_options *o, int parts)
{
    hn_ignored ignored;
    HN_TRY(hn_take_ignored("hn_lm_options", o->ignored_keys, o->n_ignored_keys, &ignored));
    lm->run = lm->engine->run;
    HN_TRY(hn_inner_numerics("hn_lm_options.numerics", o->numerics, &lm->run.numerics));
    lm->path = hn_strdup(&lm->engine->heap, HN_TAG_TEXT, path);
    if (!lm->path)
        return HN_ERR_MEMORY;
    if (parts & WORDS) {
        const hn_work_part part = hn_work_part_begin(0, 0.5);
        HN_TRY(hn_work_part_end(&part, hn_open_tokenizer(&lm->engine->heap, path, &lm->tok)));
        HN_TRY(open_template(lm, path, o));
    }
    if (!(parts & WEIGHTS))
        return HN_OK;
    const hn_work_part part = hn_work_part_begin(0.5, 1);
    HN_TRY(hn_work_part_end(&part, hn_model_open(&lm->engine->heap, path, &ignored, &lm->model)));
    if (parts & WORDS)
        HN_TRY(hn_check_vocabulary(lm->tok, lm->model));
    return read_name(lm);
}

static hn_status make_lm(hn_lm **out, hn_engine *engine, const char *path, const hn_lm_options *options,
                         int parts)
{
    hn_lm_options o;
    HN_REQUIRE(out && engine && path, HN_ERR_ARGUMENT, "hn_lm_open: expected out, engine and path, found NULL");
    *out = NULL;
    HN_TRY(hn_engine_check(engine));
    HN_TRY(hn_take_struct("hn_lm_options", options, sizeof o, &o));
    hn_lm *lm = hn_alloc(&engine->heap, HN_TAG_STATE, sizeof *lm);
    if (!lm)
        return HN_ERR_MEMORY;
    lm->engine = engine;
    lm->input.heap = &engine->heap;
    atomic_init(&lm->n_holders, 1);
    hn_os_mutex_open(&lm->bounds_lock);
    const hn_status status = open_lm(lm, path, &o, parts);
    if (status != HN_OK) {
        hn_lm_let_go(lm);
        return status;
    }
    *out = lm;
    return hn_work_done(HN_OK, path);
}

const char *hn_lm_builtin(void)
{
    return HN_EMBEDDED_NAME;
}

hn_status hn_lm_open(hn_lm **out, hn_engine *engine, const char *path, const hn_lm_options *options)
{
    HN_ENTER();
    HN_TELLS(engine);
    return make_lm(out, engine, path, options, WORDS | WEIGHTS);
}

hn_status hn_lm_open_words(hn_lm **out, hn_engine *engine, const char *path, const hn_lm_options *options)
{
    HN_ENTER();
    HN_TELLS(engine);
    return make_lm(out, engine, path, options, WORDS);
}

hn_status hn_lm_open_weights(hn_lm **out, hn_engine *engine, const char *path, const hn_lm_options *options)
{
    HN_ENTER();
    HN_TELLS(engine);
    return make_lm(out, engine, path, options, WEIGHTS);
}

hn_status hn_lm_keep_digests(hn_lm *lm, const char *folder)
{
    HN_ENTER();
    HN_REQUIRE(lm, HN_ERR_ARGUMENT, "hn_lm_keep_digests: expected a model, found NULL");
    HN_TRY(hn_lm_want_model(lm));
    HN_REQUIRE(!lm->digests, HN_ERR_ARGUMENT, "%s: its digests are kept in %s", lm->path, lm->digests);
    hn_heap *heap = &lm->engine->heap;
    char *copy = folder ? hn_strdup(heap, HN_TAG_TEXT, folder) : NULL;
    if (folder && !copy)
        return HN_ERR_MEMORY;
    hn_model_keep_identity(lm->model, copy);
    lm->digests = copy;
    return HN_OK;
}

hn_status hn_lm_fingerprint(const hn_lm *lm, char text[65])
{
    HN_ENTER();
    uint8_t digest[32];
    HN_REQUIRE(lm && text, HN_ERR_ARGUMENT, "hn_lm_fingerprint: expected a model and room, found NULL");
    HN_TRY(hn_lm_want_model(lm));
    HN_TELLS(lm->engine);
    HN_TRY(hn_model_fingerprint(lm->model, digest));
    hn_sha256_text(digest, text);
    return hn_work_done(HN_OK, "fingerprint");
}

const char *hn_lm_numerics_definition(const hn_lm *lm)
{
    HN_ENTER();
    return lm ? hn_numerics_definition(lm->run.numerics) : "";
}

void hn_lm_close(hn_lm *lm)
{
    HN_ENTER();
    hn_lm_let_go(lm);
}

const char *hn_lm_architecture(const hn_lm *lm)
{
    HN_ENTER();
    return lm && lm->model ? hn_model_arch(lm->model)->name : "";
}

const char *hn_lm_name(const hn_lm *lm)
{
    HN_ENTER();
    return lm && lm->name ? lm->name : "";
}

int64_t hn_lm_context(const hn_lm *lm)
{
    HN_ENTER();
    return lm && lm->model ? hn_hparams_longest(hn_model_hparams(lm->model)) : 0;
}

int64_t hn_lm_vocabulary(const hn_lm *lm)
{
    HN_ENTER();
    return lm && lm->model ? hn_model_hparams(lm->model)->n_vocab : 0;
}

int64_t hn_lm_width(const hn_lm *lm)
{
    HN_ENTER();
    return lm && lm->model ? hn_model_hparams(lm->model)->width : 0;
}

int32_t hn_lm_embeds(const hn_lm *lm)
{
    HN_ENTER();
    return lm && lm->model && hn_model_embeds_only(lm->model);
}

/* ---- values by key ---- */

static void write_item(const hn_meta_value *v, uint64_t i, size_t *cursor, hn_heap *heap, hn_json_writer *w)
{
    if (v->type == HN_META_STRING) {
        const hn_span s = hn_meta_next_string(v, cursor);
        hn_str text = hn_str_on(heap); /* which ends in NUL */
        hn_str_add_bytes(&text, s.data, s.bytes);
        hn_json_add_string(w, text.text);
        hn_str_free(&text);
    } else if (v->type == HN_META_BOOL) {
        hn_json_add_bool(w, v->data[i] != 0);
    } else if (v->type == HN_META_F32 || v->type == HN_META_F64) {
        hn_json_add_double(w, hn_meta_item_double(v, i));
    } else {
        hn_json_add_int(w, hn_meta_item_int(v, i));
    }
}

static void write_meta(const hn_meta_value *v, hn_str *out)
{
    size_t cursor = 0;
    if (!v->is_array && v->type == HN_META_STRING) {
        const hn_span s = hn_meta_next_string(v, &cursor);
        hn_str_add_bytes(out, s.data, s.bytes);
        return;
    }
    hn_json_writer w = hn_json_write_to(out);
    if (v->is_array)
        hn_json_begin_array(&w);
    for (uint64_t i = 0; i < v->n; i++)
        write_item(v, i, &cursor, out->heap, &w);
    if (v->is_array)
        hn_json_end_array(&w);
}

/* "a.b": b within a, unless there is a key of the whole name. */
static const hn_json *find_json(const hn_json *root, const char *key)
{
    char part[128];
    const hn_json *found = hn_json_get(root, key);
    const char *dot = strchr(key, '.');
    if (found || !dot || (size_t)(dot - key) >= sizeof part)
        return found;
    memcpy(part, key, (size_t)(dot - key));
    part[dot - key] = 0;
    return find_json(hn_json_get(root, part), dot + 1);
}

static hn_status write_json(const hn_json *v, const char *key, hn_str *out)
{
    if (v->kind == HN_JSON_STRING) {
        hn_str_add_bytes(out, hn_json_string(v), hn_json_bytes(v));
        return HN_OK;
    }
    HN_REQUIRE(v->kind != HN_JSON_OBJECT, HN_ERR_ARGUMENT, "%s is an object: expected a key within it", key);
    hn_json_writer w = hn_json_write_to(out);
    if (v->kind != HN_JSON_ARRAY) {
        hn_json_add_scalar(&w, v);
        return HN_OK;
    }
    hn_json_begin_array(&w);
    for (const hn_json *item = hn_json_first(v); item; item = item->next) {
        HN_REQUIRE(item->kind != HN_JSON_ARRAY && item->kind != HN_JSON_OBJECT, HN_ERR_UNSUPPORTED,
                   "%s: an array of %s", key, hn_json_kind_text(item->kind));
        hn_json_add_scalar(&w, item);
    }
    hn_json_end_array(&w);
    return HN_OK;
}

static hn_status find_value(const hn_lm *lm, const char *key, hn_str *out)
{
    hn_gguf *file = hn_model_gguf(lm->model);
    if (file) {
        const hn_meta_value *v = hn_meta_find(hn_gguf_meta(file), key);
        HN_REQUIRE(v, HN_ERR_ARGUMENT, "%s: no key %.100s", hn_model_path(lm->model), key);
        write_meta(v, out);
        return HN_OK;
    }
    const hn_json *v = find_json(hn_json_root(hn_model_hf_dir(lm->model)->config), key);
    HN_REQUIRE(v, HN_ERR_ARGUMENT, "%s/config.json: no key %.100s", hn_model_path(lm->model), key);
    return write_json(v, key, out);
}

hn_status hn_lm_meta(const hn_lm *lm, const char *key, char *to, size_t room, size_t *bytes)
{
    HN_ENTER();
    HN_REQUIRE(lm && key, HN_ERR_ARGUMENT, "hn_lm_meta: expected a model and a key, found NULL");
    HN_TRY(hn_lm_want_model(lm));
    hn_str text = hn_str_on(&lm->engine->heap);
    hn_status status = find_value(lm, key, &text);
    if (status == HN_OK)
        status = hn_str_status(&text);
    if (status == HN_OK)
        status = hn_give_text(text.text, text.length, to, room, bytes);
    hn_str_free(&text);
    return status;
}

hn_status hn_lm_chat_template(const hn_lm *lm, const char *what, char *to, size_t room, size_t *bytes)
{
    HN_ENTER();
    HN_REQUIRE(lm && what, HN_ERR_ARGUMENT, "hn_lm_chat_template: expected a model and a word, found NULL");
    HN_TRY(hn_lm_want_words(lm));
    const hn_chat_format *chat = lm->input.chat;
    const char *which = lm->which ? lm->which : lm->carried, *const with_tools = "with tools ";
    char digest[65];
    hn_span text;
    const bool has_tools = !strncmp(what, with_tools, strlen(with_tools));
    what += has_tools ? strlen(with_tools) : 0;
    const bool is_token = strcmp(what, "text") != 0 && strcmp(what, "digest") != 0;
    const char *token = is_token && chat ? hn_chat_format_token(chat, what) : NULL;
    if (is_token)
        return hn_give_text(token ? token : "", token ? strlen(token) : 0, to, room, bytes);
    which = chat ? hn_chat_format_which(chat, which, has_tools) : NULL;
    HN_REQUIRE(chat && hn_chat_format_source(chat, which, &text), HN_ERR_UNSUPPORTED, "%s: the model has no chat template", lm->path);
    if (!strcmp(what, "text"))
        return hn_give_text(text.data, text.bytes, to, room, bytes);
    hn_chat_format_digest(chat, which, digest);
    return hn_give_text(digest, strlen(digest), to, room, bytes);
}
