/* dataset.h: files of examples as one list, which of them are trained, held out or dropped, and
 * the tokens of any of them.
 *
 * Opening indexes; hn_preflight_run (data/preflight.h) looks at every example once and fills in
 * lengths and fates, which data/steps.h needs. Nothing else of an example is kept: 25 bytes an
 * example in all. Reading is safe from any thread, each with an hn_example of its own. */
#ifndef HN_DATA_DATASET_H
#define HN_DATA_DATASET_H

#include "data/example.h"
#include "data/source.h"

typedef struct hn_data_file {
    const char *path;
    const char *format; /* NULL: by name and keys; else as hn_data_source_options has it */
    double weight;      /* how often an epoch has each of its examples; 0 means 1. Of a fraction
                         * each epoch has others */
    bool is_held;       /* for evaluation alone; then without a weight */
} hn_data_file;

typedef struct hn_dataset_options {
    const hn_data_file *files;
    int n_files;
    hn_example_rule rule;
    bool drop_empty;    /* leaves out examples without supervised tokens, instead of refusing */
    bool allow_unended; /* trains turns that no end token ends, instead of refusing */
    bool drop_unread;   /* trains without what the template does not write, instead of refusing */
    double held_fraction; /* of the training files, by a hash of the tokens: equal ones go
                           * together */
} hn_dataset_options;

enum { HN_MAX_DATA_FILES = 64 };

typedef enum hn_fate {
    HN_FATE_UNKNOWN,
    HN_FATE_TRAINED,
    HN_FATE_HELD,
    HN_FATE_DROPPED
} hn_fate;

typedef struct hn_dataset_file {
    hn_data_source source;
    double weight;
    bool is_held;
    uint64_t first;     /* its first example, in the list of all */
    uint64_t n_trained; /* known after the scan */
    uint64_t *trained;  /* their numbers; NULL: all of the file's */
} hn_dataset_file;

typedef struct hn_dataset {
    hn_heap *heap;
    hn_example_rule rule;
    bool drop_empty, allow_unended, drop_unread, is_scanned;
    double held_fraction;
    hn_dataset_file files[HN_MAX_DATA_FILES];
    int n_files;
    uint64_t n;       /* examples of all files */
    uint32_t *tokens; /* of each; both of a pair together */
    uint8_t *fates;   /* hn_fate */
    uint64_t *held;   /* numbers of the held-out examples, in file order */
    uint64_t n_held;
    bool has_pairs, has_labels;
} hn_dataset;

/* The paths are copied; tokenizer, chat format (on the same heap) and variables must outlive
 * it. HN_ERR_FORMAT if pairs, labelled and other examples are mixed. */
hn_status hn_dataset_open(hn_dataset **out, hn_heap *heap, const hn_dataset_options *options);
void hn_dataset_close(hn_dataset *dataset); /* takes NULL */

/* Where example i lies. */
const hn_dataset_file *hn_dataset_file_of(const hn_dataset *dataset, uint64_t i);
/* "data.jsonl: line 7: ", before the present message. */
hn_status hn_dataset_fail_at(const hn_dataset *dataset, uint64_t i, hn_status status);

/* The tokens of example i, as it is trained. Whatever is wrong with it is named with its file
 * and line; one that is too long or has no supervision is returned and says so. */
hn_status hn_dataset_read(const hn_dataset *dataset, uint64_t i, hn_example *out);

#endif
