/* hone: finds the command, turns its status into one line and an exit status: 0, 1 for failure, 2
 * for wrong usage. */
#include "cli/command.h"

#include <signal.h>
#include <string.h>

#define HN_COMMAND(name) extern const hn_command hn_cmd_##name;
#include "cli/commands.def"
#undef HN_COMMAND

const hn_command *const hn_commands[] = {
#define HN_COMMAND(name) &hn_cmd_##name,
#include "cli/commands.def"
#undef HN_COMMAND
    NULL,
};

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

static void print_usage(FILE *out)
{
    fputs("hone runs and fine-tunes large language models, and proves what it trained.\n\n"
          "usage: hone COMMAND [options] [operands]\n\n",
          out);
    for (int i = 0; hn_commands[i]; i++)
        fprintf(out, "  %-10s %s\n", hn_commands[i]->name, hn_commands[i]->summary);
    fputs("\n`hone COMMAND --help` tells more.\n", out);
}

static const hn_command *find(const char *name)
{
    for (int i = 0; hn_commands[i]; i++)
        if (!strcmp(hn_commands[i]->name, name))
            return hn_commands[i];
    return NULL;
}

static int run(const hn_command *command, int argc, char **argv)
{
    _Alignas(16) char args[HN_MAX_ARGS_BYTES];
    char *operands[HN_MAX_OPERANDS];
    int n_operands;
    bool wants_help;
    if (hn_options_parse(command, argc, argv, args, &n_operands, operands, &wants_help) != HN_OK) {
        fprintf(stderr, "hone %s: %s\n`hone %s --help` tells more.\n", command->name,
                hn_error_message(), command->name);
        return EXIT_USAGE;
    }
    if (wants_help) {
        hn_options_help(command, stdout);
        return 0;
    }
    hn_status status = command->run(args, n_operands, operands, stdout);
    if (status == HN_OK && (fflush(stdout) || ferror(stdout)))
        status = hn_fail(HN_ERR_IO, "standard output: cannot be written");
    if (status == HN_OK)
        return 0;
    fprintf(stderr, "hone %s: %s\n", command->name, hn_error_message());
    return status == HN_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN); /* a file beyond the limit is an error like others */
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_USAGE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
        print_usage(stdout);
        return 0;
    }
    if (!strcmp(argv[1], "--version")) {
        puts("hone " HN_VERSION);
        return 0;
    }
    const hn_command *command = find(argv[1]);
    if (!command) {
        fprintf(stderr, "hone: unknown command '%.60s'\n`hone --help` lists them.\n", argv[1]);
        return EXIT_USAGE;
    }
    return run(command, argc - 2, argv + 2);
}
