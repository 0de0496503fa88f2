/* hone story: stories of the built-in generator, their exact entropy, questions about them, and
 * a judge of stories that knows nothing of the generator. */
#include "base/out_file.h"
#include "cli/command.h"
#include "cli/story_check.h"
#include "cli/story/teller.h"

#include <math.h>
#include <string.h>

typedef struct story_args {
    const char *check, *against;
    hn_sink out;
    int64_t seed, first, count, need;
    bool entropy, chats;
} story_args;

static const hn_option options[] = {
    HN_INT(story_args, seed, "seed", "N", 0, INT64_MAX, "of the stories (0)"),
    HN_INT(story_args, first, "first", "I", 0, INT64_MAX, "number of the first (0)"),
    HN_INT(story_args, count, "count", "N", 1, 1 << 30, "how many (1)"),
    HN_OUT(story_args, out, "out", "FILE",
            "write them there: .jsonl, or .txt, a story a paragraph"),
    HN_FLAG(story_args, chats, "chats",
            "beginnings of stories, each with a question and its answer, as messages"),
    HN_FLAG(story_args, entropy, "entropy",
            "read every story back, and print the nats of a story instead"),
    HN_TEXT(story_args, check, "check", "FILE", "judge the stories of a file"),
    HN_INT(story_args, need, "need", "N", 0, 1 << 30,
           "with --check: so many must hold together (all)"),
    HN_TEXT(story_args, against, "against", "FILE",
            "with --check: no story may have 20 words in a row of this training text"),
    HN_OPTION_END,
};

static const hn_option_rule rules[] = {
    { "need|against", HN_ONLY_WITH, "check", NULL },
    { "check", HN_NOT_WITH, "seed|first|count|out|chats|entropy", "the stories are the file's" },
    { "entropy", HN_NOT_WITH, "out", "nats are printed, and no story is written" },
    { NULL, 0, NULL, NULL },
};

static const story_args defaults = { .count = 1, .need = -1 };

/* ---- lines ---- */

/* Stories are ASCII; only quotes need care. */
static void add_quoted(hn_str *line, const char *text, size_t n)
{
    hn_str_add_char(line, '"');
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"' || text[i] == '\\')
            hn_str_add_char(line, '\\');
        hn_str_add_char(line, text[i]);
    }
    hn_str_add_char(line, '"');
}

static void add_chat(hn_str *line, const hn_told *told)
{
    const char *bar = memchr(told->text, '|', told->bytes);
    const size_t asked = bar ? (size_t)(bar - told->text) : told->bytes;
    hn_str_add(line, "{\"messages\": [{\"role\": \"user\", \"content\": ");
    add_quoted(line, told->text, asked);
    hn_str_add(line, "}, {\"role\": \"assistant\", \"content\": ");
    if (bar)
        add_quoted(line, bar + 1, told->bytes - asked - 1);
    hn_str_add(line, "}]}\n");
}

static void add_story(hn_str *line, const hn_told *told, const story_args *args, bool is_plain)
{
    if (args->chats) {
        add_chat(line, told);
    } else if (is_plain) {
        hn_str_add_bytes(line, told->text, told->bytes);
        hn_str_add(line, "\n\n");
    } else {
        hn_str_add(line, "{\"text\": ");
        add_quoted(line, told->text, told->bytes);
        hn_str_add(line, "}\n");
    }
}

static bool ends_in(const char *path, const char *ending)
{
    const size_t n = strlen(path), k = strlen(ending);
    return n > k && !strcmp(path + n - k, ending);
}

static hn_status write_stories(hn_teller *teller, const story_args *args, hn_str *line,
                               hn_out_file *file, FILE *out)
{
    const bool is_plain = !args->chats && (!args->out.path || ends_in(args->out.path, ".txt"));
    for (int64_t i = 0; i < args->count; i++) {
        hn_told told;
        HN_TRY(hn_teller_tell(teller, (uint64_t)args->seed, (uint64_t)(args->first + i), &told));
        add_story(line, &told, args, is_plain);
        if (line->length < 1 << 16 && i + 1 < args->count)
            continue;
        HN_TRY(hn_str_status(line));
        if (args->out.path)
            HN_TRY(hn_out_file_write(file, line->text, line->length));
        else
            fwrite(line->text, 1, line->length, out);
        hn_str_clear(line);
    }
    return HN_OK;
}

static hn_status write_all(hn_heap *heap, hn_teller *teller, const story_args *args, FILE *out)
{
    hn_out_file file = { .file = -1 };
    hn_str line = hn_str_on(heap);
    HN_REQUIRE(!args->out.path || ends_in(args->out.path, ".jsonl") ||
                   (!args->chats && ends_in(args->out.path, ".txt")),
               HN_ERR_ARGUMENT, "--out %s: expected a name in %s", args->out.path,
               args->chats ? ".jsonl" : ".jsonl or .txt");
    if (args->out.path)
        HN_TRY(hn_out_file_open(&file, args->out));
    hn_status status = write_stories(teller, args, &line, &file, out);
    if (args->out.path && status == HN_OK)
        status = hn_out_file_commit(&file);
    else if (args->out.path)
        hn_out_file_abandon(&file);
    hn_str_free(&line);
    return status;
}

/* ---- entropy ---- */

static hn_status read_back(hn_teller *reader, const hn_told *told, int64_t i)
{
    hn_readings read;
    HN_TRY(hn_teller_read(reader, told->text, told->bytes, &read));
    HN_REQUIRE(read.n == 1 && read.nats == told->nats, HN_ERR_FORMAT,
               "story %lld: expected one derivation of %.17g nats, found %llu of %.17g",
               (long long)i, told->nats, (unsigned long long)read.n, read.nats);
    return HN_OK;
}

static hn_status print_entropy(hn_teller *teller, hn_teller *reader, const story_args *args,
                               FILE *out)
{
    double sum = 0, squares = 0;
    uint64_t words = 0;
    for (int64_t i = 0; i < args->count; i++) {
        hn_told told;
        HN_TRY(hn_teller_tell(teller, (uint64_t)args->seed, (uint64_t)(args->first + i), &told));
        HN_TRY(read_back(reader, &told, args->first + i));
        sum += told.nats;
        squares += told.nats * told.nats;
        words++;
        for (size_t k = 0; k < told.bytes; k++)
            words += told.text[k] == ' ';
    }
    const double n = (double)args->count, mean = sum / n;
    const double variance = n > 1 ? (squares - n * mean * mean) / (n - 1) : 0;
    fprintf(out,
            "stories     %lld, each with one derivation\n"
            "vocabulary  %u open words\n"
            "nats        %.6f in all\n"
            "a story     %.4f nats (of all stories: within %.4f), %.2f words\n"
            "a word      %.5f nats\n",
            (long long)args->count, (unsigned)hn_teller_words(teller), sum, mean,
            variance > 0 ? 2 * sqrt(variance / n) : 0.0, (double)words / n, sum / (double)words);
    return HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands, (void)operands;
    const story_args *args = parsed;
    HN_REQUIRE(args->check || args->count - 1 <= INT64_MAX - args->first, HN_ERR_ARGUMENT,
               "--first %lld: expected it and --count to end at %lld at most", (long long)args->first, (long long)INT64_MAX);
    const hn_grammar *grammar = args->chats ? &hn_chat_grammar : &hn_story_grammar;
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    if (args->check) {
        const hn_story_check check = { args->check, args->against, args->need };
        return hn_story_check_run(&heap, &check, out);
    }
    hn_teller *teller = NULL, *reader = NULL;
    hn_status status = hn_teller_new(&heap, grammar, &teller);
    if (status == HN_OK)
        status = hn_teller_new(&heap, grammar, &reader);
    if (status == HN_OK)
        status = args->entropy ? print_entropy(teller, reader, args, out)
                               : write_all(&heap, teller, args, out);
    hn_teller_free(reader);
    hn_teller_free(teller);
    return status;
}

const hn_command hn_cmd_story = {
    .name = "story",
    .operands = "",
    .summary = "stories to train on, their exact entropy, and a judge of stories",
    .example = "story --chats --count 100 --out chats.jsonl",
    .options = options,
    .rules = rules,
    .defaults = &defaults,
    .args_size = sizeof(story_args),
    .run = run,
};
