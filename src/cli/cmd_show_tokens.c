/* hone show-tokens: what will be trained, token by token, and what is wrong with the data. */
#include "base/utf8.h"
#include "base/os/terminal.h"
#include "cli/data_report.h"
#include "cli/machine_options.h"

#include <inttypes.h>

typedef struct show_args {
    hn_settings settings;
    int64_t examples, index;
    bool json;
} show_args;

static const hn_option options[] = {
    HN_GROUP("how examples become tokens"),
    HN_SETTINGS(show_args, settings, hn_examples_setting),
    HN_INT(show_args, examples, "examples", "N", 0, INT32_MAX, "how many to show (3)"),
    HN_INT(show_args, index, "index", "I", 0, INT64_MAX, "show this one alone, from 0"),
    HN_FLAG(show_args, json, "json", "for programs: an object a line, the last the summary"),
    HN_OPTION_END,
};

static const show_args defaults = { .examples = 3, .index = -1 };

/* In one line, and nothing that a terminal obeys. */
static void print_text(const char *text, size_t bytes, FILE *out)
{
    for (size_t at = 0; at < bytes;) {
        const size_t n = hn_utf8_length(text + at, bytes - at);
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

static void print_sequence(const hn_examples *examples, size_t k, FILE *out)
{
    const bool colours = hn_os_is_terminal(out);
    const hn_examples_sequence *s = hn_examples_get_sequence(examples, k);
    for (size_t t = 0; t < s->n; t++) {
        const bool is_supervised = s->weights[t] > 0;
        size_t bytes;
        const char *text = hn_examples_get_token(examples, k, t, &bytes);
        if (colours)
            fputs(is_supervised ? "\033[32m" : "\033[2m", out);
        fprintf(out, "%c %-9s %7d  ", is_supervised ? '+' : '.',
                hn_examples_role_name((hn_examples_role)s->roles[t]), s->ids[t]);
        print_text(text, bytes, out);
        if (is_supervised && (s->weights[t] < 1 || s->weights[t] > 1))
            fprintf(out, "  x%g", (double)s->weights[t]);
        fputs(colours ? "\033[0m\n" : "\n", out);
    }
}

static void print_example(const hn_examples *examples, const hn_examples_place *place, FILE *out)
{
    for (size_t k = 0; k < place->n_sequences; k++) {
        const hn_examples_sequence *s = hn_examples_get_sequence(examples, k);
        fprintf(out, "# %s line %" PRIu64 "%s: %zu tokens, %zu supervised", place->path, place->line,
                place->n_sequences == 1 ? ""
                : k                     ? ", rejected"
                                        : ", chosen",
                s->n, s->n_supervised);
        if (s->n_cut)
            fprintf(out, ", %zu cut", s->n_cut);
        if (s->n_straddling)
            fprintf(out, ", %zu across a border", s->n_straddling);
        fputc('\n', out);
        print_sequence(examples, k, out);
        fputc('\n', out);
    }
}

static void add_text(hn_json_writer *json, hn_str *scratch, const char *text, size_t bytes)
{
    hn_str_clear(scratch);
    for (size_t i = 0; i < bytes; i++)
        hn_str_add_bytes(scratch, text[i] ? &text[i] : "\xef\xbf\xbd", text[i] ? 1 : 3);
    hn_json_add_string(json, scratch->text);
}

static void write_sequence(const hn_examples *examples, size_t k, hn_str *scratch, hn_json_writer *json)
{
    const hn_examples_sequence *s = hn_examples_get_sequence(examples, k);
    hn_json_begin_object(json);
    hn_json_key(json, "text");
    add_text(json, scratch, s->text, s->bytes);
    hn_json_key(json, "tokens");
    hn_json_begin_array(json);
    for (size_t t = 0; t < s->n; t++) {
        size_t bytes;
        const char *text = hn_examples_get_token(examples, k, t, &bytes);
        hn_json_begin_object(json);
        hn_json_key(json, "id");
        hn_json_add_int(json, s->ids[t]);
        hn_json_key(json, "text");
        add_text(json, scratch, text, bytes);
        hn_json_key(json, "role");
        hn_json_add_string(json, hn_examples_role_name((hn_examples_role)s->roles[t]));
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

static hn_status write_example(const hn_examples *examples, const hn_examples_place *place, hn_heap *heap, FILE *out)
{
    hn_str text = hn_str_on(heap), scratch = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    hn_json_key(&json, "file");
    hn_json_add_string(&json, place->path);
    hn_json_key(&json, "line");
    hn_json_add_int(&json, (int64_t)place->line);
    hn_json_key(&json, "sequences");
    hn_json_begin_array(&json);
    for (size_t k = 0; k < place->n_sequences; k++)
        write_sequence(examples, k, &scratch, &json);
    hn_json_end_array(&json);
    hn_json_end_object(&json);
    hn_status status = hn_str_status(&scratch);
    if (status == HN_OK)
        status = print_line(&text, out);
    hn_str_free(&text);
    hn_str_free(&scratch);
    return status;
}

static hn_status show_examples(hn_examples *examples, const show_args *args, hn_heap *heap, FILE *out)
{
    const uint64_t all = hn_examples_count(examples);
    const uint64_t from = args->index < 0 ? 0 : (uint64_t)args->index;
    uint64_t n = args->index < 0 ? (uint64_t)args->examples : 1;
    if (args->index < 0 && n > all)
        n = all;
    for (uint64_t i = from; i < from + n; i++) {
        hn_examples_place place;
        HN_TRY(hn_examples_read(examples, i, &place, sizeof place));
        if (args->json)
            HN_TRY(write_example(examples, &place, heap, out));
        else
            print_example(examples, &place, out);
    }
    return HN_OK;
}

static hn_status show_summary(hn_engine *engine, hn_examples *examples, const show_args *args, hn_heap *heap, FILE *out)
{
    const hn_status verdict = hn_data_check(engine, examples, args->json ? NULL : out);
    if (!args->json || !hn_examples_get_sum(examples))
        return verdict;
    hn_str text = hn_str_on(heap);
    hn_json_writer json = hn_json_write_to(&text);
    hn_json_begin_object(&json);
    hn_json_key(&json, "preflight");
    hn_data_write(examples, &json);
    hn_json_end_object(&json);
    const hn_status status = print_line(&text, out);
    hn_str_free(&text);
    return status == HN_OK ? verdict : status;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const show_args *args = parsed;
    const hn_machine_args machine = { .threads = 1 };
    hn_heap heap;
    hn_list files = { .n = n_operands - 1 };
    hn_engine *engine;
    hn_examples *examples = NULL;
    hn_heap_init(&heap, NULL);
    for (int i = 0; i < files.n; i++)
        files.at[i] = operands[1 + i];
    HN_TRY(hn_machine_engine(&machine, &engine));
    hn_status status = hn_examples_told(&examples, engine, operands[0], &files, &args->settings, NULL);
    if (status == HN_OK)
        status = hn_examples_want_chats(examples, &args->settings);
    if (status == HN_OK)
        status = show_examples(examples, args, &heap, out);
    if (status == HN_OK)
        status = show_summary(engine, examples, args, &heap, out);
    hn_examples_close(examples);
    hn_machine_engine_free(engine);
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
