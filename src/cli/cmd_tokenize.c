/* hone tokenize: show how a model's tokenizer splits a text. */
#include "base/file.h"
#include "base/str.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/input_text.h"
#include "cli/open_model.h"

#include <string.h>

typedef struct tokenize_args {
    const char *file;
    bool ids, special, bos;
} tokenize_args;

static const hn_option options[] = {
    HN_TEXT(tokenize_args, file, "file", "FILE", "the text is in this file"),
    HN_FLAG(tokenize_args, ids, "ids", "print ids alone, separated by blanks"),
    HN_FLAG(tokenize_args, special, "special", "read <|special|> tokens in the text as such"),
    HN_FLAG(tokenize_args, bos, "bos", "add what the model puts before and after a text"),
    HN_OPTION_END,
};

enum { MOST_BYTES = 1 << 30 };

static hn_status read_text(hn_heap *heap, const tokenize_args *args, const char *operand,
                           hn_str *text)
{
    HN_REQUIRE(!operand || !args->file, HN_ERR_ARGUMENT, "expected TEXT or --file, found both");
    if (operand)
        hn_str_add(text, operand);
    else if (!args->file)
        return hn_input_text(text, MOST_BYTES);
    if (operand)
        return hn_str_status(text);
    void *data;
    size_t bytes;
    HN_TRY(hn_file_read(heap, args->file, MOST_BYTES, &data, &bytes));
    hn_str_add_bytes(text, data, bytes);
    hn_free(heap, data);
    return hn_str_status(text);
}

/* Control characters and bytes that are no UTF-8 as \xNN, so that a line stays one. */
static void print_piece(const char *text, size_t bytes, FILE *out)
{
    for (size_t at = 0; at < bytes;) {
        const size_t n = hn_utf8_length(text + at, bytes - at);
        const unsigned char c = (unsigned char)text[at];
        if (n == 0 || c < 0x20 || c == 0x7f)
            fprintf(out,
                    c == '\n'   ? "\\n"
                    : c == '\t' ? "\\t"
                    : c == '\r' ? "\\r"
                                : "\\x%02x",
                    c);
        else
            fwrite(text + at, 1, n, out);
        at += n ? n : 1;
    }
}

static hn_status print_tokens(const hn_lm *lm, const hn_ids *ids, bool are_bare, FILE *out)
{
    for (size_t i = 0; i < ids->n; i++) {
        const char *text;
        size_t bytes;
        if (are_bare) {
            fprintf(out, i ? " %d" : "%d", ids->at[i]);
            continue;
        }
        HN_TRY(hn_lm_piece(lm, ids->at[i], &text, &bytes));
        fprintf(out, "%d\t", ids->at[i]);
        print_piece(text, bytes, out);
        fputc('\n', out);
    }
    if (are_bare)
        fputc('\n', out);
    return HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const tokenize_args *args = parsed;
    const hn_lm_encode_options o = { .size = sizeof o, .no_bos = !args->bos, .no_eos = !args->bos,
                                     .special = args->special };
    hn_heap heap;
    hn_opened opened;
    hn_ids ids = { 0 };
    hn_heap_init(&heap, NULL);
    hn_str text = hn_str_on(&heap);
    HN_TRY(hn_opened_open(&opened, HN_OPEN_WORDS, operands[0], &(hn_machine_args){ .threads = 1 }, NULL, NULL));
    hn_status status = read_text(&heap, args, n_operands > 1 ? operands[1] : NULL, &text);
    if (status == HN_OK)
        status = hn_ids_of(opened.lm, &heap, text.text, text.length, &o, &ids);
    if (status == HN_OK)
        status = print_tokens(opened.lm, &ids, args->ids, out);
    hn_free(&heap, ids.at);
    hn_opened_close(&opened);
    hn_str_free(&text);
    return status;
}

const hn_command hn_cmd_tokenize = {
    .name = "tokenize",
    .operands = "MODEL [TEXT]",
    .summary = "show how a model's tokenizer splits a text",
    .details =
        "  hone tokenize model.gguf 'Hello world'        one token a line: id, tab, piece\n"
        "  hone tokenize DIR --ids <text.txt              ids alone\n"
        "MODEL is a GGUF file or a Hugging Face directory. Nothing is added to the text, and "
        "special\n"
        "tokens written in it are plain text, unless asked for.\n",
    .example = "tokenize m.gguf \"a text\"",
    .options = options,
    .args_size = sizeof(tokenize_args),
    .min_operands = 1,
    .max_operands = 2,
    .run = run,
};
