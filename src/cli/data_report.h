/* data_report.h: examples as a command is given them, and what is told of them. */
#ifndef HN_CLI_DATA_REPORT_H
#define HN_CLI_DATA_REPORT_H

#include "base/json.h"
#include "cli/command.h"
#include "hone/examples.h"

/* Files and settings of `told`; `digests`: a folder, or NULL. */
hn_status hn_examples_of_epochs(hn_examples **out, hn_engine *engine, const char *model, const hn_list *files,
                                const hn_settings *told, const char *digests);
/* The same for who takes each example once: a file with a weight, which would say nothing, is refused. */
hn_status hn_examples_told(hn_examples **out, hn_engine *engine, const char *model, const hn_list *files,
                           const hn_settings *told, const char *digests);
/* A template that was typed, where no file has what one writes, is refused by name. Not of runs: a server hands them its own. */
hn_status hn_examples_want_chats(const hn_examples *examples, const hn_settings *told);
/* The pass over all of them, with a bar on stderr; `shows`, which may be NULL, gets what was found, also where it is
 * refused. */
hn_status hn_data_check(hn_engine *engine, hn_examples *examples, FILE *shows);

/* What the pass found, for people; nothing if it did not come to the end. */
void hn_data_print(const hn_examples *examples, FILE *out);
void hn_data_write(const hn_examples *examples, hn_json_writer *json);

#endif
