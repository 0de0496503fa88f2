/* hone tokenize: show how a model's tokenizer splits a text. */
#include "base/str.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "models/open_tokenizer.h"

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

static hn_status read_stdin(hn_str *text)
{
    char part[4000];
    for (size_t n; (n = fread(part, 1, sizeof part, stdin)) > 0;) {
        HN_REQUIRE(text->length < MOST_BYTES, HN_ERR_ARGUMENT, "standard input: over %d bytes",
                   MOST_BYTES);
        hn_str_add_bytes(text, part, n);
    }
    return hn_str_status(text);
}

static hn_status read_text(hn_heap *heap, const tokenize_args *args, const char *operand,
                           hn_str *text)
{
    HN_REQUIRE(!operand || !args->file, HN_ERR_ARGUMENT, "expected TEXT or --file, found both");
    if (operand)
        hn_str_add(text, operand);
    else if (!args->file)
        return read_stdin(text);
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
static void print_piece(hn_span piece, FILE *out)
{
    const char *text = piece.data;
    for (size_t at = 0; at < piece.bytes;) {
        const size_t n = hn_utf8_length(text + at, piece.bytes - at);
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

static void print_tokens(const hn_tokenizer *tok, const hn_encoding *encoding, bool ids,
                         FILE *out)
{
    for (size_t i = 0; i < encoding->n; i++) {
        const int id = encoding->ids[i];
        if (ids) {
            fprintf(out, i ? " %d" : "%d", id);
            continue;
        }
        fprintf(out, "%d\t", id);
        print_piece(hn_tokenizer_piece(tok, id), out);
        fputc('\n', out);
    }
    if (ids)
        fputc('\n', out);
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    const tokenize_args *args = parsed;
    const hn_encode_options o = { .add_bos = args->bos ? HN_BY_MODEL : HN_NO,
                                  .add_eos = args->bos ? HN_BY_MODEL : HN_NO,
                                  .parse_special = args->special };
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    hn_str text = hn_str_on(&heap);
    hn_tokenizer *tok = NULL;
    hn_encoding encoding = { 0 };
    hn_status status = hn_open_tokenizer(&heap, operands[0], &tok);
    if (status == HN_OK)
        status = read_text(&heap, args, n_operands > 1 ? operands[1] : NULL, &text);
    if (status == HN_OK)
        status = hn_tokenizer_encode(tok, text.text, text.length, &o, &encoding);
    if (status == HN_OK)
        print_tokens(tok, &encoding, args->ids, out);
    hn_encoding_free(&encoding);
    hn_tokenizer_free(tok);
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
