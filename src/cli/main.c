/* hone: finds the command, turns its status into one line and an exit status: 0, 1 for failure, 2
 * for wrong usage, 128 and the signal's number if one ended it. */
#include "base/map_file.h"
#include "base/os/program.h"
#include "base/os/signals.h"
#include "cli/command_line.h"
#include "cli/help.h"
#include "cli/interrupt.h"
#include "cli/run_words.h"
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Names in it may be a file's. */
static void print_error(const char *name)
{
    hn_terminal t = hn_terminal_on(stderr);
    fprintf(stderr, "hone %s: ", name);
    hn_terminal_write(&t, hn_error_message(), strlen(hn_error_message()));
    fputc('\n', stderr);
}

/* What was asked for is on standard output, all of it, or that is the failure. */
static hn_status check_written(void)
{
    return fflush(stdout) || ferror(stdout) ? hn_fail(HN_ERR_IO, "standard output: cannot be written") : HN_OK;
}

/* The end of what only prints. */
static int end(const char *name)
{
    if (check_written() == HN_OK)
        return 0;
    print_error(name);
    return EXIT_FAILED;
}

static int run_words(const hn_command *command, int n_told, int argc, char **argv)
{
    _Alignas(16) char args[HN_MAX_ARGS_BYTES];
    char *operands[HN_MAX_OPERANDS];
    int n_operands;
    bool wants_help;
    hn_status status = hn_options_parse(command, n_told, argc, argv, args, &n_operands, operands, &wants_help);
    if (status != HN_OK) {
        print_error(command->name);
        if (status == HN_ERR_ARGUMENT)
            fprintf(stderr, "`hone %s --help` tells more.\n", command->name);
        return status == HN_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
    }
    if (wants_help) {
        hn_help_command(command, stdout);
        return end(command->name);
    }
    status = command->run(args, n_operands, operands, stdout);
    if (status == HN_OK)
        status = hn_map_check_end();
    else if (status != HN_ERR_CANCELLED && hn_map_check(NULL) != HN_OK)
        status = HN_ERR_IO; /* whatever was said came of it */
    if (status == HN_OK)
        status = check_written();
    if (status == HN_OK)
        return 0;
    fflush(stdout); /* what was said before stands above */
    print_error(command->name);
    if (status == HN_ERR_CANCELLED && hn_interrupt_signal())
        return 128 + hn_interrupt_signal();
    return status == HN_ERR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

/* The folder of a run that goes on without operands, which has what it was told; or NULL. */
static const char *folder_to_resume(const hn_command *command, int argc, char **argv)
{
    const char *folder = NULL, *resume = NULL;
    const bool resumes = command->resumes_in && hn_options_glance(command, argc, argv, "resume", &resume) == 0 &&
                         resume && hn_options_glance(command, argc, argv, command->resumes_in, &folder) == 0;
    return resumes ? folder : NULL;
}

/* The words of a run file in place of its name, before the others: those win. */
static hn_status expand(const hn_command *command, hn_run_words *words, hn_heap *heap, int *argc,
                        char **argv, char **room)
{
    *words = (hn_run_words){ .heap = heap };
    int at = command->run_file_operand ? hn_options_operand(command, *argc, argv) : -1, n = 0;
    const size_t length = at < 0 ? 0 : strlen(argv[at]);
    if (length <= 5 || strcmp(argv[at] + length - 5, ".toml") != 0)
        at = -1;
    const char *folder = at < 0 ? folder_to_resume(command, *argc, argv) : NULL;
    if (folder || at >= 0)
        HN_TRY(hn_run_words_open(words, folder ? folder : argv[at], folder != NULL));
    const hn_status status = hn_run_words_make(words, command);
    if (status != HN_OK)
        return hn_fail_within(status, "%s%s: ", folder ? folder : argv[at], folder ? "/run.toml" : "");
    for (int i = 0; i < words->n; i++)
        room[n++] = words->at[i];
    for (int i = 0; i < *argc; i++)
        if (i != at)
            room[n++] = argv[i];
    *argc = n;
    return HN_OK;
}

static int run(const hn_command *command, int argc, char **argv)
{
    hn_heap heap;
    hn_run_words said;
    char **words = calloc((size_t)argc + sizeof said.at / sizeof *said.at + 1, sizeof *words);
    hn_heap_init(&heap, NULL);
    int status = EXIT_USAGE;
    if (!words)
        fprintf(stderr, "hone %s: no memory\n", command->name);
    else if (expand(command, &said, &heap, &argc, argv, words) != HN_OK)
        print_error(command->name);
    else
        status = run_words(command, said.n, argc, words);
    if (words)
        hn_run_words_close(&said);
    free(words);
    return status;
}

static bool is_help(const char *word) { return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"); }

static bool is_version(const char *word) { return !strcmp(word, "--version") || !strcmp(word, "version"); }

/* One word more than is understood. */
static int refuse(const char *name, const char *word)
{
    hn_fail(HN_ERR_ARGUMENT, "'%.60s' is one word too many", word);
    print_error(name);
    return EXIT_USAGE;
}

static int tell_version(bool wants_help)
{
    puts(wants_help ? "usage: hone version\n\nthe version, in one line" : "hone " HN_VERSION);
    return end("version");
}

/* `hone help`, and what may stand behind it. */
static int help(int argc, char **argv)
{
    if (argc > 1)
        return refuse("help", argv[1]);
    if (argc && is_version(argv[0]))
        return tell_version(true);
    if (argc && !strcmp(argv[0], "--examples")) {
        hn_help_examples(stdout);
    } else if (!argc || is_help(argv[0])) {
        hn_help_all(stdout);
    } else {
        const hn_command *command = hn_help_find(argv[0]);
        if (!command) {
            fprintf(stderr, "hone: %s\n`hone help` lists them.\n", hn_error_message());
            return EXIT_USAGE;
        }
        hn_help_command(command, stdout);
    }
    return end("help");
}

int main(int argc, char **argv)
{
    if (!hn_os_begin(&argc, &argv)) {
        fputs("hone: a standard stream is closed, and /dev/null cannot be opened in its place\n", stderr);
        return EXIT_FAILED;
    }
    hn_os_signals_spare_large_files();
    hn_interrupt_install();
    hn_inputs_keep(); /* the process is one command */
    hn_command_line_keep(argc, argv);
    if (argc < 2) {
        hn_help_all(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (is_help(word))
        return help(argc - 2, argv + 2);
    if (is_version(word)) {
        const bool wants_help = argc > 2 && is_help(argv[2]);
        return argc > 2 + wants_help ? refuse("version", argv[2 + wants_help]) : tell_version(wants_help);
    }
    const hn_command *command = hn_help_find(word);
    if (!command) {
        fprintf(stderr, "hone: %s\n`hone help` lists them.\n", hn_error_message());
        return EXIT_USAGE;
    }
    return run(command, argc - 2, argv + 2);
}
