/* json_parts.h: tokenizer.json, part by part. Private to this folder. */
#ifndef HN_TEXT_TOKENIZER_JSON_PARTS_H
#define HN_TEXT_TOKENIZER_JSON_PARTS_H

#include "text/tokenizer/parts.h"

typedef struct hn_json_loader {
    hn_tokenizer *tok;
    const char *file;
    const hn_json *root, *config, *generation;
    bool prepends_mark; /* the normaliser or pre-tokeniser does */
    bool has_byte_level;
    hn_span charsmap; /* of Precompiled where it has none itself */
} hn_json_loader;

/* "" if the key is missing or no string. */
const char *hn_json_text_of(const hn_json *value, const char *key);
bool hn_json_flag_of(const hn_json *value, const char *key, bool otherwise);
bool hn_json_has_type(const hn_json *step, const char *type); /* it, or one within */
hn_status hn_json_unknown(const hn_json_loader *l, const char *part, const hn_json *step);

hn_status hn_json_read_model(hn_json_loader *l);
hn_status hn_json_read_normalizer(hn_json_loader *l, const hn_json *step, bool is_last);
hn_status hn_json_read_split(hn_json_loader *l, const hn_json *step, bool is_last);
hn_status hn_json_read_decoder(hn_json_loader *l, const hn_json *step);
hn_status hn_json_read_around(hn_json_loader *l);

/* The text of hone.tokenizer.steps, into tok->steps; none if GGUF cannot hold the maps. */
hn_status hn_unigram_steps_keep(hn_json_loader *l);

#endif
