/* hone parity: a model against what Transformers computed of it, layer by layer. */
#include "base/json.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/machine_options.h"
#include "infer/parity.h"

typedef struct parity_args {
    hn_machine_args machine;
    bool json;
    hn_list ignore;
} parity_args;

static const hn_option options[] = {
    HN_MACHINE_OPTIONS(parity_args, "f32 or bf16; default, and what it must be: the reference's"),
    HN_FLAG(parity_args, json, "json", "for programs"),
    HN_IGNORE_OPTION(parity_args),
    HN_OPTION_END,
};

static void add(hn_json_writer *json, const char *key, double value)
{
    hn_json_key(json, key);
    hn_json_add_double(json, value);
}

static void add_distance(hn_json_writer *json, const char *key, const hn_logit_distance *d)
{
    hn_json_key(json, key);
    hn_json_begin_object(json);
    add(json, "nmse", d->nmse);
    add(json, "largest", d->largest);
    add(json, "kl", d->kl);
    add(json, "agreement", d->agreement);
    hn_json_end_object(json);
}

/* The reference's own distance from one library's products to another's. */
static const double *own_of(const hn_parity *p, const hn_reference *ref, int64_t part)
{
    const bool has_own = p->numerics == HN_NUMERICS_BF16 && ref->other_layers && part > 0;
    return has_own ? &ref->other_layers[part - 1] : NULL;
}

static void add_part(hn_json_writer *json, const hn_parity *p, const hn_reference *ref, int64_t i)
{
    const hn_parity_part *part = &p->parts[i];
    char room[32];
    hn_json_begin_object(json);
    hn_json_key(json, "part");
    hn_json_add_string(json, hn_parity_part_name(p, i, room));
    add(json, "nmse", part->nmse);
    add(json, "largest", part->largest);
    if (p->numerics == HN_NUMERICS_BF16) {
        add(json, "f32_rounded_nmse", part->rounded);
        if (own_of(p, ref, i))
            add(json, "reference_own_nmse", *own_of(p, ref, i));
        hn_json_key(json, "tokens_left_out");
        hn_json_add_int(json, part->n_close);
    }
    add(json, "bound", part->bound);
    hn_json_key(json, "other_experts");
    hn_json_add_int(json, part->n_other);
    hn_json_key(json, "is_beyond");
    hn_json_add_bool(json, part->is_beyond);
    hn_json_end_object(json);
}

static hn_status print_json(const hn_parity *p, const hn_reference *ref, hn_heap *heap, FILE *out)
{
    hn_str text = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    hn_json_key(&json, "numerics");
    hn_json_add_string(&json, hn_numerics_name(p->numerics));
    hn_json_key(&json, "reference");
    hn_json_add_string(&json, ref->about);
    hn_json_key(&json, "tokens");
    hn_json_add_int(&json, ref->n_tokens);
    hn_json_key(&json, "parts");
    hn_json_begin_array(&json);
    for (int64_t i = 0; i < p->n_layer + 2; i++)
        add_part(&json, p, ref, i);
    hn_json_end_array(&json);
    add_distance(&json, "logits", &p->logits);
    if (ref->has_other)
        add_distance(&json, "reference_with_other_products", &ref->other);
    hn_json_end_object(&json);
    const hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        fprintf(out, "%s\n", text.text);
    hn_str_free(&text);
    return status;
}

static void print_distance(const char *what, const hn_logit_distance *d, FILE *out)
{
    fprintf(out, "%s: NMSE %.3g, largest error %.3g, KL %.3g, the likeliest agrees in %.2f %%\n", what,
            d->nmse, d->largest, d->kl, 100 * d->agreement);
}

static void print_text(const hn_parity *p, const hn_reference *ref, FILE *out)
{
    const bool is_bf16 = p->numerics == HN_NUMERICS_BF16;
    fprintf(out, "%lld tokens in %s against %s\n", (long long)ref->n_tokens,
            hn_numerics_name(p->numerics), ref->about);
    fprintf(out, "%-10s %10s %10s %s%10s\n", "", "NMSE", "largest",
            is_bf16 ? "       own    rounded " : "", "bound");
    for (int64_t i = 0; i < p->n_layer + 2; i++) {
        const hn_parity_part *part = &p->parts[i];
        char room[32];
        fprintf(out, "%-10s %10.3g %10.3g ", hn_parity_part_name(p, i, room), part->nmse,
                part->largest);
        if (is_bf16 && own_of(p, ref, i))
            fprintf(out, "%10.3g ", *own_of(p, ref, i));
        else if (is_bf16)
            fprintf(out, "%10s ", "-");
        if (is_bf16)
            fprintf(out, "%10.3g ", part->rounded);
        fprintf(out, "%10.3g%s", part->bound, part->is_beyond ? "  BEYOND" : "");
        if (part->n_close)
            fprintf(out, "  %lld tokens left out", (long long)part->n_close);
        if (part->n_other)
            fprintf(out, "  %lld tokens with other experts", (long long)part->n_other);
        fputc('\n', out);
    }
    print_distance(is_bf16 ? "logits, end to end" : "logits", &p->logits, out);
    if (is_bf16 && ref->has_other)
        print_distance("the reference's own", &ref->other, out);
    if (is_bf16 && ref->has_other)
        fprintf(out, "(own: between two runs of the reference, one with %s products)\n",
                ref->other_name);
}

static hn_status compare(const parity_args *args, hn_heap *heap, const hn_model *model,
                         const hn_reference *ref, FILE *out)
{
    hn_machine machine;
    hn_parity result;
    HN_TRY(hn_machine_open(&machine, heap, &args->machine));
    hn_status status = hn_parity_run(&result, heap, model, machine.run, ref);
    hn_machine_close(&machine);
    HN_TRY(status);
    if (args->json)
        status = print_json(&result, ref, heap, out);
    else
        print_text(&result, ref, out);
    if (status == HN_OK)
        status = hn_parity_judge(&result);
    hn_parity_free(&result);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const parity_args *args = parsed;
    hn_heap heap;
    hn_model *model;
    hn_numerics asked;
    hn_reference ref = { 0 };
    HN_TRY(hn_numerics_parse(args->machine.numerics, &asked));
    hn_heap_init(&heap, NULL);
    const hn_ignored ignored = hn_ignored_of(&args->ignore);
    HN_TRY(hn_model_open(&heap, operands[0], &ignored, &model));
    hn_status status = hn_reference_read(&ref, &heap, operands[1], hn_model_hparams(model));
    if (status == HN_OK && args->machine.numerics && asked != ref.numerics)
        status = hn_fail(HN_ERR_ARGUMENT, "--numerics %s: %s is a run in %s", args->machine.numerics,
                         operands[1], hn_numerics_name(ref.numerics));
    if (status == HN_OK)
        status = compare(args, &heap, model, &ref, out);
    hn_reference_free(&ref);
    hn_model_close(model);
    return status;
}

const hn_command hn_cmd_parity = {
    .name = "parity",
    .operands = "MODEL REFERENCE.safetensors",
    .summary = "hold a model to what Transformers computed, layer by layer",
    .details = "REFERENCE is what tools/reference/parity_dump.py wrote. Exit status 1 if any layer\n"
               "is beyond its bound: docs/parity.md.\n",
    .example = "parity Qwen3-0.6B reference.safetensors",
    .options = options,
    .args_size = sizeof(parity_args),
    .min_operands = 2,
    .max_operands = 2,
    .run = run,
};
