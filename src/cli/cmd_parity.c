/* hone parity: a model against what Transformers computed of it, layer by layer. */
#include "base/json.h"
#include "cli/command.h"
#include "cli/ignore_option.h"
#include "cli/open_model.h"
#include "hone/eval.h"

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

static void add_distance(hn_json_writer *json, const char *key, const hn_lm_distance *d)
{
    hn_json_key(json, key);
    hn_json_begin_object(json);
    hn_json_put_double(json, "nmse", d->nmse);
    hn_json_put_double(json, "largest", d->largest);
    hn_json_put_double(json, "kl", d->kl);
    hn_json_put_double(json, "agreement", d->agreement);
    hn_json_end_object(json);
}

static void add_part(hn_json_writer *json, const hn_lm_parity_part *part, bool is_bf16)
{
    hn_json_begin_object(json);
    hn_json_key(json, "part");
    hn_json_add_string(json, part->name);
    hn_json_put_double(json, "nmse", part->nmse);
    hn_json_put_double(json, "largest", part->largest);
    if (is_bf16) {
        hn_json_put_double(json, "f32_rounded_nmse", part->rounded);
        if (part->has_own)
            hn_json_put_double(json, "reference_own_nmse", part->own);
        hn_json_key(json, "tokens_left_out");
        hn_json_add_int(json, part->n_close);
    }
    hn_json_put_double(json, "bound", part->bound);
    hn_json_key(json, "other_experts");
    hn_json_add_int(json, part->n_other);
    hn_json_key(json, "is_beyond");
    hn_json_add_bool(json, part->is_beyond != 0);
    hn_json_end_object(json);
}

static hn_status print_json(const hn_lm_parity *p, FILE *out)
{
    const hn_lm_parity_sum *sum = hn_lm_parity_get_sum(p);
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_str text = hn_str_on(&heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    hn_json_key(&json, "numerics");
    hn_json_add_string(&json, hn_lm_numerics_name(sum->numerics));
    hn_json_key(&json, "reference");
    hn_json_add_string(&json, sum->about);
    hn_json_key(&json, "tokens");
    hn_json_add_int(&json, sum->n_tokens);
    hn_json_key(&json, "parts");
    hn_json_begin_array(&json);
    for (size_t i = 0; i < sum->n_parts; i++)
        add_part(&json, hn_lm_parity_get_part(p, i), sum->numerics == HN_LM_BF16);
    hn_json_end_array(&json);
    add_distance(&json, "logits", &sum->logits);
    if (sum->other_name)
        add_distance(&json, "reference_with_other_products", &sum->other);
    hn_json_end_object(&json);
    const hn_status status = hn_str_status(&text);
    if (status == HN_OK)
        fprintf(out, "%s\n", text.text);
    hn_str_free(&text);
    return status;
}

static void print_distance(const char *what, const hn_lm_distance *d, FILE *out)
{
    fprintf(out, "%s: NMSE %.3g, largest error %.3g, KL %.3g, the likeliest agrees in %.2f %%\n", what,
            d->nmse, d->largest, d->kl, 100 * d->agreement);
}

static void print_text(const hn_lm_parity *p, FILE *out)
{
    const hn_lm_parity_sum *sum = hn_lm_parity_get_sum(p);
    const bool is_bf16 = sum->numerics == HN_LM_BF16;
    fprintf(out, "%lld tokens in %s against %s\n", (long long)sum->n_tokens, hn_lm_numerics_name(sum->numerics),
            sum->about);
    fprintf(out, "%-10s %10s %10s %s%10s\n", "", "NMSE", "largest",
            is_bf16 ? "       own    rounded " : "", "bound");
    for (size_t i = 0; i < sum->n_parts; i++) {
        const hn_lm_parity_part *part = hn_lm_parity_get_part(p, i);
        fprintf(out, "%-10s %10.3g %10.3g ", part->name, part->nmse, part->largest);
        if (is_bf16 && part->has_own)
            fprintf(out, "%10.3g ", part->own);
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
    print_distance(is_bf16 ? "logits, end to end" : "logits", &sum->logits, out);
    if (is_bf16 && sum->other_name)
        print_distance("the reference's own", &sum->other, out);
    if (is_bf16 && sum->other_name)
        fprintf(out, "(own: between two runs of the reference, one with %s products)\n", sum->other_name);
}

static hn_status compare(const parity_args *args, hn_lm *lm, const char *reference, FILE *out)
{
    hn_lm_numerics asked;
    hn_lm_parity *p;
    hn_status status = HN_OK;
    HN_TRY(hn_machine_numerics(&args->machine, &asked));
    HN_TRY(hn_lm_parity_run(&p, lm, reference, args->machine.numerics ? &asked : NULL));
    if (args->json)
        status = print_json(p, out);
    else
        print_text(p, out);
    if (status == HN_OK)
        status = hn_lm_parity_judge(p);
    hn_lm_parity_free(p);
    return status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands;
    const parity_args *args = parsed;
    hn_opened opened;
    HN_TRY(hn_opened_open(&opened, HN_OPEN_WEIGHTS, operands[0], &args->machine, &args->ignore, NULL));
    const hn_status status = compare(args, opened.lm, operands[1], out);
    hn_opened_close(&opened);
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
