/* record.h: an example of any format as one of three things: messages, a text of a prompt and
 * what follows it, or tokens. A preference pair is two of them that begin alike.
 *
 * Reading translates: roles of ShareGPT, sections of Alpaca, parts of content (joined texts;
 * images are refused by name), tool calls written as text. `weight` is taken out of messages,
 * since no template is to see it. */
#ifndef HN_DATA_RECORD_H
#define HN_DATA_RECORD_H

#include "base/file.h"
#include "data/format.h"
#include "data/tree.h"

typedef struct hn_record_part {
    const hn_json *messages;    /* an array; NULL: a text */
    const hn_json *tools;       /* or NULL */
    size_t n_prompt;            /* messages that are given, never trained */
    hn_span prompt, completion; /* of a text; prompt may be empty */
    const hn_json *ids;         /* tokens as they are, an array; NULL: none of these */
    const hn_json *id_weights;  /* of each; NULL: none were given */
} hn_record_part;

typedef struct hn_record {
    hn_heap *heap;
    hn_tree tree;
    hn_str text;    /* put together, of a text */
    float *weights; /* one a message of part[0]; NAN: none was given */
    size_t n_weights, room;
    bool has_weights;
    hn_record_part part[2];
    int n_parts;  /* 2: chosen and rejected */
    float weight; /* of the example; 1 */
    int label;    /* of an unpaired preference: 1, or -1 where it is not wanted; 0: none */
} hn_record;

typedef struct hn_record_options {
    bool plain;      /* the model has no chat template, or it is not wanted */
    bool text_calls; /* the template wants the arguments of tool calls as text */
    bool is_forced;  /* the format was asked for: keys of another were decided against */
    const char *const *ignored; /* keys whose words nobody is to read */
    int n_ignored;
} hn_record_options;

hn_record hn_record_on(hn_heap *heap); /* allocates nothing */
void hn_record_free(hn_record *record);

/* Reads an example of this format into `record`, whose memory is used again. The example must
 * outlive it. On failure the caller says where. */
hn_status hn_record_read(hn_record *record, const hn_json *example, hn_data_format format,
                         const hn_record_options *options);
/* For the readers of formats. `what` begins the message of a model without a template. */
struct hn_asked;
hn_status hn_record_want_template(const hn_record_options *options, const char *what);
/* A part of a prompt and what follows it, lists of messages; the prompt may be NULL. */
hn_status hn_record_set_lists(hn_record *record, hn_record_part *part, hn_span system,
                              const hn_json *prompt, const hn_json *completion,
                              const hn_record_options *options);
/* The same of two texts, or of two lists. `key` is the name of the second. */
hn_status hn_record_set_either(hn_record *record, hn_record_part *part,
                               const struct hn_asked *asked, const hn_json *rest,
                               const char *key, const hn_record_options *options);
/* A text as it stands. */
void hn_record_set_text(hn_record *record, const char *text, size_t bytes);

#endif
