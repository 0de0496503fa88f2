/* The one way in: an adapter is what it says, on this base, with this tokenizer and template, and
 * its self-test gives what it gave; or it is none. */
#include "infer/adapter_parts.h"

#include "base/sha256.h"
#include "base/work.h"
#include "io/seal.h"
#include "models/fingerprint.h"
#include "models/identity.h"
#include "models/open_chat.h"
#include "models/open_tokenizer.h"

#include <stdio.h>
#include <string.h>

/* ---- the contract ---- */

static bool is_text(hn_span span, const char *text)
{
    return span.data && span.bytes == strlen(text) && !memcmp(span.data, text, span.bytes);
}

/* Whatever hone trained says so; others' adapters say nothing of how they were made. */
static bool has_contract(const hn_meta *meta)
{
    for (size_t i = 0; i < meta->n; i++)
        if (!strncmp(meta->values[i].key, "hone.", 5))
            return true;
    return false;
}

/* What must be there is there: a contract that lost a part is no contract. */
static hn_status check_whole(const hn_meta *meta)
{
    static const char *const texts[] = { HN_ADAPTER_BASE, HN_ADAPTER_TOKENIZER, HN_ADAPTER_TEST_SHA };
    const hn_meta_value *value;
    hn_span text;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        HN_TRY(hn_meta_want_string(meta, texts[i], &text));
        HN_REQUIRE(text.bytes == 64, HN_ERR_FORMAT, "key %s: expected 64 hexadecimal digits, found "
                   "%zu bytes", texts[i], text.bytes);
    }
    HN_TRY(hn_meta_array(meta, HN_ADAPTER_TEST_IDS, HN_META_I32, &value));
    HN_REQUIRE(value, HN_ERR_FORMAT, "key " HN_ADAPTER_TEST_IDS " is missing: the self-test that hone "
                                     "writes into every adapter was taken out");
    HN_TRY(hn_meta_array(meta, HN_ADAPTER_TEST_LOGITS, HN_META_F32, &value));
    HN_REQUIRE(value, HN_ERR_FORMAT, "key " HN_ADAPTER_TEST_LOGITS " is missing: the self-test that "
                                     "hone writes into every adapter was taken out");
    return HN_OK;
}

/* Of a text in a file, which may be of any length. */
static int digits_of(hn_span text, int most)
{
    return text.bytes < (size_t)most ? (int)text.bytes : most;
}

static hn_status check_digest(const hn_adapter *a, const hn_adapter_use *use, const char *key,
                              const char *what, const char *found, hn_adapter_trial *told)
{
    hn_span want;
    HN_TRY(hn_meta_string(hn_gguf_meta(a->file), key, &want));
    if (!want.data || is_text(want, found))
        return HN_OK;
    HN_REQUIRE(use->is_forced, HN_ERR_ARGUMENT,
               "trained with another %s: %s is %.*s, and here it is %s%s", what, key,
               digits_of(want, 64), (const char *)want.data, found[0] ? found : "none",
               use->may_be_forced ? ": --force takes it all the same" : "");
    const size_t used = strlen(told->overridden);
    snprintf(told->overridden + used, sizeof told->overridden - used, "%s%s is %.*s..., and here it is "
             "%.16s...", used ? "; " : "", key, digits_of(want, 16),
             (const char *)want.data, found[0] ? found : "none");
    return HN_OK;
}

/* Version 2 is sealed; of version 1 only the self-test tells whether it was altered. */
static hn_status check_version(const hn_adapter *a, int64_t *version, hn_adapter_trial *told)
{
    const hn_meta *meta = hn_gguf_meta(a->file);
    const hn_map_file *map = hn_gguf_map(a->file, 0);
    hn_span seal;
    HN_TRY(hn_meta_int(meta, HN_ADAPTER_VERSION, 1, version));
    HN_REQUIRE(*version == 1 || *version == 2, HN_ERR_UNSUPPORTED,
               "%s is %lld: this hone knows 1 and 2", HN_ADAPTER_VERSION, (long long)*version);
    if (*version == 1) {
        snprintf(told->note, sizeof told->note, "of version 1: its base is told by a sample of each "
                 "tensor, and the file by its self-test alone");
        return HN_OK;
    }
    HN_TRY(hn_meta_want_string(meta, HN_ADAPTER_SEAL, &seal));
    HN_REQUIRE(seal.bytes == 64, HN_ERR_FORMAT, "key " HN_ADAPTER_SEAL ": expected 64 digits");
    return hn_seal_check(map->data, map->bytes, seal.data);
}

hn_status hn_adapter_set_version(hn_meta *keys)
{
    HN_TRY(hn_meta_set_int(keys, HN_ADAPTER_VERSION, HN_META_U32, 2));
    return hn_meta_set_text(keys, HN_ADAPTER_SEAL, HN_SEAL_BLANK);
}

static hn_status check_base(const hn_adapter *a, const hn_adapter_use *use, int64_t version,
                            bool *is_other, hn_adapter_trial *told)
{
    hn_span want;
    uint8_t digest[32];
    char text[65];
    HN_TRY(hn_meta_want_string(hn_gguf_meta(a->file), HN_ADAPTER_BASE, &want));
    if (version == 1) {
        HN_TRY(hn_model_fingerprint(a->model, digest));
        hn_sha256_text(digest, text);
    } else {
        HN_TRY(hn_model_identity(a->model, text));
    }
    *is_other = !is_text(want, text);
    if (!*is_other)
        return HN_OK;
    HN_REQUIRE(use->is_forced, HN_ERR_ARGUMENT,
               "trained on another base: %.*s, and %s is %s (types of weights count)",
               digits_of(want, 64), (const char *)want.data, hn_model_path(a->model), text);
    snprintf(told->overridden, sizeof told->overridden, "the base: trained on %.*s..., this is %.16s...",
             digits_of(want, 16), (const char *)want.data, text);
    return HN_OK;
}

/* A directory and the GGUF made of it have one tokenizer, and differ in what stands for ids without a token. */
static hn_status take_other_form(const hn_adapter *a, const hn_tokenizer *tok, hn_span want, char own[65])
{
    const int64_t rows[] = { 0, hn_model_hparams(a->model)->n_vocab };
    char other[65];
    HN_TRY(hn_tokenizer_digest(tok, own));
    for (size_t i = 0; i < sizeof rows / sizeof *rows && !is_text(want, own); i++) {
        HN_TRY(hn_tokenizer_digest_padded(tok, rows[i], other));
        if (is_text(want, other))
            memcpy(own, other, sizeof other);
    }
    return HN_OK;
}

static hn_status check_tokenizer(const hn_adapter *a, const hn_adapter_use *use, hn_adapter_trial *told)
{
    char own[65] = "";
    hn_span want;
    hn_tokenizer *tok;
    HN_TRY(hn_meta_string(hn_gguf_meta(a->file), HN_ADAPTER_TOKENIZER, &want));
    if (use->tokenizer && is_text(want, use->tokenizer))
        return HN_OK;
    HN_TRY(hn_open_tokenizer(a->heap, hn_model_path(a->model), &tok));
    const hn_status status = take_other_form(a, tok, want, own);
    hn_tokenizer_free(tok);
    HN_TRY(status);
    return check_digest(a, use, HN_ADAPTER_TOKENIZER, "tokenizer", own, told);
}

static hn_status check_template(const hn_adapter *a, const hn_adapter_use *use, hn_adapter_trial *told)
{
    static const char carried[] = "the adapter's";
    char own[65] = "";
    hn_span text;
    const hn_meta *meta = hn_gguf_meta(a->file);
    if (use->renders_nothing || !hn_meta_find(meta, HN_ADAPTER_TEMPLATE))
        return HN_OK;
    HN_TRY(hn_meta_string(meta, HN_ADAPTER_TEMPLATE_TEXT, &text));
    if (!use->template) {
        hn_chat_input in = { .heap = a->heap };
        hn_status status = hn_chat_input_open(&in, hn_model_path(a->model));
        if (status == HN_OK && text.data)
            status = hn_chat_format_add(in.chat, carried, text.data, text.bytes);
        if (status == HN_OK)
            hn_chat_format_digest(in.chat, text.data ? carried : NULL, own);
        hn_chat_input_close(&in);
        HN_TRY(status);
    }
    return check_digest(a, use, HN_ADAPTER_TEMPLATE, "chat template", use->template ? use->template : own,
                        told);
}

static hn_status hold(hn_adapter *a, const hn_adapter_use *use, hn_adapter_trial *told)
{
    const hn_meta *meta = hn_gguf_meta(a->file);
    bool is_other = false;
    int64_t version;
    if (!has_contract(meta))
        return hn_adapter_check_known(meta);
    HN_TRY(check_whole(meta));
    HN_TRY(hn_adapter_check_known(meta));
    HN_TRY(check_version(a, &version, told));
    const hn_work_part first = hn_work_part_begin(0, 0.5);
    HN_TRY(hn_work_part_end(&first, check_base(a, use, version, &is_other, told)));
    const hn_work_part second = hn_work_part_begin(0.5, 0.6);
    HN_TRY(hn_work_part_end(&second, check_tokenizer(a, use, told)));
    HN_TRY(check_template(a, use, told));
    if (is_other)
        return HN_OK; /* over another base there is nothing to compare */
    const hn_work_part third = hn_work_part_begin(0.6, 1);
    return hn_work_part_end(&third, hn_adapter_test_run(a->heap, a->model, use->run, a, use->as_trained, told));
}

hn_status hn_adapter_open(hn_adapter **out, hn_heap *heap, const char *path,
                          const hn_adapter_use *use, hn_adapter_trial *told_or_null)
{
    hn_adapter_trial own;
    hn_adapter_trial *told = told_or_null ? told_or_null : &own;
    hn_adapter *a;
    *out = NULL;
    *told = (hn_adapter_trial){ 0 };
    const hn_work_part first = hn_work_part_begin(0, 0.1);
    hn_status status = hn_work_part_end(&first, hn_adapter_read(&a, heap, use->model, path));
    const hn_work_part second = hn_work_part_begin(0.1, 1);
    if (status == HN_OK)
        status = hold(a, use, told);
    hn_work_part_end(&second, status);
    if (status != HN_OK) {
        hn_adapter_close(a);
        return strstr(hn_error_message(), path) ? status : hn_fail_within(status, "adapter %s: ", path);
    }
    if (use->scale > 0 || use->scale < 0)
        hn_adapter_rescale(a, use->scale);
    *out = a;
    return HN_OK;
}

/* ---- a file, for those who copy it ---- */

hn_status hn_adapter_template(hn_heap *heap, const char *model, const hn_template_choice *template,
                              char text[65])
{
    const char *which;
    hn_chat_input in = { .heap = heap };
    hn_status status = hn_chat_input_open(&in, model);
    if (status == HN_OK)
        status = hn_chat_input_choose(&in, template, &which);
    if (status == HN_OK)
        hn_chat_format_digest(in.chat, which, text);
    hn_chat_input_close(&in);
    return status;
}

static hn_status try_file(hn_heap *heap, const char *path, const hn_ignored *ignored, const char *base,
                          const hn_template_choice *template, int n_threads)
{
    char own[65];
    const bool is_chosen = template->file || template->name;
    const hn_device_options open = { .n_threads = n_threads };
    hn_device *devices[HN_MAX_DEVICES];
    int n_devices = 0;
    hn_adapter *adapter = NULL;
    hn_model *model;
    if (is_chosen)
        HN_TRY(hn_adapter_template(heap, base, template, own));
    HN_TRY(hn_model_open(heap, base, ignored, &model));
    hn_status status = hn_devices_open(heap, "cpu", &open, &n_devices, devices);
    if (status == HN_OK) {
        const hn_adapter_use use = { .model = model, .run = hn_run_on(devices), .as_trained = true,
                                     .template = is_chosen ? own : NULL };
        status = hn_adapter_open(&adapter, heap, path, &use, NULL);
    }
    hn_adapter_close(adapter);
    hn_devices_close(n_devices, devices);
    hn_model_close(model);
    return status;
}

/* What was told of a template would change nothing. */
static hn_status check_wanted(const hn_meta *meta, const hn_template_choice *template)
{
    const bool is_chosen = template && (template->file || template->name);
    HN_REQUIRE(!is_chosen || hn_meta_find(meta, HN_ADAPTER_TEMPLATE), HN_ERR_ARGUMENT,
               "--template%s %s: the adapter says nothing of a template that it was trained with",
               template->file ? "" : "-name", template->file ? template->file : template->name);
    return HN_OK;
}

hn_status hn_adapter_file_open(hn_gguf **out, hn_heap *heap, const char *path,
                               const hn_ignored *ignored, const char *base, bool fits_base,
                               const hn_template_choice *template, int n_threads)
{
    static const hn_template_choice none = { NULL, NULL };
    hn_gguf *file;
    *out = NULL;
    HN_TRY(hn_gguf_open(heap, path, &file));
    const bool is_held = has_contract(hn_gguf_meta(file));
    hn_status status = check_wanted(hn_gguf_meta(file), template);
    if (status == HN_OK && !is_held)
        status = hn_adapter_check_known(hn_gguf_meta(file));
    if (status == HN_OK && is_held && !base)
        status = hn_fail(HN_ERR_ARGUMENT, "expected --base MODEL: hone holds it to its self-test there");
    if (status == HN_OK && base && (is_held || fits_base))
        status = try_file(heap, path, ignored, base, template ? template : &none, n_threads);
    if (status != HN_OK) {
        hn_gguf_close(file);
        return strstr(hn_error_message(), path) ? status : hn_fail_within(status, "adapter %s: ", path);
    }
    *out = file;
    return HN_OK;
}

/* ---- several ---- */

static const nn_lora *find_pair(const void *self, const nn_weight *base)
{
    const hn_adapter *a = self;
    for (int i = 0; i < a->n_pairs; i++)
        if (a->pairs[i].base == base)
            return &a->pairs[i].lora;
    return NULL;
}

static const nn_weight *find_whole(const void *self, const char *name)
{
    const hn_adapters *all = self;
    for (int k = 0; k < all->n; k++)
        for (int i = 0; i < all->at[k]->n_wholes; i++)
            if (!strcmp(all->at[k]->wholes[i]->name, name))
                return all->at[k]->wholes[i];
    return NULL;
}

hn_status hn_adapters_add(hn_adapters *all, hn_adapter *adapter)
{
    HN_REQUIRE(all->n < HN_MAX_ADAPTERS, HN_ERR_ARGUMENT, "more than %d adapters", HN_MAX_ADAPTERS);
    for (int i = 0; i < adapter->n_wholes; i++)
        HN_REQUIRE(!find_whole(all, adapter->wholes[i]->name), HN_ERR_ARGUMENT,
                   "two adapters replace %s", adapter->wholes[i]->name);
    all->nodes[all->n] = (nn_adapter){ adapter, find_pair };
    all->at[all->n++] = adapter;
    return HN_OK;
}

hn_status hn_adapters_template(const hn_adapters *all, hn_span *out)
{
    hn_span first = { 0 }, one;
    *out = (hn_span){ 0 };
    for (int i = 0; i < all->n; i++) {
        const hn_meta *meta = hn_gguf_meta(all->at[i]->file);
        HN_TRY(hn_meta_string(meta, HN_ADAPTER_TEMPLATE, &one));
        if (!one.data)
            continue; /* trained on texts as they are, or by others */
        HN_REQUIRE(!first.data || (first.bytes == one.bytes && !memcmp(first.data, one.data, one.bytes)),
                   HN_ERR_ARGUMENT, "adapters that were trained with several chat templates: %.*s and "
                   "%.*s: --template or --template-name says which", digits_of(first, 64), (const char *)first.data,
                   digits_of(one, 64), (const char *)one.data);
        first = one;
        HN_TRY(hn_meta_string(meta, HN_ADAPTER_TEMPLATE_TEXT, &one));
        if (one.data)
            *out = one;
    }
    return HN_OK;
}

void hn_adapters_close(hn_adapters *all)
{
    for (int i = 0; i < all->n; i++)
        hn_adapter_close(all->at[i]);
    *all = (hn_adapters){ 0 };
}

static void add_weight(hn_sha256 *sha, const nn_weight *w)
{
    if (w)
        hn_sha256_add(sha, w->data, hn_type_bytes(&w->type));
}

void hn_adapter_digest(const hn_adapter *adapter, hn_sha256 *sha)
{
    const hn_adapter_pair *pair;
    const nn_weight *whole;
    for (int i = 0; (pair = hn_adapter_pair_at(adapter, i)); i++) {
        hn_sha256_add(sha, pair->base->name, strlen(pair->base->name) + 1);
        hn_sha256_add(sha, &pair->lora.scale, sizeof pair->lora.scale);
        add_weight(sha, pair->lora.a);
        add_weight(sha, pair->lora.b);
        add_weight(sha, pair->lora.magnitude);
    }
    for (int i = 0; (whole = hn_adapter_whole_at(adapter, i)); i++) {
        hn_sha256_add(sha, whole->name, strlen(whole->name) + 1);
        add_weight(sha, whole);
    }
}

void hn_adapters_apply(const hn_adapters *all, nn_build_options *options)
{
    if (!all || !all->n)
        return;
    options->instead = (nn_weights){ all, find_whole };
    options->adapters = all->nodes;
    options->n_adapters = all->n;
}
