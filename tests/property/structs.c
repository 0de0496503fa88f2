/* Structs of a caller's that was compiled against an older or a newer hone: of every one of structs.def, through the functions
 * that take it, every size up to its own, sizes of newer ones, and what is no size. And by a list in which every one
 * has grown field after field: what an older caller has behind its struct is not looked at. Of those that come in lists, that
 * one lies as far behind another as its caller says, and that all say the same. */
#include "base/os/files.h"
#include "base/os/folders.h"
#include "engine/structs.h"
#include "hone/hone.h"
#include "tests/property/struct_sizes.h"
#include "tests/harness/check.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 16384, FAR = 4096 };

static hn_engine *engine;
static hn_lm *lm, *other; /* on which a batch is */
static hn_lm_batch *of_other;
static const int32_t ids[] = { 5, 6, 7 };
static _Alignas(16) unsigned char bytes[ROOM];

/* ---- the functions that take them; most fail, for another reason ---- */

static hn_status make_engine(const void *o)
{
    hn_engine *made = NULL;
    const hn_status status = hn_engine_new(&made, o);
    hn_engine_free(made);
    return status;
}

static hn_status make_trainer(const void *o)
{
    hn_builder *b;
    hn_trainer *trainer = NULL;
    hn_status status = hn_builder_new(&b, engine);
    if (status == HN_OK) {
        hn_node *w = hn_builder_leaf(b, "weight", "w", "f32", 1, (int64_t[]){ 4 });
        status = hn_trainer_new(&trainer, b, hn_builder_op(b, "neg", NULL, 1, &w), 1, &w, o);
    }
    hn_trainer_free(trainer);
    hn_builder_free(b);
    return status;
}

static hn_status plan_finetune(const void *o)
{
    hn_finetune_estimate estimate;
    return hn_finetune_plan(engine, o, &estimate, sizeof estimate);
}

static hn_status run_finetune(const void *o)
{
    static hn_finetune_result result;
    return hn_finetune(engine, o, &result, sizeof result);
}

static hn_status open_model(const void *o)
{
    hn_lm *opened = NULL;
    const hn_status status = hn_lm_open_words(&opened, engine, hn_lm_builtin(), o);
    hn_lm_close(opened);
    return status;
}

static hn_status make_session(const void *o)
{
    hn_lm_session *session = NULL;
    const hn_status status = hn_lm_session_new(&session, lm, o);
    hn_lm_session_free(session);
    return status;
}

static hn_status make_drafting(const void *o)
{
    hn_lm_session *session = NULL;
    const hn_status status = hn_lm_session_new_drafting(&session, lm, NULL, o);
    hn_lm_session_free(session);
    return status;
}

static hn_status make_drafter(const void *o)
{
    hn_lm_drafter *drafter = NULL;
    const hn_status status = hn_lm_drafter_new(&drafter, lm, o, 0);
    hn_lm_drafter_free(drafter);
    return status;
}

static hn_status measure_session(const void *o)
{
    hn_lm_sizes sizes;
    return hn_lm_measure(lm, o, &sizes, sizeof sizes);
}

static hn_status make_plan(const void *o)
{
    hn_lm_plan *plan = NULL;
    const hn_status status = hn_lm_plan_new(&plan, lm, o);
    hn_lm_plan_free(plan);
    return status;
}

static hn_status make_batch(const void *o)
{
    hn_lm_batch *batch = NULL;
    const hn_status status = hn_lm_batch_new(&batch, lm, o);
    hn_lm_batch_free(batch);
    return status;
}

static hn_status make_scheduler(const void *o)
{
    hn_lm_scheduler *scheduler = NULL;
    const hn_status status = hn_lm_scheduler_new(&scheduler, of_other, o);
    hn_lm_scheduler_free(scheduler);
    return status;
}

static hn_status open_disk(const void *o)
{
    hn_lm_disk *disk = NULL;
    const hn_status status = hn_lm_disk_open(&disk, engine, "structs-blocks", o);
    hn_lm_disk_close(disk);
    hn_os_remove("structs-blocks/lock");
    hn_os_folder_remove("structs-blocks");
    return status;
}

static hn_status ask_scheduler(const void *o)
{
    hn_lm_scheduler *scheduler = NULL;
    int64_t number;
    hn_status status = hn_lm_scheduler_new(&scheduler, of_other, NULL);
    if (status == HN_OK)
        status = hn_lm_scheduler_ask(scheduler, o, &number);
    hn_lm_scheduler_free(scheduler);
    return status;
}

static hn_status make_sampler(const void *o)
{
    hn_lm_sampler *sampler = NULL;
    const hn_status status = hn_lm_sampler_new(&sampler, lm, o);
    hn_lm_sampler_free(sampler);
    return status;
}

static hn_status default_sampling(const void *o)
{
    static _Alignas(16) unsigned char room[ROOM];
    size_t size;
    memcpy(&size, o, sizeof size);
    return hn_lm_sampling_default((hn_lm_sampling *)room, size);
}

/* ---- in lists ---- */

static hn_status apply_attributes(const void *list, int32_t n)
{
    hn_builder *b;
    hn_status status = hn_builder_new(&b, engine);
    if (status == HN_OK) {
        hn_node *x = hn_builder_leaf(b, "input", "x", "f32", 1, (int64_t[]){ 4 });
        hn_builder_apply(b, "scale", n, list, 1, &x);
        status = hn_builder_status(b);
    }
    hn_builder_free(b);
    return status;
}

static hn_status step_pieces(const void *list, int32_t n)
{
    const hn_status status = hn_lm_batch_step(of_other, list, (size_t)n);
    const int64_t needs = hn_lm_batch_needs(of_other, list, (size_t)n);
    CHECK((needs == INT64_MAX) == (strstr(hn_error_message(), "size is") != NULL));
    return status;
}

static hn_status sample_biased(const void *list, int32_t n)
{
    hn_lm_sampler *sampler = NULL;
    const hn_lm_sampling o = { .size = sizeof o, .bias = list, .n_bias = n };
    const hn_status status = hn_lm_sampler_new(&sampler, lm, &o);
    hn_lm_sampler_free(sampler);
    return status;
}

static hn_status apply_attribute(const void *o) { return apply_attributes(o, 1); }
static hn_status step_piece(const void *o) { return step_pieces(o, 1); }
static hn_status sample_bias(const void *o) { return sample_biased(o, 1); }

/* ---- */

static hn_status make_chat(const void *o)
{
    hn_lm_chat *chat = NULL;
    const hn_status status = hn_lm_chat_new(&chat, lm, o);
    hn_lm_chat_free(chat);
    return status;
}

static hn_status make_embedder(const void *o)
{
    hn_lm_embedder *embedder = NULL;
    const hn_status status = hn_lm_embedder_new(&embedder, lm, o);
    hn_lm_embedder_free(embedder);
    return status;
}

static hn_status add_adapter(const void *o)
{
    return hn_lm_add_adapter(lm, "nowhere.gguf", o);
}

static hn_status render(const void *o)
{
    size_t n;
    return hn_lm_render(lm, "[]", o, NULL, 0, &n);
}

static hn_status render_ids(const void *o)
{
    size_t n;
    return hn_lm_render_ids(lm, "[]", o, NULL, 0, &n);
}

static hn_status make_reader(const void *o)
{
    hn_lm_reader *reader = NULL;
    const hn_status status = hn_lm_reader_new(&reader, lm, o);
    hn_lm_reader_free(reader);
    return status;
}

static hn_status make_rules(const void *o)
{
    size_t n;
    return hn_lm_answer_rules(lm, o, NULL, 0, &n);
}

static hn_status render_template(const void *o)
{
    const hn_lm_rendered *rendered;
    hn_lm_template *template = NULL;
    hn_status status = hn_lm_template_open(&template, engine, hn_lm_builtin(), NULL, NULL);
    if (status == HN_OK)
        status = hn_lm_template_render(template, "[]", o, &rendered);
    hn_lm_template_free(template);
    return status;
}

static hn_status encode(const void *o)
{
    size_t n;
    return hn_lm_encode_by(lm, "a", 1, o, NULL, 0, &n);
}

static hn_status make_grammar(const void *o)
{
    hn_lm_grammar *made = NULL;
    const hn_status status = hn_lm_grammar_new(&made, engine, HN_LM_REGEX, "a", 1, o);
    hn_lm_grammar_free(made);
    return status;
}

static hn_status perplexity(const void *o)
{
    hn_lm_perplexity found;
    return hn_lm_perplexity_of(lm, ids, 3, o, &found, sizeof found);
}

static hn_status logits(const void *o)
{
    return hn_lm_logits_of(lm, ids, 3, o, NULL, 0);
}

static hn_status imatrix(const void *o)
{
    return hn_lm_write_imatrix(lm, ids, 3, "nowhere/x", o);
}

static hn_status convert(const void *o)
{
    return hn_lm_convert(engine, "nowhere", "nowhere/x", o);
}

static hn_status quantize(const void *o)
{
    return hn_lm_quantize(engine, "nowhere", "nowhere/x", "q8_0", o);
}

static hn_status make_model(const void *o)
{
    return hn_lm_make(engine, "nothing", "nowhere/x", o);
}

static hn_status make_tokenizer(const void *o)
{
    int64_t n;
    return hn_lm_make_tokenizer(engine, (const char *[]){ "nowhere" }, 1, "nowhere/x", o, &n);
}

static hn_status import_adapter(const void *o)
{
    return hn_lm_import_adapter(engine, "nowhere", "nowhere", "nowhere/x", o);
}

static hn_status export_peft(const void *o)
{
    return hn_lm_export_peft(engine, "nowhere", "nowhere/x", o);
}

static hn_status export_gguf(const void *o)
{
    return hn_lm_export_gguf(engine, "nowhere", "nowhere/x", o);
}

static hn_status merge(const void *o)
{
    hn_lm_merge_report *report;
    return hn_lm_merge(engine, "nowhere", "nowhere", "nowhere/x", o, &report);
}

/* ---- examples ---- */

static hn_examples *made; /* nothing of them may be trained, so that all that takes them ends soon */

static hn_status open_examples(const void *o)
{
    hn_examples *e = NULL;
    const hn_status status = hn_examples_open(&e, engine, o);
    hn_examples_close(e);
    return status;
}

static hn_status judge_examples(const void *o)
{
    hn_examples_judgement found;
    return hn_examples_judge(made, o, &found, sizeof found, NULL, 0);
}

static hn_status differentiate(const void *o)
{
    hn_examples_gradients found;
    return hn_examples_differentiate(made, o, &found, sizeof found);
}

static hn_status prove_examples(const void *o)
{
    hn_certificate *found = NULL;
    const hn_status status = hn_examples_prove(made, o, &found);
    hn_certificate_free(found);
    return status;
}

/* Of an engine on which nothing runs: a proof would take minutes. */
static hn_status prove_build(const void *o)
{
    hn_certificate *found = NULL;
    hn_engine_cancel(engine);
    const hn_status status = hn_engine_prove(engine, o, &found);
    hn_engine_resume(engine);
    hn_certificate_free(found);
    return status;
}

static hn_status make_run(const void *o)
{
    hn_finetune_run *run = NULL;
    const hn_status status = hn_finetune_run_new(&run, made, o);
    hn_finetune_run_free(run);
    return status;
}

static const struct {
    const char *name;
    hn_status (*take)(const void *);
} takers[] = {
    { "hn_examples_spec", open_examples },
    { "hn_examples_judge_options", judge_examples },
    { "hn_examples_prove_options", prove_examples },
    { "hn_engine_prove_options", prove_build },
    { "hn_examples_gradients_options", differentiate },
    { "hn_finetune_run_options", make_run },
    { "hn_engine_options", make_engine },
    { "hn_trainer_options", make_trainer },
    { "hn_finetune_spec", plan_finetune },
    { "hn_finetune_spec", run_finetune },
    { "hn_lm_options", open_model },
    { "hn_lm_session_options", make_session },
    { "hn_lm_draft_options", make_drafting },
    { "hn_lm_draft_options", make_drafter },
    { "hn_lm_session_options", measure_session },
    { "hn_lm_plan_options", make_plan },
    { "hn_lm_batch_options", make_batch },
    { "hn_lm_scheduler_options", make_scheduler },
    { "hn_lm_disk_options", open_disk },
    { "hn_lm_request", ask_scheduler },
    { "hn_lm_sampling", make_sampler },
    { "hn_lm_sampling", default_sampling },
    { "hn_attribute", apply_attribute },
    { "hn_lm_batch_piece", step_piece },
    { "hn_lm_bias", sample_bias },
    { "hn_lm_chat_options", make_chat },
    { "hn_lm_embed_options", make_embedder },
    { "hn_lm_adapter_options", add_adapter },
    { "hn_lm_render_options", render },
    { "hn_lm_render_options", render_ids },
    { "hn_lm_reader_options", make_reader },
    { "hn_lm_rules_options", make_rules },
    { "hn_lm_render_options", render_template },
    { "hn_lm_encode_options", encode },
    { "hn_lm_grammar_options", make_grammar },
    { "hn_lm_perplexity_options", perplexity },
    { "hn_lm_logits_options", logits },
    { "hn_lm_imatrix_options", imatrix },
    { "hn_lm_convert_options", convert },
    { "hn_lm_quantize_options", quantize },
    { "hn_lm_make_options", make_model },
    { "hn_lm_tokenizer_options", make_tokenizer },
    { "hn_lm_import_options", import_adapter },
    { "hn_lm_export_options", export_peft },
    { "hn_lm_export_options", export_gguf },
    { "hn_lm_merge_options", merge },
};

enum { N_TAKERS = sizeof takers / sizeof *takers };

/* ---- every size ---- */

/* Whether its size was what it was refused for. */
static bool is_refused(int i, size_t size)
{
    char words[96];
    memcpy(bytes, &size, sizeof size);
    snprintf(words, sizeof words, "%s.size is %zu: ", takers[i].name, size);
    const hn_status status = takers[i].take(bytes);
    return status == HN_ERR_ARGUMENT && !strncmp(hn_error_message(), words, strlen(words));
}

static void check_sizes(int i)
{
    const size_t own = newest(takers[i].name);
    static const size_t no_sizes[] = { SIZE_MAX, SIZE_MAX - 7, (size_t)1 << 40, 0x7ffe12345678 };
    int wrong = 0;
    check_group(takers[i].name);
    memset(bytes, 0, sizeof bytes);
    for (size_t size = 0; size < own; size++)
        wrong += is_refused(i, size) == is_listed(takers[i].name, size);
    CHECK_INT(0, wrong);
    CHECK(!is_refused(i, own));
    CHECK(!is_refused(i, own + 8)); /* newer, and says nothing new */
    CHECK(!is_refused(i, own + FAR));
    CHECK(is_refused(i, own + FAR + 8));
    for (size_t odd = 1; odd < 8; odd++)
        CHECK(is_refused(i, own + odd));
    for (size_t k = 0; k < sizeof no_sizes / sizeof *no_sizes; k++)
        CHECK(is_refused(i, no_sizes[k]));
    for (size_t at = own; at < own + 64 && takers[i].take != default_sampling; at++) { /* which writes */
        bytes[at] = 1;
        CHECK_THAT(is_refused(i, own + 64), "byte %zu", at);
        CHECK_THAT(!is_refused(i, at / 8 * 8), "before byte %zu", at);
        bytes[at] = 0;
    }
}

/* Of two elements the second is wrong, so that it must have been found: as far behind the first as that says. */
static void check_lists(void)
{
    const hn_attribute good_attribute = { .name = "a", .kind = HN_ATTRIBUTE_NUMBER, .number = 2 }, bad_attribute = { .name = "zz" };
    const hn_lm_batch_piece good_piece = { .ids = ids, .n = 1 }, bad_piece = { .n = 1 };
    const hn_lm_bias good_bias = { .id = 5, .bias = 1 }, bad_bias = { .id = 1 << 30, .bias = 1 };
    const struct {
        const char *name;
        hn_status (*take)(const void *, int32_t);
        const void *good, *bad;
        const char *told;
    } lists[] = { { "hn_attribute", apply_attributes, &good_attribute, &bad_attribute, "zz" },
                  { "hn_lm_batch_piece", step_pieces, &good_piece, &bad_piece, "piece 1: expected ids" },
                  { "hn_lm_bias", sample_biased, &good_bias, &bad_bias, "1073741824" } };
    check_group("lists");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (size_t own = newest(lists[i].name), each = own; each <= own + 64; each += 8) {
            const size_t more = each + 8;
            char words[96];
            memset(bytes, 0, sizeof bytes);
            memcpy(bytes, lists[i].good, own);
            memcpy(bytes + each, lists[i].bad, own);
            memcpy(bytes, &each, sizeof each);
            memcpy(bytes + each, &each, sizeof each);
            CHECK_FAILS(lists[i].take(bytes, 2), HN_ERR_ARGUMENT, lists[i].told);
            memcpy(bytes + each, &more, sizeof more);
            snprintf(words, sizeof words, "%s 1 of a list: its size is %zu: expected %zu", lists[i].name, more, each);
            CHECK_FAILS(lists[i].take(bytes, 2), HN_ERR_ARGUMENT, words);
        }
}

/* ---- as if each had grown ---- */

static void check_grown(const hn_struct_size *s)
{
    for (size_t old = 16; old < s->size; old += 8) {
        const hn_struct_size list[] = { { s->name, old }, { s->name, s->size }, { NULL, 0 } };
        static _Alignas(16) unsigned char out[ROOM];
        size_t size, wrong = 0;
        memset(bytes, 0xa5, sizeof bytes); /* older callers have anything behind it */
        memcpy(bytes, &old, sizeof old);
        memset(out, 1, sizeof out);
        if (!CHECK_OK(hn_take_struct_by(list, s->name, bytes, s->size, out)))
            return;
        memcpy(&size, out, sizeof size);
        for (size_t i = sizeof size; i < ROOM; i++)
            wrong += out[i] != (i < old ? 0xa5 : i < s->size ? 0 : 1);
        CHECK_THAT(size == s->size && !wrong, "%s of %zu: %zu wrong, size %zu", s->name, old, wrong, size);
        CHECK(hn_take_struct_by(list + 1, s->name, bytes, s->size, out) == HN_ERR_ARGUMENT);
    }
}

/* Every one that a caller fills is taken by a function here, and each is longer each time: what is added lies in no old padding. */
static void check_list(void)
{
    static const char *const filled[] = {
#define HN_STRUCT(type, last) #type,
#define HN_RESULT(type, last)
#include "engine/structs.def"
#undef HN_RESULT
#undef HN_STRUCT
    };
    check_group("the list");
    for (size_t f = 0; f < sizeof filled / sizeof *filled; f++) {
        int i = 0;
        while (i < N_TAKERS && strcmp(takers[i].name, filled[f]))
            i++;
        CHECK_THAT(i < N_TAKERS, "%s: no function here takes it", filled[f]);
    }
    for (const hn_struct_size *s = hn_struct_sizes; s->name; s++) {
        CHECK_THAT(s->size % sizeof(size_t) == 0, "%s: of %zu bytes: no size that can grow", s->name, s->size);
        for (const hn_struct_size *later = s + 1; later->name; later++)
            CHECK_THAT(strcmp(s->name, later->name) || later->size > s->size, "%s: %zu after %zu", s->name, later->size,
                       s->size);
    }
}

static void check_takers(void)
{
    static const char path[] = "structs-hollow.jsonl", hollow[] = "{\"prompt\": \"Who?\", \"completion\": \"\"}\n";
    const char *const data[] = { path };
    const hn_examples_spec spec = { .size = sizeof spec, .model = hn_lm_builtin(), .data = data, .n_data = 1 };
    FILE *f = fopen(path, "w");
    if (CHECK(f && fputs(hollow, f) >= 0 && !fclose(f)) && CHECK_OK(hn_examples_open(&made, engine, &spec)) &&
        CHECK(hn_examples_check(made) == HN_ERR_ARGUMENT))
        for (int i = 0; i < N_TAKERS; i++)
            check_sizes(i);
    check_lists();
    remove(path);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_list();
    check_group("as if each had grown");
    for (const hn_struct_size *s = hn_struct_sizes; s->name; s++)
        check_grown(s);
    if (CHECK_OK(hn_engine_new(&engine, NULL)) && CHECK_OK(hn_lm_open(&lm, engine, hn_lm_builtin(), NULL)) &&
        CHECK_OK(hn_lm_open(&other, engine, hn_lm_builtin(), NULL)) && CHECK_OK(hn_lm_batch_new(&of_other, other, NULL)))
        check_takers();
    hn_examples_close(made);
    hn_lm_batch_free(of_other);
    hn_lm_close(other);
    hn_lm_close(lm);
    hn_engine_free(engine);
    return check_close();
}
