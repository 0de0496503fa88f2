/* Which slots and levels are checked, and what came of it. Data and comparisons: kernel_data.c.
 */
#include "tests/harness/kernel_check.h"

#include "base/os/files.h"
#include "kernels/families.h"

#include "tests/harness/check.h"
#include "tests/harness/guard.h"
#include "tests/harness/kernel_state.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SLOTS = 256, NAME_BYTES = 64 };

typedef struct slot_record {
    char name[NAME_BYTES];
    kc_function last; /* of the level before */
    uint64_t digest;
} slot_record;

static const size_t lengths[] = { 1,   2,   3,   4,   5,    7,    8,    9,   15, 16,
                                  17,  31,  32,  33,  47,   63,   64,   65,  97, 127,
                                  128, 129, 255, 256, 1000, 4095, 4096, 4097 };
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

kc_state kc;

static struct {
    slot_record slots[MAX_SLOTS];
    int n_slots;
    slot_record *slot; /* under check; NULL outside */
    hn_isa host;
    int next_level; /* index of the level to add; -1 before `ref` */
    size_t length_at;
    const char *only;
    char level[NAME_BYTES], runner[NAME_BYTES], note[96], place[384];
    volatile sig_atomic_t in_slot;
} run;

static void finish_slot(void)
{
    if (!run.slot)
        return;
    kc_recycle();
    if (run.next_level == 0)
        run.slot->digest = kc.digest;
    check_that(__FILE__, __LINE__, kc.n_bad == 0, "%s at %s: %ld differences", run.slot->name,
               run.level, kc.n_bad);
    run.slot = NULL;
    run.in_slot = 0;
}

static const char *flavour_text(kc_flavour flavour)
{
    static const char *const texts[] = { "plain", "wide", "extreme", "nonfinite" };
    return texts[flavour];
}

static void update_place(void)
{
    char length[32] = "";
    if (kc.length)
        snprintf(length, sizeof length, ", length %zu", kc.length);
    snprintf(run.place, sizeof run.place, "%s at %s%s%s%s, %s", run.slot ? run.slot->name : "?",
             run.level, length, run.note[0] ? ", " : "", run.note, flavour_text(kc.flavour));
}

void kc_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(run.note, sizeof run.note, format, args);
    va_end(args);
    update_place();
}

void kc_place(char *out, size_t bytes)
{
    update_place();
    snprintf(out, bytes, "%s", run.place);
}

static void on_fault(int number)
{
    static const char ended[] = "\n0 passed, 1 failed, 0 skipped\n";
    const char *name = number == SIGILL    ? "SIGILL in "
                       : number == SIGSEGV ? "SIGSEGV in "
                       : number == SIGFPE  ? "SIGFPE in "
                                           : "SIGBUS in ";
    if (!run.in_slot)
        name = "fault outside any kernel, after ";
    const ptrdiff_t written = hn_os_write(1, name, strlen(name)) +
                              hn_os_write(1, run.place, strlen(run.place)) +
                              hn_os_write(1, ended, sizeof ended - 1);
    _Exit(written > 0 ? 1 : 2);
}

static void catch_faults(void)
{
    static const int numbers[] = { SIGILL, SIGSEGV, SIGFPE,
#if defined(SIGBUS)
                                   SIGBUS
#endif
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], on_fault);
}

void kc_open(int argc, char **argv)
{
    check_open(argc, argv);
    snprintf(run.runner, sizeof run.runner, "%s", hn_os_last_part(argv[0]));
    run.runner[strcspn(run.runner, ".")] = 0; /* of .exe */
    run.only = check_option("--only");
    run.next_level = -1;
    hn_isa available = HN_ISA_ref, wanted = HN_ISA_ALL;
    const char *isa = check_option("--isa");
    if (hn_isa_available(&available) != HN_OK || (isa && hn_isa_parse(isa, &wanted) != HN_OK)) {
        fprintf(stderr, "%s\n", hn_error_message());
        exit(1);
    }
    run.host = available & wanted;
    catch_faults();
}

/* Whether a level changes any table of kernels: int8's have slots only where something is in them. */
static bool has_kernels(hn_isa before, hn_isa with)
{
    static hn_families without, within;
    hn_families_init(&without, before);
    hn_families_init(&within, with);
    within.gemm.lanes = without.gemm.lanes; /* into the table itself */
    return memcmp(&without, &within, sizeof within) != 0;
}

bool kc_next_isa(hn_isa *isa)
{
    finish_slot();
    if (run.next_level < 0) {
        run.next_level = 0;
        *isa = HN_ISA_ref;
        snprintf(run.level, sizeof run.level, "ref");
        return true;
    }
    while (run.next_level < HN_N_LEVELS) {
        const hn_level level = hn_isa_level(run.next_level++);
        if (!(run.host & level.bit)) {
            check_skip(level.name, "this host lacks the level, or it is masked");
            continue;
        }
        if (!has_kernels(*isa, *isa | level.bit))
            continue;
        *isa |= level.bit;
        snprintf(run.level, sizeof run.level, "%s", level.name);
        return true;
    }
    return false;
}

static slot_record *find_slot(const char *name)
{
    for (int i = 0; i < run.n_slots; i++)
        if (!strcmp(run.slots[i].name, name))
            return &run.slots[i];
    if (run.n_slots == MAX_SLOTS) {
        fputs("kernel_check: too many slots\n", stderr);
        exit(1);
    }
    slot_record *slot = &run.slots[run.n_slots++];
    snprintf(slot->name, sizeof slot->name, "%s", name);
    return slot;
}

bool kc_begin(const char *name, kc_function ref, kc_function opt)
{
    finish_slot();
    if (run.only && strcmp(run.only, name))
        return false;
    slot_record *slot = find_slot(name);
    const bool is_first = !slot->last;
    if (!is_first && opt == slot->last)
        return false;
    slot->last = opt;
    if (run.next_level != 0 && opt == ref)
        return false;
    run.slot = slot;
    run.length_at = 0;
    run.note[0] = '\0';
    kc = (kc_state){ .key = hn_rng_fold(hn_rng_seed(check_seed()), hn_hash_text(name)),
                     .digest = hn_hash_text(name),
                     .hashes = strcmp(run.level, "ref") == 0 };
    update_place();
    run.in_slot = 1;
    return true;
}

bool kc_next_flavour(void)
{
    kc_recycle();
    if (kc.is_in_loop && ++kc.flavour == KC_N_FLAVOURS) {
        kc.flavour = KC_PLAIN;
        kc.is_in_loop = false;
        return false;
    }
    kc.is_in_loop = true;
    update_place();
    return true;
}

bool kc_next_length(size_t *n)
{
    while (run.length_at < N_LENGTHS) {
        *n = kc.length = lengths[run.length_at];
        kc.may_bench = *n == 64 || *n == 4096;
        if (kc_next_flavour())
            return true;
        run.length_at++;
    }
    run.length_at = 0;
    kc.length = 0;
    kc.may_bench = false;
    return false;
}

kc_flavour kc_current_flavour(void) { return kc.flavour; }

bool kc_wants_bench(void)
{
    return check_flag("--bench") && kc.flavour == KC_PLAIN && (kc.may_bench || !kc.length);
}

static void digest_path(char *out, size_t bytes)
{
    snprintf(out, bytes, "%s/tests/kernels/digests/%s.txt", HN_SOURCE_DIR, run.runner);
}

static void write_digests(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!CHECK_THAT(file != NULL, "%s: cannot be written", path))
        return;
    for (int i = 0; i < run.n_slots; i++)
        fprintf(file, "%s %016llx\n", run.slots[i].name,
                (unsigned long long)run.slots[i].digest);
    fclose(file);
}

/* The digest of `name` in the committed file, or 0. */
static uint64_t committed_digest(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    char word[NAME_BYTES] = "", hex[32] = "";
    uint64_t found = 0;
    while (file && fscanf(file, "%63s %31s", word, hex) == 2)
        if (!strcmp(word, name))
            found = strtoull(hex, NULL, 16);
    if (file)
        fclose(file);
    return found;
}

int kc_close(void)
{
    finish_slot();
    char path[512];
    digest_path(path, sizeof path);
    check_group(NULL);
    if (check_flag("--bless"))
        write_digests(path);
    for (int i = 0; i < run.n_slots && check_seed() == 1; i++) {
        const uint64_t want = committed_digest(path, run.slots[i].name);
        CHECK_THAT(want == run.slots[i].digest,
                   "digest of %s: expected %016llx, found %016llx (%s; --bless writes it)",
                   run.slots[i].name, (unsigned long long)want,
                   (unsigned long long)run.slots[i].digest, path);
    }
    guard_free_all();
    return check_close();
}
