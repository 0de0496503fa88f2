/* The same numbers told twice: for people, with a picture of lengths, and as JSON. Both ask the library's list of
 * findings, so a new one is in both. */
#include "cli/data_report.h"

#include "cli/progress.h"

#include <inttypes.h>
#include <string.h>

hn_status hn_examples_of_epochs(hn_examples **out, hn_engine *engine, const char *model, const hn_list *files,
                                const hn_settings *told, const char *digests)
{
    hn_heap heap;
    hn_setting_words words;
    hn_heap_init(&heap, NULL);
    hn_status status = hn_setting_words_of(&words, &heap, told, hn_examples_setting, NULL);
    const hn_examples_spec spec = { .size = sizeof spec, .model = model, .data = files->at, .n_data = files->n,
                                    .settings = (const char *const *)words.at, .n_settings = words.n,
                                    .digests = digests };
    if (status == HN_OK)
        status = hn_examples_open(out, engine, &spec);
    hn_setting_words_close(&words);
    return status;
}

static hn_status check_once(const hn_examples *examples)
{
    const hn_examples_file *file;
    for (size_t i = 0; (file = hn_examples_get_file(examples, i)); i++)
        HN_REQUIRE(!(file->weight < 1 || file->weight > 1), HN_ERR_ARGUMENT,
                   "%s: a weight of %g: expected none, for it says how often an epoch of `hone train` has a file",
                   file->path, file->weight);
    return HN_OK;
}

hn_status hn_examples_told(hn_examples **out, hn_engine *engine, const char *model, const hn_list *files,
                           const hn_settings *told, const char *digests)
{
    HN_TRY(hn_examples_of_epochs(out, engine, model, files, told, digests));
    const hn_status status = check_once(*out);
    if (status == HN_OK)
        return HN_OK;
    hn_examples_close(*out);
    *out = NULL;
    return status;
}

hn_status hn_examples_want_chats(const hn_examples *examples, const hn_settings *told)
{
    static const char *const of_chats[] = { "template", "template-name" }, *const plain[] = { "text", "tokens", "paragraphs of text" };
    const hn_examples_file *file;
    bool is_plain = true;
    for (size_t i = 0; is_plain && (file = hn_examples_get_file(examples, i)); i++) {
        is_plain = false;
        for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
            is_plain = is_plain || !strcmp(file->format, plain[k]);
    }
    for (size_t i = 0; is_plain && i < sizeof of_chats / sizeof *of_chats; i++)
        HN_REQUIRE(!hn_settings_value(told, of_chats[i]), HN_ERR_ARGUMENT, "--%s %.200s: expected messages, which it writes, found texts alone",
                   of_chats[i], hn_settings_value(told, of_chats[i]));
    return HN_OK;
}

hn_status hn_data_check(hn_engine *engine, hn_examples *examples, FILE *shows)
{
    hn_progress_of(engine);
    const hn_status status = hn_examples_check(examples);
    hn_progress_end();
    if (shows)
        hn_data_print(examples, shows);
    return status;
}

static void print_histogram(const hn_examples_sum *sum, FILE *out)
{
    uint64_t most = 1;
    for (int i = 0; i < HN_EXAMPLES_BINS; i++)
        most = sum->bins[i] > most ? sum->bins[i] : most;
    fprintf(out, "supervised tokens of a sequence:\n");
    for (int i = 0; i < HN_EXAMPLES_BINS; i++) {
        const uint64_t n = sum->bins[i];
        if (!n)
            continue;
        char range[48];
        if (i < 2)
            snprintf(range, sizeof range, "%d", i);
        else
            snprintf(range, sizeof range, "%lld-%lld", 1LL << (i - 1), (1LL << i) - 1);
        fprintf(out, "  %14s  %8" PRIu64 "  ", range, n);
        for (uint64_t k = 0; k < (n * 40 + most - 1) / most; k++)
            fputc('#', out);
        fputc('\n', out);
    }
}

static void print_found(const hn_examples_found *f, FILE *out)
{
    fprintf(out, "%8" PRIu64 "  %s (first: %s line %" PRIu64, f->n, f->about, f->path, f->line);
    if (f->held_path)
        fprintf(out, ", held out as %s line %" PRIu64, f->held_path, f->held_line);
    fprintf(out, "%s%s)\n", f->what[0] ? ": " : "", f->what);
}

void hn_data_print(const hn_examples *examples, FILE *out)
{
    const hn_examples_sum *sum = hn_examples_get_sum(examples);
    const hn_examples_file *file;
    const hn_examples_found *found;
    if (!sum)
        return;
    for (size_t i = 0; (file = hn_examples_get_file(examples, i)) != NULL; i++)
        fprintf(out, "%s: %s, %" PRIu64 " examples%s, sha256 %.16s...\n", file->path, file->format, file->n,
                file->is_held ? ", held out" : "", file->sha256);
    fprintf(out,
            "%" PRIu64 " examples to train: %" PRIu64 " sequences, %" PRIu64 " tokens, %" PRIu64
            " supervised (%.1f %%), longest %" PRIu64 "\n",
            sum->n_trained, sum->n_sequences, sum->n_tokens, sum->n_supervised,
            sum->n_tokens ? 100.0 * (double)sum->n_supervised / (double)sum->n_tokens : 0.0, sum->longest);
    if (sum->n_held)
        fprintf(out, "%" PRIu64 " examples held out: %" PRIu64 " tokens\n", sum->n_held, sum->n_held_tokens);
    if (sum->n_dropped)
        fprintf(out, "%" PRIu64 " examples dropped\n", sum->n_dropped);
    print_histogram(sum, out);
    for (int i = 0; (found = hn_examples_get_found(examples, (hn_examples_finding)i)) != NULL; i++)
        if (found->n)
            print_found(found, out);
}

static void add_int(hn_json_writer *json, const char *key, uint64_t value)
{
    hn_json_key(json, key);
    hn_json_add_int(json, (int64_t)value);
}

static void write_file(const hn_examples_file *file, hn_json_writer *json)
{
    hn_json_begin_object(json);
    hn_json_key(json, "path");
    hn_json_add_string(json, file->path);
    hn_json_key(json, "format");
    hn_json_add_string(json, file->format);
    add_int(json, "examples", file->n);
    hn_json_key(json, "held");
    hn_json_add_bool(json, file->is_held != 0);
    hn_json_key(json, "sha256");
    hn_json_add_string(json, file->sha256);
    hn_json_end_object(json);
}

static void write_found(const hn_examples_found *found, hn_json_writer *json)
{
    hn_json_key(json, found->name);
    hn_json_begin_object(json);
    add_int(json, "examples", found->n);
    if (found->n) {
        add_int(json, "first_line", found->line);
        hn_json_key(json, "first_file");
        hn_json_add_string(json, found->path);
    }
    hn_json_end_object(json);
}

void hn_data_write(const hn_examples *examples, hn_json_writer *json)
{
    static const hn_examples_sum none = { 0 };
    const hn_examples_sum *counted = hn_examples_get_sum(examples), *sum = counted ? counted : &none;
    const hn_examples_file *file;
    const hn_examples_found *found;
    hn_json_begin_object(json);
    hn_json_key(json, "files");
    hn_json_begin_array(json);
    for (size_t i = 0; (file = hn_examples_get_file(examples, i)) != NULL; i++)
        write_file(file, json);
    hn_json_end_array(json);
    add_int(json, "examples", sum->n_trained);
    add_int(json, "held", sum->n_held);
    add_int(json, "dropped", sum->n_dropped);
    add_int(json, "sequences", sum->n_sequences);
    add_int(json, "tokens", sum->n_tokens);
    add_int(json, "supervised", sum->n_supervised);
    add_int(json, "longest", sum->longest);
    hn_json_key(json, "supervised_bins"); /* 0, 1, 2-3, 4-7 ... */
    hn_json_begin_array(json);
    for (int i = 0; i < HN_EXAMPLES_BINS; i++)
        hn_json_add_int(json, (int64_t)sum->bins[i]);
    hn_json_end_array(json);
    for (int i = 0; (found = hn_examples_get_found(examples, (hn_examples_finding)i)) != NULL; i++)
        write_found(found, json);
    hn_json_end_object(json);
}
