/* far for a whole process: what the environment says, and the counts that are told at its end. */
#include "tests/far/process.h"

#include "tests/far/far.h"
#include "tests/far/fence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

far_process far_all;

int far_number_of(const char *name) { return atoi(name + strcspn(name, "0123456789")); }

size_t far_memory_of(const char *name)
{
    const char *at = far_all.memory;
    for (int i = far_number_of(name); at && i > 0 && strchr(at, ','); i--)
        at = strchr(at, ',') + 1;
    return at ? (size_t)strtoull(at, NULL, 10) : 0;
}

static bool is_among(const char *words, const char *op)
{
    const size_t n = strlen(op);
    for (const char *at = words; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && !memcmp(at, op, n))
            return true;
    return false;
}

bool far_is_off(const char *op) { return is_among(far_all.off, op); }

void far_spoil(const hn_call *call)
{
    const hn_tensor *out = call->out[0];
    if (!out || !is_among(far_all.wrong, call->op->name) || hn_type_span(&out->type) != hn_type_bytes(&out->type))
        return;
    for (size_t at = 0; at < hn_type_bytes(&out->type); at += hn_dtype_bytes(out->type.dtype))
        ((unsigned char *)out->data)[at] ^= 1;
}

static far_taste taste_of(const char *word)
{
    static const char *const words[] = { [FAR_OWN] = "own", [FAR_PANEL16] = "panel16", [FAR_PLAIN] = "plain", [FAR_MIXED] = "mixed" };
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++)
        if (!strcmp(word, words[i]))
            return (far_taste)i;
    fprintf(stderr, "HN_FAR_LAYOUT=%s: expected own, panel16, plain or mixed\n", word);
    abort();
}

static const char *memory_of(const char *sizes)
{
    if (!sizes || !sizes[strspn(sizes, "0123456789,")])
        return sizes;
    fprintf(stderr, "HN_FAR_MEMORY=%s: expected numbers of bytes, with commas between those of one far and the next\n", sizes);
    abort();
}

static void tell_counts(void)
{
    FILE *file = far_all.counts ? fopen(far_all.counts, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%lld calls on far, %lld on the host in its place, %zu bytes, fenced %lld times, %lld captured, %zu read\n",
            atomic_load(&far_all.n_far), atomic_load(&far_all.n_host), atomic_load(&far_all.most_taken),
            atomic_load(&far_all.n_fenced), atomic_load(&far_all.n_captured), atomic_load(&far_all.n_read));
    fclose(file);
}

long long hn_far_captured(void)
{
    return atomic_load(&far_all.n_captured);
}

long long hn_far_fenced(void)
{
    return atomic_load(&far_all.n_fenced);
}

void hn_far_install(void)
{
    const char *devices = getenv("HN_TEST_DEVICES");
    if (!devices || !*devices)
        return;
    far_all.off = getenv("HN_FAR_OFF");
    far_all.wrong = getenv("HN_FAR_WRONG");
    if (getenv("HN_FAR_LAYOUT"))
        far_all.taste = taste_of(getenv("HN_FAR_LAYOUT"));
    far_all.counts = getenv("HN_FAR_COUNTS");
    far_all.memory = memory_of(getenv("HN_FAR_MEMORY"));
    fence_watch();
    atexit(tell_counts);
    hn_backend_add(&hn_backend_far, devices);
}
