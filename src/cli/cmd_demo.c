/* hone demo: the whole of it on the model that is built in: what it answers, the proof of its
 * gradients, a fine-tune on its packed weights, what it answers then, a merge that says what it
 * lost, and the adapter's hash, which is the same everywhere. Every step is a command that can be
 * given by hand. */
#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/folders.h"
#include "base/os/program.h"
#include "base/sha256.h"
#include "cli/answers.h"
#include "cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is trained below, on every machine, with any number of threads. It changes with the embedded
 * model, the questions and the options. */
static const char adapter_sha256[] =
    "4e3a4b5cad10786e88c701482be3586df8e7a89e135049f4d2856710bfcd53c2";

typedef struct demo_args {
    hn_sink out;
} demo_args;

static const hn_option options[] = {
    HN_OUT_FOLDER(demo_args, out, "out", "DIR", "keep everything there"),
    HN_OPTION_END,
};

enum { MOST_WORDS = 40, MOST_RIGHT_BEFORE = 10, LEAST_RIGHT_AFTER = 90 };

static const hn_command *find(const char *name)
{
    for (int i = 0; hn_commands[i]; i++)
        if (!strcmp(hn_commands[i]->name, name))
            return hn_commands[i];
    return NULL;
}

/* Runs a command of hone's, as its line would be typed. */
static hn_status type(const char *line, bool overwrites, FILE *out)
{
    _Alignas(16) char args[HN_MAX_ARGS_BYTES];
    char text[512], *words[MOST_WORDS], *operands[HN_MAX_OPERANDS];
    int n = 0, n_operands;
    bool wants_help;
    snprintf(text, sizeof text, "%s%s", line, overwrites ? " --overwrite" : "");
    fprintf(out, "\n$ hone %s\n", text);
    fflush(out);
    for (char *at = text; at && n < MOST_WORDS;) {
        words[n++] = at;
        at = strchr(at, ' ');
        if (at)
            *at++ = 0;
    }
    const hn_command *command = find(words[0]);
    HN_REQUIRE(command, HN_ERR_ARGUMENT, "no command %s", words[0]);
    HN_TRY(hn_options_parse(command, 0, n - 1, words + 1, args, &n_operands, operands, &wants_help));
    return command->run(args, n_operands, operands, out);
}

/* ---- the folder ---- */

static bool remove_file(void *context, const char *name)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    hn_os_remove(path); /* folders stay */
    return true;
}

/* The files of a folder, and it. */
static void remove_folder(char *path)
{
    hn_os_folder_each(path, remove_file, path);
    hn_os_folder_remove(path);
}

static hn_status enter(const demo_args *args, char folder[4096])
{
    if (args->out.path) {
        const bool may_be_there = args->out.over == HN_OVER_OLD;
        snprintf(folder, 4096, "%s", args->out.path);
        HN_REQUIRE(hn_os_folder_make(folder, false) || (errno == EEXIST && may_be_there),
                   errno == EEXIST ? HN_ERR_ARGUMENT : HN_ERR_IO, "%s: %s%s", folder, strerror(errno),
                   errno == EEXIST ? ": --overwrite makes the demo's files anew there" : "");
    } else {
        snprintf(folder, 4096, "%s/hone-demo-XXXXXX", hn_os_folder_for_temporary());
        HN_REQUIRE(hn_os_folder_make_temporary(folder), HN_ERR_IO, "%s: %s", folder, strerror(errno));
    }
    HN_REQUIRE(hn_os_folder_enter(folder), HN_ERR_IO, "%s: %s", folder, strerror(errno));
    return HN_OK;
}

/* ---- the steps ---- */

static hn_status ask(hn_heap *heap, const char *adapter, FILE *out, hn_answers *answers)
{
    fprintf(out, "\nheld-out questions, asked of %s:\n", adapter ? "model and adapter" : "the model");
    fflush(out);
    return hn_answers_count(heap, "tiny.gguf", adapter, "held.jsonl", 4, out, answers);
}

static hn_status show(hn_heap *heap, bool overwrites, FILE *out)
{
    hn_answers before, after;
    char digest[65];
    HN_TRY(type("tiny tiny.gguf", overwrites, out));
    HN_TRY(type("story --chats --seed 11 --count 8000 --out chats.jsonl", overwrites, out));
    HN_TRY(type("story --chats --seed 12 --count 100 --out held.jsonl", overwrites, out));
    HN_TRY(ask(heap, NULL, out, &before));
    HN_TRY(type("prove tiny.gguf --data chats.jsonl --json certificate.json", overwrites, out));
    HN_TRY(type("train tiny.gguf --data chats.jsonl --held held.jsonl --targets attn,experts --rank 16 --batch 16 "
                "--rate 2.5e-3 --schedule linear --out run", overwrites, out));
    HN_TRY(ask(heap, "run/adapter.gguf", out, &after));
    HN_TRY(type("merge tiny.gguf run/adapter.gguf --out merged.gguf", overwrites, out));
    HN_TRY(hn_sha256_file("run/adapter.gguf", digest));
    fprintf(out, "\n%d of %d right before, %d after\nadapter %s\n", before.n_right, before.n,
            after.n_right, digest);
    HN_REQUIRE(before.n_right <= MOST_RIGHT_BEFORE && after.n_right >= LEAST_RIGHT_AFTER,
               HN_ERR_PROOF, "%d right before and %d after: expected at most %d and at least %d",
               before.n_right, after.n_right, MOST_RIGHT_BEFORE, LEAST_RIGHT_AFTER);
    HN_REQUIRE(!strcmp(digest, adapter_sha256), HN_ERR_PROOF, "expected adapter %s: not one answer",
               adapter_sha256);
    fputs("the one that every machine and every number of threads gives\n", out);
    return HN_OK;
}

static hn_status run(const void *parsed, int n_operands, char **operands, FILE *out)
{
    (void)n_operands, (void)operands;
    const demo_args *args = parsed;
    char folder[4096];
    hn_heap heap;
    hn_heap_init(&heap, NULL);
    const int64_t start = hn_clock_ns();
    HN_TRY(enter(args, folder));
    const hn_status status = show(&heap, args->out.over == HN_OVER_OLD, out);
    if (status == HN_OK)
        fprintf(out, "%.0f s%s%s\n", (double)(hn_clock_ns() - start) * 1e-9,
                args->out.path ? ", all of it in " : "", args->out.path ? folder : "");
    if (!args->out.path) {
        remove_folder("run");
        remove_folder(folder);
    }
    return status;
}

const hn_command hn_cmd_demo = {
    .name = "demo",
    .operands = "",
    .summary = "prove and fine-tune the model that is built in, and show it",
    .example = "demo",
    .options = options,
    .args_size = sizeof(demo_args),
    .run = run,
};
