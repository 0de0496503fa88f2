#include "cli/memory.h"

#include "base/file.h"

#include "models/open_tokenizer.h"

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

static uint64_t weight_bytes(const hn_model *model)
{
    hn_gguf *gguf = hn_model_gguf(model);
    const hn_weights *all = gguf ? hn_gguf_weights(gguf) : &hn_model_hf_dir(model)->weights;
    uint64_t bytes = 0;
    for (size_t i = 0; i < all->n; i++)
        bytes += all->entries[i].bytes;
    return bytes;
}

static hn_status measure(hn_heap *heap, const hn_model *model, const hn_session_options *options,
                         const hn_machine_args *args, hn_memory *out)
{
    hn_machine machine;
    hn_session_sizes sizes;
    HN_TRY(hn_machine_open(&machine, heap, args));
    const uint64_t before = (uint64_t)heap->live_bytes;
    const hn_status status = hn_session_measure(heap, model, machine.run, options, &sizes);
    hn_machine_close(&machine);
    if (status == HN_OK)
        *out = (hn_memory){ .n_ctx = sizes.n_ctx, .file = weight_bytes(model),
                            .cache = sizes.cache, .workspace = sizes.workspace,
                            .other = before + sizes.other };
    return status;
}

hn_status hn_memory_foretell(const char *path, const hn_ignored *ignored,
                             const hn_session_options *options, const hn_machine_args *args,
                             hn_memory *out)
{
    hn_heap heap;
    hn_tokenizer *tok = NULL;
    hn_model *model = NULL;
    uint64_t program[N_ACCOUNTS];
    hn_heap_init(&heap, NULL);
    read_accounts(program); /* zeros where there is none */
    hn_status status = hn_open_tokenizer(&heap, path, &tok);
    if (status == HN_OK)
        status = hn_model_open(&heap, path, ignored, &model);
    if (status == HN_OK)
        status = measure(&heap, model, options, args, out);
    out->other += program[OWN] + program[FILES];
    hn_model_close(model);
    hn_tokenizer_free(tok);
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
