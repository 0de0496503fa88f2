/* Commands whose calls of the system are refused one by one: memory, maps, files opened, read, written and
 * named, threads. Each time the command either ends with an error that says what was refused, leaving nothing
 * of what it was making, or does without and makes the same bits. No block and no file stays open in either.
 *
 *     build/tests/fault/commands --hone build/hone            some calls of each kind and command
 *     build/tests/fault/commands --hone build/hone --every    all of them */
#include "base/sha256.h"
#include "tests/fault/preload/refuse.h"
#include "tests/harness/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_KINDS = REFUSE_N_KINDS, MOST_WORDS = 32, MOST_FILES = 16, SOME = 60 };

static const char *const kinds[N_KINDS] = { REFUSE_KINDS };
static const char *const errors[N_KINDS] = { /* what the message says of it */
    "out of memory|no memory",
    "Cannot allocate memory",
    "Too many open files|No space left on device",
    "Input/output error",
    "No space left on device|Input/output error",
    "Input/output error",
    "Input/output error",
    "Resource temporarily unavailable|threads",
};

typedef struct action {
    const char *words;    /* of the command; %s: the source's folder */
    bool keeps_what_is_whole; /* several results, each of its own: those made before stay */
} action;

/* In a folder with d.gguf, a.gguf (an adapter of it), peft (the same), c.jsonl, text.txt, and said, which is the
 * standard input. Results are called out. */
static const action actions[] = {
    { "convert %s/tests/differential/models/llama out.gguf", false },
    { "quantize d.gguf out.gguf q8_0 --threads 2", false },
    { "quantize d.gguf out.gguf q4_0 --imatrix i.gguf --threads 2", false },
    { "merge d.gguf a.gguf --out out.gguf --force --threads 2", false },
    { "import peft out.gguf --base d.gguf --threads 2", false },
    { "export a.gguf --peft out --base d.gguf --threads 2", false },
    { "export a.gguf --gguf out.gguf --base d.gguf --threads 2", false },
    { "chat d.gguf --count 3 --lora a.gguf --session out.hone --threads 2", true },
    { "run d.gguf --prompt ab --count 3 --session out.hone --threads 2", true },
    { "imatrix d.gguf text.txt --out out.gguf --chunk 16 --chunks 1 --threads 2", false },
    { "logits d.gguf --prompt ab --out out.npy --threads 2", false },
    { "perplexity d.gguf text.txt --chunk 16 --chunks 1 --save out.st --threads 2", false },
    { "grads d.gguf --data c.jsonl --examples 1 --out out.st --rank 2 --threads 2", false },
    { "new-tokenizer out.gguf text.txt --vocab 300", false },
    { "new llama out.gguf layers=1 width=64 heads=2 --threads 2", false },
};

/* ---- what a command leaves ---- */

typedef struct left {
    int n;
    char name[MOST_FILES][600];
    char digest[MOST_FILES][65];
} left;

static void note(left *l, const char *path)
{
    if (!CHECK(l->n < MOST_FILES))
        return;
    snprintf(l->name[l->n], sizeof l->name[0], "%s", path);
    CHECK_OK(hn_sha256_file(path, l->digest[l->n]));
    l->n++;
}

/* Whatever begins with `out`, one folder deep; and what is in the making. */
static void look(left *l, const char *folder)
{
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        char path[600];
        struct stat about;
        const bool is_top = !strcmp(folder, ".");
        if (e->d_name[0] == '.' || (is_top && strncmp(e->d_name, "out", 3) && !strstr(e->d_name, "partial")))
            continue;
        snprintf(path, sizeof path, "%s%s%s", is_top ? "" : folder, is_top ? "" : "/", e->d_name);
        if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode))
            look(l, path);
        else
            note(l, path);
    }
    if (dir)
        closedir(dir);
}

static bool is_whole(const left *good, const left *now, int i)
{
    for (int k = 0; k < good->n; k++)
        if (!strcmp(good->name[k], now->name[i]))
            return !strcmp(good->digest[k], now->digest[i]);
    return false;
}

static void sweep(void) { CHECK_INT(0, system("rm -rf out* *partial*")); }

/* ---- one run of it ---- */

typedef struct report {
    int status; /* of wait() */
    int was_reached, n_blocks, n_files;
    long long n_calls[N_KINDS];
    char said[4096];
    left left;
} report;

static const char *hone;

static void become(char **words, const char *refuse, const char *out)
{
    const int in = open("said", O_RDONLY), to = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    const int err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(in, 0);
    dup2(to, 1);
    dup2(err, 2);
    for (int i = 3; i < 256; i++)
        close(i);
    setenv("LD_PRELOAD", HN_REFUSE_LIBRARY, 1);
    setenv("HN_REFUSE_REPORT", "report", 1);
    setenv("HN_REFUSE", refuse, 1);
    setenv("TMPDIR", ".", 1);
    unsetenv("XDG_CACHE_HOME"); /* what was kept would make one run unlike the next */
    unsetenv("HOME");
    execv(hone, words);
    _exit(127);
}

static void read_text(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "r");
    text[file ? fread(text, 1, bytes - 1, file) : 0] = 0;
    if (file)
        fclose(file);
}

static bool run_once(const action *a, const char *refuse, const char *out, report *r)
{
    char line[1024], text[512], *words[MOST_WORDS + 1], *rest = line;
    int n = 0;
    snprintf(line, sizeof line, a->words, HN_SOURCE_DIR);
    words[n++] = (char *)(uintptr_t)hone;
    for (char *word; n < MOST_WORDS && (word = strtok_r(rest, " ", &rest)) != NULL;)
        words[n++] = word;
    words[n] = NULL;
    memset(r, 0, sizeof *r);
    sweep();
    unlink("report");
    fflush(stdout);
    const pid_t child = fork();
    if (!child)
        become(words, refuse, out);
    if (!CHECK(child > 0 && waitpid(child, &r->status, 0) == child))
        return false;
    read_text("report", text, sizeof text);
    read_text("err", r->said, sizeof r->said);
    long long *c = r->n_calls;
    const bool is_read =
        sscanf(text, "reached %d blocks %d files %d %lld %lld %lld %lld %lld %lld %lld %lld", &r->was_reached,
               &r->n_blocks, &r->n_files, c, c + 1, c + 2, c + 3, c + 4, c + 5, c + 6, c + 7) == 3 + N_KINDS;
    look(&r->left, ".");
    return CHECK_THAT(is_read, "%s, %s: no report: status %d: %s", a->words, refuse, r->status, r->said);
}

static bool says_one_of(const char *said, const char *words)
{
    char all[200], *rest = all;
    snprintf(all, sizeof all, "%s", words);
    for (const char *one; (one = strtok_r(rest, "|", &rest)) != NULL;)
        if (strstr(said, one))
            return true;
    return false;
}

/* ---- what must hold ---- */

static int n_refused, n_done_without;

static void judge(const action *a, const report *good, const report *r, int kind, const char *refuse)
{
    const bool ended = WIFEXITED(r->status);
    const int code = ended ? WEXITSTATUS(r->status) : -1;
    CHECK_THAT(ended && code <= 2, "%s, %s: ended by signal %d, status %d: %s", a->words, refuse,
               ended ? 0 : WTERMSIG(r->status), code, r->said);
    CHECK_THAT(r->n_blocks == 0, "%s, %s: %d blocks are left", a->words, refuse, r->n_blocks);
    CHECK_THAT(r->n_files == 0, "%s, %s: %d files are left open", a->words, refuse, r->n_files);
    if (code == 0) {
        n_done_without++;
        CHECK_THAT(r->left.n == good->left.n, "%s, %s: %d files were made, expected %d", a->words, refuse,
                   r->left.n, good->left.n);
    } else {
        n_refused++;
        CHECK_THAT(says_one_of(r->said, errors[kind]), "%s, %s: expected '%s', found: %s", a->words, refuse,
                   errors[kind], r->said);
    }
    /* A disk of a network may refuse when the file is closed and has its name. */
    const bool may_keep = code == 0 || a->keeps_what_is_whole || !strcmp(kinds[kind], "close") ||
                          strstr(r->said, "is written, and whole");
    for (int i = 0; i < r->left.n; i++)
        CHECK_THAT(may_keep && is_whole(&good->left, &r->left, i), "%s, %s: status %d, and %s is left: %s", a->words,
                   refuse, code, r->left.name[i], r->said);
}

static void check_action(const action *a)
{
    static report good, now;
    check_group(a->words);
    if (!run_once(a, "none", "printed", &good) ||
        !CHECK_THAT(good.status == 0, "%s: %s", a->words, good.said))
        return;
    CHECK_INT(0, good.n_blocks);
    CHECK_INT(0, good.n_files);
    CHECK(good.left.n > 0);
    CHECK_THAT(good.n_calls[0] > 20 && good.n_calls[2] > 2, "%s: its calls are not seen", a->words);
    n_refused = n_done_without = 0;
    for (int kind = 0; kind < N_KINDS; kind++) {
        const long long n = good.n_calls[kind], stride = check_flag("--every") || n <= SOME ? 1 : n / SOME + 1;
        for (long long at = 1; at <= n; at += stride) {
            char refuse[64];
            snprintf(refuse, sizeof refuse, "%s:%lld", kinds[kind], at);
            if (run_once(a, refuse, "printed", &now) &&
                CHECK_THAT(now.was_reached, "%s, %s: not reached", a->words, refuse))
                judge(a, &good, &now, kind, refuse);
        }
    }
    if (run_once(a, "none", "/dev/full", &now))
        CHECK_THAT(now.status == 0 || strstr(now.said, "standard output"),
                   "%s: nobody reads what it prints: status %d: %s", a->words, now.status, now.said);
    printf("%-70.70s %5d refused, %4d done without\n", a->words, n_refused, n_done_without);
    sweep();
}

static bool make(const char *words)
{
    char command[1024];
    snprintf(command, sizeof command, "'%s' %s >/dev/null 2>err", hone, words);
    return CHECK_THAT(system(command) == 0, "%s", command);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/hone-refuse-XXXXXX";
    check_open(argc, argv);
    hone = check_option("--hone");
    if (!CHECK_THAT(hone != NULL, "expected --hone PROGRAM") || !CHECK(mkdtemp(dir) != NULL) || !CHECK(chdir(dir) == 0))
        return check_close();
    const bool is_made =
        system("printf 'one\\n/save out.json\\n' >said; yes 'some words of a text, 12 of them' | head -40 >text.txt; for i in 1 2 3 4; do "
               "echo '{\"prompt\": \"question '$i'\", \"completion\": \" answer '$i$i'\"}'; done >c.jsonl") == 0 &&
        make("new --first spread llama d.gguf layers=2 width=64 heads=2 kv_heads=1 head_dim=32 ffn=64") &&
        make("train d.gguf --data c.jsonl --out r --steps 2 --batch 2 --rank 2 --samples 0") &&
        make("export r/adapter.gguf --peft peft --base d.gguf") &&
        make("imatrix d.gguf text.txt --out i.gguf --chunk 16 --chunks 1") && system("mv r/adapter.gguf a.gguf") == 0;
    const char *only = check_option("--only");
    for (size_t i = 0; is_made && i < sizeof actions / sizeof *actions; i++)
        if (!only || !strncmp(actions[i].words, only, strlen(only)))
            check_action(&actions[i]);
    char clean[64];
    snprintf(clean, sizeof clean, "rm -rf %s", dir);
    CHECK(system(clean) == 0);
    return check_close();
}
