/* template_note.h: which chat template of a model hone uses, for `hone inspect`. */
#ifndef HN_CLI_TEMPLATE_NOTE_H
#define HN_CLI_TEMPLATE_NOTE_H

#include "base/json.h"
#include "hone/files.h"

#include <stdio.h>

void hn_template_note_json(const hn_lm_about *about, hn_json_writer *json);
void hn_template_note_print(const hn_lm_about *about, FILE *out);

#endif
