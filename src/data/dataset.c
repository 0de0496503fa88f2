/* Opening finds where each example lies and reads none; whatever is said of one later names its file and line.
 * Files of pairs, of labelled answers and of others are not mixed: no goal takes two of these. */
#include "data/dataset.h"

#include "base/utf8.h"
#include "base/work.h"

#include <math.h>

static bool is_pair(const hn_data_source *s)
{
    return s->format == HN_DATA_PREFERENCE || s->format == HN_DATA_PREFERRED;
}

static bool is_labelled(const hn_data_source *s)
{
    return s->format == HN_DATA_LABELLED;
}

static hn_status open_file(hn_dataset *d, const hn_data_file *file)
{
    hn_dataset_file *to = &d->files[d->n_files];
    const hn_data_source_options options = { .format = file->format };
    HN_REQUIRE(file->weight >= 0 && file->weight <= 1e6, HN_ERR_ARGUMENT,
               "%s: weight: expected a number from 0 to a million, found %g", file->path,
               file->weight);
    HN_REQUIRE(!file->is_held || file->weight <= 0, HN_ERR_ARGUMENT,
               "%s: expected no weight, since it is held out and not trained, found %g",
               file->path, file->weight);
    HN_TRY(hn_data_source_open(&to->source, d->heap, file->path, &options));
    d->n_files++;
    to->weight = file->weight > 0 ? file->weight : 1;
    to->is_held = file->is_held;
    to->first = d->n;
    d->n += to->source.n;
    HN_REQUIRE(d->n_files == 1 || (is_pair(&to->source) == d->has_pairs &&
                                   is_labelled(&to->source) == d->has_labels), HN_ERR_FORMAT,
               "%s: expected %s, as in %s, found %s", file->path,
               d->has_pairs ? "preference pairs" : d->has_labels ? "unpaired preferences" : "single examples", d->files[0].source.path,
               hn_data_format_name(to->source.format));
    d->has_pairs = is_pair(&to->source);
    d->has_labels = is_labelled(&to->source);
    return HN_OK;
}

static hn_status open_files(hn_dataset *d, const hn_dataset_options *options)
{
    HN_REQUIRE(options->n_files > 0 && options->n_files <= HN_MAX_DATA_FILES, HN_ERR_ARGUMENT,
               "data files: expected 1 to %d, found %d", HN_MAX_DATA_FILES, options->n_files);
    HN_REQUIRE(options->held_fraction >= 0 && options->held_fraction < 1, HN_ERR_ARGUMENT,
               "held-out fraction: expected 0 or more and less than 1, found %g",
               options->held_fraction);
    for (int i = 0; i < options->n_files; i++) {
        const hn_work_part part = hn_work_part_begin((double)i / options->n_files, (double)(i + 1) / options->n_files);
        HN_TRY(hn_work_part_end(&part, open_file(d, &options->files[i])));
    }
    HN_TRY(hn_example_rule_probe(d->heap, &d->rule));
    d->tokens = hn_alloc_array(d->heap, HN_TAG_FILE, d->n, sizeof *d->tokens);
    d->fates = d->tokens ? hn_alloc_array(d->heap, HN_TAG_FILE, d->n, sizeof *d->fates) : NULL;
    return d->fates ? HN_OK : HN_ERR_MEMORY;
}

hn_status hn_dataset_open(hn_dataset **out, hn_heap *heap, const hn_dataset_options *options)
{
    *out = NULL;
    hn_dataset *d = hn_alloc(heap, HN_TAG_FILE, sizeof *d);
    if (!d)
        return HN_ERR_MEMORY;
    d->heap = heap;
    d->rule = options->rule;
    d->drop_empty = options->drop_empty;
    d->allow_unended = options->allow_unended;
    d->drop_unread = options->drop_unread;
    d->held_fraction = options->held_fraction;
    const hn_status status = open_files(d, options);
    if (status != HN_OK) {
        hn_dataset_close(d);
        return status;
    }
    *out = d;
    return HN_OK;
}

void hn_dataset_close(hn_dataset *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->n_files; i++) {
        hn_free(d->heap, d->files[i].trained);
        hn_data_source_close(&d->files[i].source);
    }
    hn_free(d->heap, d->tokens);
    hn_free(d->heap, d->fates);
    hn_free(d->heap, d->held);
    hn_free(d->heap, d);
}

const hn_dataset_file *hn_dataset_file_of(const hn_dataset *d, uint64_t i)
{
    int k = d->n_files - 1;
    while (k && d->files[k].first > i)
        k--;
    return &d->files[k];
}

hn_status hn_dataset_fail_at(const hn_dataset *d, uint64_t i, hn_status status)
{
    const hn_dataset_file *file = hn_dataset_file_of(d, i);
    return hn_fail_within(status, "%s: line %zu: ", file->source.path,
                          hn_data_source_line(&file->source, (size_t)(i - file->first)));
}

static hn_status check_utf8(hn_span text)
{
    const char *bytes = text.data;
    const size_t whole = hn_utf8_whole(bytes, text.bytes);
    HN_REQUIRE(whole == text.bytes, HN_ERR_FORMAT, "expected text in UTF-8, found byte 0x%02x", (unsigned char)bytes[whole]);
    return HN_OK;
}

hn_status hn_dataset_read(const hn_dataset *d, uint64_t i, hn_example *out)
{
    HN_REQUIRE(i < d->n, HN_ERR_ARGUMENT, "example %llu: expected less than %llu",
               (unsigned long long)i, (unsigned long long)d->n);
    const hn_dataset_file *file = hn_dataset_file_of(d, i);
    const hn_data_source *source = &file->source;
    const size_t at = (size_t)(i - file->first);
    hn_json_text *json = NULL;
    hn_status status = HN_OK;
    if (source->layout == HN_LAYOUT_PARAGRAPHS) {
        const hn_span text = hn_data_source_bytes(source, at);
        status = check_utf8(text);
        hn_record_set_text(&out->record, text.data, text.bytes);
    } else {
        HN_TRY(hn_data_source_read(source, at, &json)); /* names the place itself */
        hn_record_options options = hn_example_rule_records(&d->rule);
        options.is_forced = source->is_forced;
        status = hn_record_read(&out->record, hn_json_root(json), source->format, &options);
    }
    if (status == HN_OK)
        status = hn_example_make(out, &d->rule);
    hn_json_free(json);
    hn_data_source_release(source, at);
    return status == HN_OK || status == HN_ERR_MEMORY ? status
                                                      : hn_dataset_fail_at(d, i, status);
}
