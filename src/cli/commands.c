/* All commands, apart from main(), so that a test of them all has a main() of its own. */
#include "cli/command.h"

#define HN_COMMAND(name) extern const hn_command hn_cmd_##name;
#include "cli/commands.def"
#undef HN_COMMAND

const hn_command *const hn_commands[] = {
#define HN_COMMAND(name) &hn_cmd_##name,
#include "cli/commands.def"
#undef HN_COMMAND
    NULL,
};
