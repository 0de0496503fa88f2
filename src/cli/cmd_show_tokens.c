/* hone show-tokens: what will be trained, token by token, and what is wrong with the data. */
#include "base/utf8.h"
#include "base/os/terminal.h"
#include "cli/data_options.h"

#include <inttypes.h>

typedef struct show_args {
    hn_data_args data;
    int64_t examples, index;
    bool json;
} show_args;

static const hn_option options[] = {
    HN_GROUP("how examples become tokens"),
#define HN_DATA(kind, field, option, value, low, high, help)                                    \
    HN_DATA_OPTION_##kind(show_args, data, field, option, value, low, high, help)
#include "train/data_choice.def"
    HN_INT(show_args, examples, "examples", "N", 0, INT32_MAX, "how many to show (3)"),
    HN_INT(show_args, index, "index", "I", 0, INT64_MAX, "show this one alone, from 0"),
    HN_FLAG(show_args, json, "json", "for programs: an object a line, the last the summary"),
    HN_OPTION_END,
};

static const show_args defaults = { .examples = 3, .index = -1 };

/* The text that a token covers; of one that covers none, such as BOS, its piece. */
static hn_span text_of(const hn_tokenizer *tok, const hn_sample *s, size_t t)
{
    if (s->end[t] > s->begin[t])
        return (hn_span){ s->text.text + s->begin[t], s->end[t] - s->begin[t] };
    return hn_tokenizer_piece(tok, s->ids[t]);
}

/* In one line, and nothing that a terminal obeys. */
static void print_text(hn_span piece, FILE *out)
{
    const char *text = piece.data;
    for (size_t at = 0; at < piece.bytes;) {
        const size_t n = hn_utf8_length(text + at, piece.bytes - at);
        const unsigned char c = (unsigned char)text[at];
        const bool is_c1 = n == 2 && c == 0xc2 && (unsigned char)text[at + 1] < 0xa0;
        if (c == '\n')
            fputs("\\n", out);
        else if (c == '\t')
            fputs("\\t", out);
        else if (n == 0 || c < 0x20 || c == 0x7f || is_c1)
            fprintf(out, "\\x%02x", is_c1 ? (unsigned char)text[at + 1] : c);
        else
            fwrite(text + at, 1, n, out);
        at += n ? n : 1;
    }
}

static void print_sample(const hn_tokenizer *tok, const hn_sample *s, FILE *out)
{
    const bool colours = hn_os_is_terminal(out);
    for (size_t t = 0; t < s->n; t++) {
        const bool is_supervised = s->weights[t] > 0;
        if (colours)
            fputs(is_supervised ? "\033[32m" : "\033[2m", out);
        fprintf(out, "%c %-9s %7d  ", is_supervised ? '+' : '.',
                hn_token_role_name((hn_token_role)s->roles[t]), s->ids[t]);
        print_text(text_of(tok, s, t), out);
        if (is_supervised && (s->weights[t] < 1 || s->weights[t] > 1))
            fprintf(out, "  x%g", (double)s->weights[t]);
        fputs(colours ? "\033[0m\n" : "\n", out);
    }
}

static void print_example(const hn_data_input *in, uint64_t i, const hn_example *e, FILE *out)
{
    const hn_dataset_file *file = hn_dataset_file_of(in->dataset, i);
    for (int k = 0; k < e->n_parts; k++) {
        const hn_sample *s = &e->part[k];
        fprintf(out, "# %s line %zu%s: %zu tokens, %zu supervised", file->source.path,
                hn_data_source_line(&file->source, (size_t)(i - file->first)),
                e->n_parts == 1 ? ""
                : k             ? ", rejected"
                                : ", chosen",
                s->n, s->n_supervised);
        if (s->n_cut)
            fprintf(out, ", %zu cut", s->n_cut);
        if (s->n_straddling)
            fprintf(out, ", %zu across a border", s->n_straddling);
        fputc('\n', out);
        print_sample(in->tok, s, out);
        fputc('\n', out);
    }
}

static void add_text(hn_json_writer *json, hn_str *scratch, hn_span text)
{
    hn_str_clear(scratch);
    for (size_t i = 0; i < text.bytes; i++) {
        const char c = ((const char *)text.data)[i];
        hn_str_add_bytes(scratch, c ? &c : "\xef\xbf\xbd", c ? 1 : 3);
    }
    hn_json_add_string(json, scratch->text);
}

static void write_sample(const hn_tokenizer *tok, const hn_sample *s, hn_str *scratch,
                         hn_json_writer *json)
{
    hn_json_begin_object(json);
    hn_json_key(json, "text");
    add_text(json, scratch, (hn_span){ s->text.text, s->text.length });
    hn_json_key(json, "tokens");
    hn_json_begin_array(json);
    for (size_t t = 0; t < s->n; t++) {
        hn_json_begin_object(json);
        hn_json_key(json, "id");
        hn_json_add_int(json, s->ids[t]);
        hn_json_key(json, "text");
        add_text(json, scratch, text_of(tok, s, t));
        hn_json_key(json, "role");
        hn_json_add_string(json, hn_token_role_name((hn_token_role)s->roles[t]));
        hn_json_key(json, "weight");
        hn_json_add_double(json, (double)s->weights[t]);
        hn_json_end_object(json);
    }
    hn_json_end_array(json);
    hn_json_end_object(json);
}

static hn_status print_line(hn_str *text, FILE *out)
{
    HN_TRY(hn_str_status(text));
    fprintf(out, "%s\n", text->text);
    return HN_OK;
}

static hn_status write_example(const hn_data_input *in, uint64_t i, const hn_example *e,
                               FILE *out)
{
    const hn_dataset_file *file = hn_dataset_file_of(in->dataset, i);
    hn_str text = hn_str_on(in->heap), scratch = hn_str_on(in->heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    hn_json_key(&json, "file");
    hn_json_add_string(&json, file->source.path);
    hn_json_key(&json, "line");
    hn_json_add_int(&json,
                    (int64_t)hn_data_source_line(&file->source, (size_t)(i - file->first)));
    hn_json_key(&json, "sequences");
    hn_json_begin_array(&json);
    for (int k = 0; k < e->n_parts; k++)
        write_sample(in->tok, &e->part[k], &scratch, &json);
    hn_json_end_array(&json);
    hn_json_end_object(&json);
    hn_status status = hn_str_status(&scratch);
    if (status == HN_OK)
        status = print_line(&text, out);
    hn_str_free(&text);
    hn_str_free(&scratch);
    return status;
}

static hn_status show_examples(const hn_data_input *in, const show_args *args, FILE *out)
{
    hn_example e = hn_example_on(in->heap);
    const uint64_t all = in->dataset->n;
    const uint64_t from = args->index < 0 ? 0 : (uint64_t)args->index;
    uint64_t n = args->index < 0 ? (uint64_t)args->examples : 1;
    hn_status status = HN_OK;
    if (args->index < 0 && n > all)
        n = all;
    for (uint64_t i = from; i < from + n && status == HN_OK; i++) {
        status = hn_dataset_read(in->dataset, i, &e);
        if (status == HN_OK && args->json)
            status = write_example(in, i, &e, out);
        else if (status == HN_OK)
            print_example(in, i, &e, out);
    }
    hn_example_free(&e);
    return status;
}

static hn_status show_summary(hn_data_input *in, const show_args *args, FILE *out)
{
    hn_preflight report;
    in->dataset->rule.wants_roles = false; /* roles are for showing */
    HN_TRY(hn_data_input_check(in, &report));
    if (args->json) {
        hn_str text = hn_str_on(in->heap);
        hn_json_writer json = hn_json_write_to(&text);
        hn_json_begin_object(&json);
        hn_json_key(&json, "preflight");
        hn_preflight_write(&report, in->dataset, &json);
        hn_json_end_object(&json);
        const hn_status status = print_line(&text, out);
        hn_str_free(&text);
        HN_TRY(status);
    } else {
        hn_preflight_print(&report, in->dataset, out);
    }
    return hn_preflight_verdict(&report, in->dataset);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const show_args *args = parsed;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_data_input in = { .heap = &heap };
    const hn_data_choice choice = hn_data_args_choice(&args->data);
    hn_status status =
        hn_data_input_open(&in, &choice, operands[0], (const char *const *)(operands + 1),
                           n_operands - 1, true);
    if (status == HN_OK)
        status = show_examples(&in, args, out);
    if (status == HN_OK)
        status = show_summary(&in, args, out);
    hn_data_input_close(&in);
    return status;
}

const hn_command hn_cmd_show_tokens = {
    .name = "show-tokens",
    .operands = "MODEL DATA...",
    .summary = "what training would see of a data set, token by token",
    .details =
        "  hone show-tokens m.gguf chats.jsonl                  the first three examples\n"
        "  hone show-tokens m.gguf chats.jsonl --index 41       one of them\n"
        "  hone show-tokens DIR a.jsonl b.txt --max-length 2048 --examples 0\n"
        "MODEL is a GGUF file or a Hugging Face directory; only its tokenizer and chat "
        "template\n"
        "are read. A line a token: '+' if it is supervised, the role of its message, its id, "
        "its\n"
        "text. Then all examples are counted; what training would refuse is refused here.\n",
    .example = "show-tokens m.gguf chats.jsonl",
    .options = options,
    .defaults = &defaults,
    .args_size = sizeof(show_args),
    .min_operands = 2,
    .max_operands = 32,
    .run = run,
};
