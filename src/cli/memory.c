/* Measured by Linux's account of the process; where there is none nothing is made up. */
#include "cli/memory.h"

#include "base/file.h"
#include "cli/open_model.h"
#include <string.h>

enum { PEAK, OWN, FILES, N_ACCOUNTS };

static bool read_accounts(uint64_t bytes[N_ACCOUNTS])
{
    static const char *const names[] = { "VmHWM", "RssAnon", "RssFile" };
    unsigned long long kib;
    char text[4096], name[64];
    memset(bytes, 0, N_ACCOUNTS * sizeof *bytes);
    hn_file_text("/proc/self/status", text, sizeof text);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
        for (int i = 0; i < N_ACCOUNTS; i++)
            if (sscanf(line, "%63[^:]: %llu", name, &kib) == 2 && !strcmp(name, names[i]))
                bytes[i] = kib * 1024;
    return text[0] != 0;
}

hn_status hn_memory_foretell(const char *path, const hn_list *ignored, const hn_lm_session_options *options,
                             const hn_machine_args *args, hn_lm_sizes *out)
{
    hn_opened opened;
    uint64_t program[N_ACCOUNTS];
    read_accounts(program); /* zeros where there is none */
    HN_TRY(hn_opened_open(&opened, HN_OPEN_ALL, path, args, ignored, NULL));
    const hn_status status = hn_lm_measure(opened.lm, options, out, sizeof *out);
    out->other += program[OWN] + program[FILES];
    hn_opened_close(&opened);
    return status;
}

uint64_t hn_memory_peak(void)
{
    uint64_t bytes[N_ACCOUNTS];
    return read_accounts(bytes) ? bytes[PEAK] : 0;
}

hn_status hn_memory_print_used(FILE *out)
{
    uint64_t bytes[N_ACCOUNTS];
    HN_REQUIRE(read_accounts(bytes), HN_ERR_UNSUPPORTED,
               "this system keeps no account of a process's memory");
    fprintf(out, "memory: at most %llu bytes; now %llu of its own and %llu of files\n",
            (unsigned long long)bytes[PEAK], (unsigned long long)bytes[OWN],
            (unsigned long long)bytes[FILES]);
    return HN_OK;
}
