#include "cli/data_options.h"

#include "base/sha256.h"
#include "cli/progress.h"

#include <inttypes.h>

hn_data_choice hn_data_args_choice(const hn_data_args *args)
{
    hn_data_choice choice = args->choice;
#define HN_TAKE_TEXT(field)
#define HN_TAKE_PATH(field)
#define HN_TAKE_INT(field)
#define HN_TAKE_REAL(field)
#define HN_TAKE_FLAG(field)
#define HN_TAKE_LIST(field)  choice.field = args->field.at, choice.n_##field = args->field.n;
#define HN_TAKE_PATHS(field) HN_TAKE_LIST(field)
#define HN_DATA(kind, field, option, value, low, high, help) HN_TAKE_##kind(field)
#include "train/data_choice.def"
    return choice;
}

static bool watch(void *context, uint64_t done, uint64_t all)
{
    return hn_progress(context, (double)done / (double)all, "reading examples");
}

hn_status hn_data_input_check(hn_data_input *in, hn_preflight *out)
{
    hn_progress_begin();
    const hn_status status = hn_preflight_run(in->dataset, out, watch, NULL);
    hn_progress_end();
    return status;
}

/* What is counted, as it is told. */
typedef struct tally {
    const char *key, *text;
    size_t at;
} tally;

#define TALLY(field, text)                                                                     \
    {                                                                                          \
#field, text, offsetof(hn_preflight, field)                                            \
    }
static const tally tallies[] = {
    TALLY(empty, "without a supervised token"),
    TALLY(cut_empty, "of these, cut away by --max-length"),
    TALLY(cut, "cut to --max-length"),
    TALLY(too_long, "longer than may be"),
    TALLY(hollow, "with a supervised turn that says nothing"),
    TALLY(unread, "with words that the template does not write"),
    TALLY(double_bos, "with two BOS"),
    TALLY(lacks_bos, "without BOS"),
    TALLY(unended, "with a supervised turn that no end token ends"),
    TALLY(straddling, "with a token across the border of a supervised turn"),
    TALLY(repeated, "the same as an earlier one"),
    TALLY(repeated_held, "held out, the same as an earlier one"),
    TALLY(shared, "trained and held out as well"),
};
enum { N_TALLIES = sizeof tallies / sizeof *tallies };

static const hn_preflight_count *count_of(const hn_preflight *r, const tally *t)
{
    return (const hn_preflight_count *)(const void *)((const char *)r + t->at);
}

static size_t line_of(const hn_dataset *d, uint64_t example, const char **path)
{
    const hn_dataset_file *file = hn_dataset_file_of(d, example);
    *path = file->source.path;
    return hn_data_source_line(&file->source, (size_t)(example - file->first));
}

static const char *format_of(const hn_data_source *s)
{
    return s->layout == HN_LAYOUT_PARAGRAPHS ? "paragraphs of text"
                                             : hn_data_format_name(s->format);
}

static void print_histogram(const hn_preflight *r, FILE *out)
{
    uint64_t most = 1;
    for (int i = 0; i < HN_PREFLIGHT_BINS; i++)
        most = r->histogram[i] > most ? r->histogram[i] : most;
    fprintf(out, "supervised tokens of a sequence:\n");
    for (int i = 0; i < HN_PREFLIGHT_BINS; i++) {
        const uint64_t n = r->histogram[i];
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

void hn_preflight_print(const hn_preflight *r, const hn_dataset *d, FILE *out)
{
    for (int i = 0; i < d->n_files; i++) {
        const hn_data_source *s = &d->files[i].source;
        char digest[65];
        hn_sha256_text(s->digest, digest);
        fprintf(out, "%s: %s, %zu examples%s, sha256 %.16s...\n", s->path, format_of(s), s->n,
                d->files[i].is_held ? ", held out" : "", digest);
    }
    fprintf(out,
            "%" PRIu64 " examples to train: %" PRIu64 " sequences, %" PRIu64 " tokens, %" PRIu64
            " supervised (%.1f %%), longest %" PRIu64 "\n",
            r->n_examples, r->n_sequences, r->n_tokens, r->n_supervised,
            r->n_tokens ? 100.0 * (double)r->n_supervised / (double)r->n_tokens : 0.0,
            r->longest);
    if (r->n_held)
        fprintf(out, "%" PRIu64 " examples held out: %" PRIu64 " tokens\n", r->n_held,
                r->n_held_tokens);
    if (r->n_dropped)
        fprintf(out, "%" PRIu64 " examples dropped\n", r->n_dropped);
    print_histogram(r, out);
    for (int i = 0; i < N_TALLIES; i++) {
        const hn_preflight_count *c = count_of(r, &tallies[i]);
        const char *path = NULL;
        if (!c->n)
            continue;
        const size_t line = line_of(d, c->first, &path);
        fprintf(out, "%8" PRIu64 "  %s (first: %s line %zu", c->n, tallies[i].text, path, line);
        if (c == &r->shared) {
            const size_t held = line_of(d, r->shared_held, &path);
            fprintf(out, ", held out as %s line %zu", path, held);
        }
        fprintf(out, "%s%s)\n", c == &r->unread ? ": " : "", c == &r->unread ? r->unread_what : "");
    }
}

static void add_int(hn_json_writer *json, const char *key, uint64_t value)
{
    hn_json_key(json, key);
    hn_json_add_int(json, (int64_t)value);
}

static void write_files(const hn_dataset *d, hn_json_writer *json)
{
    hn_json_key(json, "files");
    hn_json_begin_array(json);
    for (int i = 0; i < d->n_files; i++) {
        const hn_data_source *s = &d->files[i].source;
        char digest[65];
        hn_sha256_text(s->digest, digest);
        hn_json_begin_object(json);
        hn_json_key(json, "path");
        hn_json_add_string(json, s->path);
        hn_json_key(json, "format");
        hn_json_add_string(json, format_of(s));
        add_int(json, "examples", s->n);
        hn_json_key(json, "held");
        hn_json_add_bool(json, d->files[i].is_held);
        hn_json_key(json, "sha256");
        hn_json_add_string(json, digest);
        hn_json_end_object(json);
    }
    hn_json_end_array(json);
}

void hn_preflight_write(const hn_preflight *r, const hn_dataset *d, hn_json_writer *json)
{
    hn_json_begin_object(json);
    write_files(d, json);
    add_int(json, "examples", r->n_examples);
    add_int(json, "held", r->n_held);
    add_int(json, "dropped", r->n_dropped);
    add_int(json, "sequences", r->n_sequences);
    add_int(json, "tokens", r->n_tokens);
    add_int(json, "supervised", r->n_supervised);
    add_int(json, "longest", r->longest);
    hn_json_key(json, "supervised_bins"); /* 0, 1, 2-3, 4-7 ... */
    hn_json_begin_array(json);
    for (int i = 0; i < HN_PREFLIGHT_BINS; i++)
        hn_json_add_int(json, (int64_t)r->histogram[i]);
    hn_json_end_array(json);
    for (int i = 0; i < N_TALLIES; i++) {
        const hn_preflight_count *c = count_of(r, &tallies[i]);
        hn_json_key(json, tallies[i].key);
        hn_json_begin_object(json);
        add_int(json, "examples", c->n);
        if (c->n) {
            const char *path = NULL;
            add_int(json, "first_line", line_of(d, c->first, &path));
            hn_json_key(json, "first_file");
            hn_json_add_string(json, path);
        }
        hn_json_end_object(json);
    }
    hn_json_end_object(json);
}
