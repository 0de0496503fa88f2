/* model_card.h: what the front matter of a directory's README.md says about the model: the YAML
 * between two lines "---" at its top. Read as llama.cpp's converter reads it. */
#ifndef HN_CONVERT_MODEL_CARD_H
#define HN_CONVERT_MODEL_CARD_H

#include "base/meta.h"
#include "base/yaml.h"
#include "io/hf_dir.h"

/* Without a front matter, or where it is no mapping, out->root is NULL. A front matter that
 * cannot be read is refused: HN_ERR_FORMAT, with the line. */
hn_status hn_model_card_read(const hn_hf_dir *dir, hn_yaml_text *out);

/* The same of the text of a README.md. */
hn_status hn_model_card_parse(const hn_hf_dir *dir, const char *text, size_t bytes,
                              hn_yaml_text *out);

/* The first of these keys with a value, NULL at the end of them; *out stays if there is none.
 * What is no text is refused, by line. */
hn_status hn_model_card_text(const hn_hf_dir *dir, const hn_yaml *card, const char *const *keys,
                             const char **out);

/* Author, description, sources, licence, tags, languages, base models and data sets.
 * `parameters` tells sizes from lengths of contexts in the names of base models. */
hn_status hn_model_card_keys(const hn_hf_dir *dir, const hn_yaml *card, double parameters,
                             hn_meta *meta);

#endif
