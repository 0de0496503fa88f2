/* Texts, grammars, plans, evaluation and files: what a call gives is kept here until it is asked for. */
#include "tests/fault/cancelled_files.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char reference[] = HN_SOURCE_DIR "/tests/differential/parity/llama-f32.safetensors";

static hn_lm_grammar *grammar;
static hn_lm_matcher *matcher;
static hn_lm_plan *plan;
static hn_lm_file *file;
static hn_lm_template *template;
static hn_lm_parity *parity;
static hn_lm_merge_report *report;
static hn_array *array;
static hn_examples *examples;
static hn_builder *builder;
static hn_exec *exec;
static size_t n_found;
static hn_lm_sizes sizes;
static hn_lm_perplexity perplexity;
static float logits[CANCELLED_FEW * 8192];

/* A conversation of the long text. */
static const char *long_messages(void)
{
    static char json[CANCELLED_BYTES + 200];
    snprintf(json, sizeof json, "[{\"role\":\"user\",\"content\":\"%s\"}]", at.text);
    return json;
}

/* ---- texts ---- */

static int32_t long_ids[CANCELLED_BYTES + 8];
static char decoded[4 * CANCELLED_BYTES];
static hn_status encode(void) { return hn_lm_encode(at.lm, at.text, CANCELLED_BYTES, HN_LM_PLAIN, long_ids, CANCELLED_BYTES + 8, &n_found); }
static hn_status encode_small(void) { return hn_lm_encode(at.small, at.text, CANCELLED_BYTES, HN_LM_PLAIN, long_ids, CANCELLED_BYTES + 8, &n_found); }

/* One word: what is cut into words looks between them. */
static hn_status encode_word(hn_lm *by)
{
    static char word[CANCELLED_BYTES];
    memset(word, 'a', sizeof word);
    return hn_lm_encode(by, word, sizeof word, HN_LM_PLAIN, long_ids, CANCELLED_BYTES + 8, &n_found);
}

static hn_status encode_word_tiny(void) { return encode_word(at.lm); }
static hn_status encode_word_small(void) { return encode_word(at.small); }
static hn_status encode_word_embeds(void) { return encode_word(at.embeds); }
static hn_status encode_by(void) { return hn_lm_encode_by(at.lm, at.text, CANCELLED_BYTES, NULL, long_ids, CANCELLED_BYTES + 8, &n_found); }
static uint64_t ids_of(void) { return cancelled_hash(long_ids, n_found * sizeof *long_ids); }
static hn_status decode(void) { return hn_lm_decode(at.lm, long_ids, n_found, 0, decoded, sizeof decoded, NULL); }
static hn_status render(void) { return hn_lm_render(at.lm, long_messages(), NULL, decoded, sizeof decoded, NULL); }
static uint64_t decoded_of(void) { return cancelled_hash(decoded, strlen(decoded)); }
static hn_status render_ids(void) { return hn_lm_render_ids(at.lm, long_messages(), NULL, long_ids, CANCELLED_BYTES + 8, &n_found); }
static hn_status template_open(void) { return hn_lm_template_open(&template, at.engine, hn_lm_builtin(), NULL, NULL); }
static const hn_lm_rendered *rendered;
static hn_status template_render(void) { return hn_lm_template_render(template, long_messages(), NULL, &rendered); }
static uint64_t rendered_of(void) { return cancelled_hash(rendered->text, rendered->bytes); }

static void end_template(void)
{
    hn_lm_template_free(template);
    template = NULL;
}

/* ---- grammars ---- */

static hn_status grammar_new(void)
{
    static const char schema[] = "{\"type\":\"array\",\"maxItems\":300,\"items\":{\"type\":\"string\",\"pattern\":\"^[a-z]{1,40}x$\",\"maxLength\":60}}";
    return hn_lm_grammar_new(&grammar, at.engine, HN_LM_JSON_SCHEMA, schema, sizeof schema - 1, NULL);
}

static void end_grammar(void)
{
    hn_lm_matcher_free(matcher);
    hn_lm_grammar_free(grammar);
    matcher = NULL;
    grammar = NULL;
    cancelled_close_opened();
}

static hn_status begin_matcher(void)
{
    const hn_status status = cancelled_open_tiny();
    return status == HN_OK ? hn_lm_grammar_new(&grammar, at.engine, HN_LM_REGEX, "a+b", 3, NULL) : status;
}

static hn_status matcher_new(void) { return hn_lm_matcher_new(&matcher, at.opened, grammar); }

static uint64_t mask_of(void)
{
    hn_lm_mask mask;
    return hn_lm_matcher_mask(matcher, &mask, sizeof mask) == HN_OK ? cancelled_hash(mask.bits, (size_t)mask.words * 8) : 0;
}

/* ---- plans ---- */

static hn_status measure(void) { return hn_lm_measure(at.lm, NULL, &sizes, sizeof sizes); }
static uint64_t sizes_of(void) { return sizes.cache ^ sizes.workspace; }
static hn_status plan_new(void) { return hn_lm_plan_new(&plan, at.lm, NULL); }
static uint64_t plan_of(void) { return (uint64_t)hn_lm_plan_count(plan); }

static void end_plan(void)
{
    hn_lm_plan_free(plan);
    plan = NULL;
}

static hn_node *sum;

static hn_status begin_exec(void)
{
    const int64_t dim = 8;
    const hn_status status = hn_builder_new(&builder, at.engine);
    if (status != HN_OK)
        return status;
    hn_node *x = hn_builder_leaf(builder, "input", "x", "f32", 1, &dim);
    sum = hn_builder_op(builder, "add", NULL, 2, (hn_node *[]){ x, x });
    return hn_builder_status(builder);
}

static hn_status exec_new(void) { return hn_exec_new(&exec, builder, 1, &sum, NULL); }
static uint64_t exec_of(void) { return hn_exec_workspace(exec); }

static void end_exec(void)
{
    hn_exec_free(exec);
    hn_builder_free(builder);
    exec = NULL;
    builder = NULL;
}

/* ---- graphs of one's own: what ends them ends their builder, so that each is built in the call ---- */

static hn_trainer *trainer;
static hn_node *weight, *gradient;
static const float numbers[] = { 1, 2, 0.5f, -1, 0.25f, 1, -2, 1 };
enum { N_NUMBERS = sizeof numbers / sizeof *numbers };

/* Of `weight`. */
static hn_node *build_loss(void)
{
    enum { LAYERS = 10 };
    const int64_t dim = N_NUMBERS;
    if (hn_builder_new(&builder, at.engine) != HN_OK)
        return NULL;
    hn_node *x = weight = hn_builder_leaf(builder, "weight", "w", "f32", 1, &dim);
    for (int i = 0; i < LAYERS; i++)
        x = hn_builder_op(builder, "mul", NULL, 2, (hn_node *[]){ x, weight });
    return hn_builder_op(builder, "sum", NULL, 1, &x);
}

static hn_status ended(hn_status status)
{
    if (status != HN_OK) {
        const hn_status kept = hn_builder_status(builder);
        CHECK(kept == HN_OK || kept == status);
        hn_builder_free(builder);
        builder = NULL;
    }
    return status;
}

static hn_status gradients_call(void)
{
    hn_node *loss = build_loss();
    return loss ? ended(hn_builder_gradients(builder, loss, 1, &weight, 0, &gradient)) : HN_ERR_MEMORY;
}

static hn_status trainer_new(void)
{
    const hn_trainer_options o = { .size = sizeof o };
    hn_node *loss = build_loss();
    return loss ? ended(hn_trainer_new(&trainer, builder, loss, 1, &weight, &o)) : HN_ERR_MEMORY;
}

static uint64_t gradient_of(void)
{
    float found[N_NUMBERS] = { 0 };
    CHECK_OK(hn_exec_new(&exec, builder, 1, &gradient, NULL));
    CHECK_OK(hn_exec_write(exec, weight, numbers, sizeof numbers));
    CHECK_OK(hn_exec_run(exec));
    CHECK_OK(hn_exec_read(exec, 0, found, sizeof found));
    return cancelled_hash(found, sizeof found);
}

static uint64_t step_of(void)
{
    float found[N_NUMBERS] = { 0 };
    CHECK_OK(hn_trainer_write(trainer, weight, numbers, sizeof numbers));
    CHECK_OK(hn_trainer_begin(trainer));
    CHECK_OK(hn_trainer_micro(trainer));
    CHECK_OK(hn_trainer_finish(trainer, 1e-3f, NULL, NULL));
    CHECK_OK(hn_trainer_read(trainer, weight, found, sizeof found));
    return cancelled_hash(found, sizeof found);
}

static void end_trainer(void)
{
    hn_trainer_free(trainer);
    trainer = NULL;
    end_exec();
}

/* ---- evaluation ---- */

static hn_status logits_call(void) { return hn_lm_logits_of(at.lm, at.few, CANCELLED_FEW, NULL, logits, (size_t)(CANCELLED_FEW * hn_lm_vocabulary(at.lm))); }
static uint64_t all_logits(void) { return cancelled_hash(logits, (size_t)(CANCELLED_FEW * hn_lm_vocabulary(at.lm)) * sizeof *logits); }

static hn_status perplexity_call(void)
{
    const hn_lm_perplexity_options o = { .size = sizeof o, .chunk = 64 };
    return hn_lm_perplexity_of(at.lm, at.many, CANCELLED_IDS, &o, &perplexity, sizeof perplexity);
}

static uint64_t perplexity_of(void) { return cancelled_hash(&perplexity.loss.mean, sizeof perplexity.loss.mean); }

static hn_status imatrix(void)
{
    const hn_lm_imatrix_options o = { .size = sizeof o, .chunk = 64, .overwrite = 1 };
    return hn_lm_write_imatrix(at.lm, at.many, CANCELLED_IDS, at.out, &o);
}

static hn_status parity_run(void) { return hn_lm_parity_run(&parity, at.small, reference, NULL); }

static uint64_t parity_of(void)
{
    const hn_lm_parity_sum *s = hn_lm_parity_get_sum(parity);
    return cancelled_hash(&s->logits.nmse, sizeof s->logits.nmse);
}

static void end_parity(void)
{
    hn_lm_parity_free(parity);
    parity = NULL;
}

/* ---- files ---- */

static hn_status file_open(void) { return hn_lm_file_open(&file, at.engine, at.gguf, NULL, 0); }
static uint64_t file_of(void) { return hn_lm_file_about(file)->n_tensors; }

static void end_file(void)
{
    hn_lm_file_close(file);
    file = NULL;
}

static hn_status array_read(void) { return hn_array_read(&array, at.engine, at.array); }

static uint64_t array_of(void)
{
    size_t n;
    const void *bytes = hn_array_data(array, &n);
    return cancelled_hash(bytes, n);
}

static void end_array(void)
{
    hn_array_free(array);
    array = NULL;
}

static uint64_t heard;

static hn_status hear_text(void *context, size_t number_of, const char *text, size_t bytes)
{
    (void)context;
    heard = (number_of ? heard : 0) ^ cancelled_hash(text, bytes);
    return HN_OK;
}

static hn_status texts_each(void) { return hn_texts_each(at.engine, at.texts, hear_text, NULL); }
static uint64_t heard_of(void) { return heard; }

static hn_status make_tokenizer(void)
{
    const char *list[] = { at.texts };
    const hn_lm_tokenizer_options o = { .size = sizeof o, .tokens = 290, .overwrite = 1 };
    return hn_lm_make_tokenizer(at.engine, list, 1, at.out, &o, NULL);
}

static hn_status make_model(void)
{
    const char *settings[] = { "layers=1", "width=64", "heads=2", "ffn=64", "context=64" };
    const hn_lm_make_options o = { .size = sizeof o, .settings = settings, .n_settings = 5, .overwrite = 1 };
    return hn_lm_make(at.engine, "llama", at.out, &o);
}

static hn_status convert(void)
{
    const hn_lm_convert_options o = { .size = sizeof o, .overwrite = 1 };
    return hn_lm_convert(at.engine, cancelled_llama, at.out, &o);
}

static hn_status quantize(void)
{
    const hn_lm_quantize_options o = { .size = sizeof o, .overwrite = 1 };
    return hn_lm_quantize(at.engine, at.gguf, at.out, "q8_0", &o);
}

static hn_status import(void)
{
    const hn_lm_import_options o = { .size = sizeof o, .overwrite = 1 };
    return hn_lm_import_adapter(at.engine, cancelled_peft, cancelled_llama, at.out, &o);
}

static hn_status export_gguf(void)
{
    const hn_lm_export_options o = { .size = sizeof o, .overwrite = 1 };
    return hn_lm_export_gguf(at.engine, at.for_llama, at.out, &o);
}

static hn_status export_peft(void)
{
    const hn_lm_export_options o = { .size = sizeof o, .base = cancelled_llama };
    return hn_lm_export_peft(at.engine, at.for_llama, at.out, &o);
}

static void remove_folder(void)
{
    char path[400];
    static const char *const files[] = { "adapter_config.json", "adapter_model.safetensors", "README.md" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", at.out, files[i]);
        remove(path);
    }
    rmdir(at.out);
}

static hn_status merge(void)
{
    const hn_lm_merge_options o = { .size = sizeof o, .type = "f32", .held = at.texts, .is_forced = 1, .overwrite = 1 };
    return hn_lm_merge(at.engine, at.gguf, at.for_llama, at.out, &o, &report);
}

static void end_merge(void)
{
    hn_lm_merge_report_free(report);
    report = NULL;
}

static hn_status examples_open(void)
{
    const char *list[] = { at.data };
    const hn_examples_spec spec = { .size = sizeof spec, .model = hn_lm_builtin(), .data = list, .n_data = 1 };
    return hn_examples_open(&examples, at.engine, &spec);
}

static uint64_t examples_of(void) { return hn_examples_count(examples); }

static void end_examples(void)
{
    hn_examples_close(examples);
    examples = NULL;
}

/* ---- all ---- */

const cancelled_call cancelled_files[] = {
    { "hn_lm_encode", NULL, encode, ids_of, NULL, .tells = true },
    { "hn_lm_encode", NULL, encode_small, ids_of, NULL, .tells = true },
    { "hn_lm_encode", NULL, encode_word_tiny, ids_of, NULL, .tells = false },
    { "hn_lm_encode", NULL, encode_word_small, ids_of, NULL, .tells = false },
    { "hn_lm_encode", NULL, encode_word_embeds, ids_of, NULL, .tells = false },
    { "hn_lm_encode_by", NULL, encode_by, ids_of, NULL, .tells = true },
    { "hn_lm_decode", encode, decode, decoded_of, NULL, .tells = false },
    { "hn_lm_render", NULL, render, decoded_of, NULL, .tells = false },
    { "hn_lm_render_ids", NULL, render_ids, ids_of, NULL, .tells = true },
    { "hn_lm_template_open", NULL, template_open, NULL, end_template, .tells = false },
    { "hn_lm_template_render", template_open, template_render, rendered_of, end_template, .may_keep = true },
    { "hn_lm_grammar_new", NULL, grammar_new, NULL, end_grammar, .tells = false },
    { "hn_lm_matcher_new", begin_matcher, matcher_new, mask_of, end_grammar, .may_keep = true },
    { "hn_lm_measure", NULL, measure, sizes_of, NULL, .tells = false },
    { "hn_lm_plan_new", NULL, plan_new, plan_of, end_plan, .tells = false },
    { "hn_exec_new", begin_exec, exec_new, exec_of, end_exec, .tells = false },
    { "hn_builder_gradients", NULL, gradients_call, gradient_of, end_exec, .tells = false },
    { "hn_trainer_new", NULL, trainer_new, step_of, end_trainer, .tells = false },
    { "hn_lm_logits_of", NULL, logits_call, all_logits, NULL, .tells = true },
    { "hn_lm_perplexity_of", NULL, perplexity_call, perplexity_of, NULL, .tells = true },
    { "hn_lm_write_imatrix", NULL, imatrix, cancelled_written, NULL, .tells = true, .writes = true },
    { "hn_lm_parity_run", NULL, parity_run, parity_of, end_parity, .tells = false },
    { "hn_lm_file_open", NULL, file_open, file_of, end_file, .tells = false },
    { "hn_array_read", NULL, array_read, array_of, end_array, .tells = false },
    { "hn_texts_each", NULL, texts_each, heard_of, NULL, .tells = true },
    { "hn_lm_make_tokenizer", NULL, make_tokenizer, cancelled_written, NULL, .tells = true, .writes = true },
    { "hn_lm_make", NULL, make_model, cancelled_written, NULL, .tells = true, .writes = true },
    { "hn_lm_convert", NULL, convert, cancelled_written, NULL, .tells = true, .writes = true },
    { "hn_lm_quantize", NULL, quantize, cancelled_written, NULL, .tells = true, .writes = true },
    { "hn_lm_import_adapter", NULL, import, cancelled_written, NULL, .tells = true, .writes = true },
    { "hn_lm_export_gguf", NULL, export_gguf, cancelled_written, NULL, .tells = true, .writes = true },
    { "hn_lm_export_peft", NULL, export_peft, NULL, remove_folder, .tells = true },
    { "hn_lm_merge", NULL, merge, cancelled_written, end_merge, .tells = true, .writes = true },
    { "hn_examples_open", NULL, examples_open, examples_of, end_examples, .tells = true },
};
const size_t n_cancelled_files = sizeof cancelled_files / sizeof *cancelled_files;
