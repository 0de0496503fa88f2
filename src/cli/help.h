/* help.h: what --help shows of a command, from its table: options in their groups, each with its
 * default, and an example, in the width of the terminal. */
#ifndef HN_CLI_HELP_H
#define HN_CLI_HELP_H

#include "cli/command.h"

void hn_help_command(const hn_command *command, FILE *out);
/* All commands. */
void hn_help_all(FILE *out);
/* Every command's example, a line each. */
void hn_help_examples(FILE *out);
/* The command of this name; NULL and a message with the nearest: HN_ERR_ARGUMENT. */
const hn_command *hn_help_find(const char *name);

#endif
