/* One pass over all examples, in their order, which decides each one's fate once: a later step only looks it up.
 * Two examples are the same if their tokens and weights are, and of such one that is held out is found among those
 * to train. */
#include "data/preflight.h"

#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

static void count(hn_preflight_count *c, uint64_t example)
{
    if (!c->n++)
        c->first = example;
}

/* What two examples must have in common to be the same to training. */
static uint64_t digest_of(const hn_example *e)
{
    hn_sha256 sha;
    uint8_t digest[32];
    uint64_t first = 0;
    hn_sha256_begin(&sha);
    for (int k = 0; k < e->n_parts; k++) {
        const hn_sample *s = &e->part[k];
        const uint64_t n = s->n;
        hn_sha256_add(&sha, &n, sizeof n);
        hn_sha256_add(&sha, s->ids, s->n * sizeof *s->ids);
        hn_sha256_add(&sha, s->weights, s->n * sizeof *s->weights);
    }
    hn_sha256_end(&sha, digest);
    for (int i = 0; i < 8; i++)
        first = first << 8 | digest[i];
    return first;
}

static int bin_of(size_t n)
{
    int bin = 0;
    for (; n; n >>= 1)
        bin++;
    return bin < HN_PREFLIGHT_BINS ? bin : HN_PREFLIGHT_BINS - 1;
}

typedef struct finding {
    bool is_empty, is_cut, is_too_long, is_hollow, is_unread, is_unended, has_double_bos, lacks_bos, is_straddling;
    uint64_t tokens, supervised;
} finding;

static finding look_at(const hn_example *e)
{
    finding f = { .is_unread = e->unread[0] };
    for (int k = 0; k < e->n_parts; k++) {
        const hn_sample *s = &e->part[k];
        f.is_empty |= !s->n_supervised;
        f.is_cut |= s->n_cut > 0;
        f.is_too_long |= s->is_too_long;
        f.is_hollow |= s->is_hollow;
        f.is_unended |= s->n_unended > 0;
        f.has_double_bos |= s->has_double_bos;
        f.lacks_bos |= s->lacks_bos;
        f.is_straddling |= s->n_straddling > 0;
        f.tokens += s->n;
        f.supervised += s->n_supervised;
    }
    return f;
}

static hn_fate fate_of(const hn_dataset *d, uint64_t i, const finding *f, uint64_t digest)
{
    if (f->is_empty || f->is_hollow)
        return HN_FATE_DROPPED;
    const double u = (double)(digest >> 11) * 0x1p-53;
    return hn_dataset_file_of(d, i)->is_held || u < d->held_fraction ? HN_FATE_HELD
                                                                     : HN_FATE_TRAINED;
}

static void add_counts(hn_preflight *out, uint64_t i, const hn_example *e, const finding *f,
                       hn_fate fate)
{
    if (f->is_empty)
        count(&out->empty, i);
    if (f->is_empty && f->is_cut)
        count(&out->cut_empty, i);
    if (f->is_hollow)
        count(&out->hollow, i);
    if (f->is_unread && !out->unread.n)
        memcpy(out->unread_what, e->unread, sizeof out->unread_what);
    if (f->is_unread)
        count(&out->unread, i);
    if (f->is_cut)
        count(&out->cut, i);
    if (f->is_too_long)
        count(&out->too_long, i);
    if (f->has_double_bos)
        count(&out->double_bos, i);
    if (f->lacks_bos)
        count(&out->lacks_bos, i);
    if (fate == HN_FATE_DROPPED) {
        out->n_dropped++;
        return;
    }
    if (f->is_unended)
        count(&out->unended, i);
    if (f->is_straddling)
        count(&out->straddling, i);
    for (int k = 0; k < e->n_parts; k++)
        out->longest = e->part[k].n > out->longest ? e->part[k].n : out->longest;
    if (fate == HN_FATE_HELD) {
        out->n_held++;
        out->n_held_tokens += f->tokens;
        return;
    }
    out->n_examples++;
    out->n_sequences += (uint64_t)e->n_parts;
    out->n_tokens += f->tokens;
    out->n_supervised += f->supervised;
}

static hn_status scan(hn_dataset *d, hn_preflight *out, uint64_t *digests,
                      hn_preflight_watch *watch, void *context)
{
    hn_example e = hn_example_on(d->heap);
    hn_status status = HN_OK;
    for (uint64_t i = 0; i < d->n && status == HN_OK; i++) {
        if (watch && i % 64 == 0 && !watch(context, i, d->n)) {
            status = hn_fail(HN_ERR_CANCELLED, "stopped while reading examples");
            break;
        }
        status = hn_dataset_read(d, i, &e);
        if (status != HN_OK)
            break;
        const finding f = look_at(&e);
        digests[i] = digest_of(&e);
        const hn_fate fate = fate_of(d, i, &f, digests[i]);
        d->fates[i] = (uint8_t)fate;
        d->tokens[i] = f.tokens < UINT32_MAX ? (uint32_t)f.tokens : UINT32_MAX;
        add_counts(out, i, &e, &f, fate);
        if (fate != HN_FATE_HELD)
            for (int k = 0; k < e.n_parts; k++)
                out->histogram[bin_of(e.part[k].n_supervised)]++;
    }
    hn_example_free(&e);
    return status;
}

static hn_status list_trained(hn_dataset *d, hn_dataset_file *file)
{
    file->n_trained = 0;
    hn_free(d->heap, file->trained);
    file->trained = NULL;
    for (uint64_t i = 0; i < file->source.n; i++)
        file->n_trained += d->fates[file->first + i] == HN_FATE_TRAINED;
    if (file->n_trained == file->source.n || !file->n_trained)
        return HN_OK;
    file->trained =
        hn_alloc_array(d->heap, HN_TAG_FILE, file->n_trained, sizeof *file->trained);
    if (!file->trained)
        return HN_ERR_MEMORY;
    uint64_t n = 0;
    for (uint64_t i = 0; i < file->source.n; i++)
        if (d->fates[file->first + i] == HN_FATE_TRAINED)
            file->trained[n++] = file->first + i;
    return HN_OK;
}

static hn_status make_lists(hn_dataset *d, uint64_t n_held)
{
    uint64_t n = 0;
    for (int k = 0; k < d->n_files; k++)
        HN_TRY(list_trained(d, &d->files[k]));
    hn_free(d->heap, d->held);
    d->held = hn_alloc_array(d->heap, HN_TAG_FILE, n_held, sizeof *d->held);
    if (!d->held)
        return HN_ERR_MEMORY;
    for (uint64_t i = 0; i < d->n; i++)
        if (d->fates[i] == HN_FATE_HELD)
            d->held[n++] = i;
    d->n_held = n;
    d->is_scanned = true;
    return HN_OK;
}

hn_status hn_preflight_run(hn_dataset *d, hn_preflight *out, hn_preflight_watch *watch,
                           void *context)
{
    *out = (hn_preflight){ 0 };
    d->is_scanned = false;
    uint64_t *digests = hn_alloc_array(d->heap, HN_TAG_FILE, d->n, sizeof *digests);
    if (!digests)
        return HN_ERR_MEMORY;
    d->rule.finds_unread = true;
    hn_status status = scan(d, out, digests, watch, context);
    d->rule.finds_unread = false;
    if (status == HN_OK)
        status = hn_preflight_duplicates(d, digests, out);
    hn_free(d->heap, digests);
    return status == HN_OK ? make_lists(d, out->n_held) : status;
}

typedef struct objection {
    const hn_preflight_count *count;
    hn_status status;
    const char *what;
} objection;

/* Whose bound it is, and by how much the first is beyond. */
static void say_too_long(const hn_preflight *r, const hn_dataset *d, char out[256])
{
    const hn_example_rule *rule = &d->rule;
    const size_t limit = hn_example_rule_limit(rule);
    const bool is_context = !rule->max_length || limit < rule->max_length;
    const bool is_reach = is_context && limit == rule->reach;
    snprintf(out, 256,
             "expected at most %zu tokens, %s, found %s%u; --too-long keep-start or keep-end cuts%s",
             limit,
             is_reach     ? "beyond which the model has no positions"
             : is_context ? "which is the context of the model"
                          : "as --max-length says",
             d->has_pairs ? "a pair of " : "",
             r->too_long.n ? (unsigned)d->tokens[r->too_long.first] : 0,
             is_context && !is_reach ? ", allow trains them whole" : "");
}

/* Examples that are held out, of files that are for that alone, or of the others. */
static uint64_t held_of(const hn_dataset *d, const hn_dataset_file *file)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < file->source.n; i++)
        n += d->fates[file->first + i] == HN_FATE_HELD;
    return n;
}

/* Where none of what was to be held out is there, examples to train would be judged in its place, or nothing. */
static hn_status check_held(const hn_dataset *d)
{
    uint64_t n_hashed = 0, n_others = 0;
    for (int k = 0; k < d->n_files; k++) {
        const hn_dataset_file *file = &d->files[k];
        const uint64_t n = held_of(d, file);
        HN_REQUIRE(n || !file->is_held, HN_ERR_ARGUMENT, "--held %s: expected examples to evaluate on, found none: %llu dropped",
                   file->source.path, (unsigned long long)file->source.n);
        n_hashed += file->is_held ? 0 : n;
        n_others += file->is_held ? 0 : file->source.n;
    }
    HN_REQUIRE(n_hashed || !(d->held_fraction > 0), HN_ERR_ARGUMENT,
               "%s: --held-fraction %g holds out none of %llu examples: expected a greater share, or --held FILE",
               d->files[0].source.path, d->held_fraction, (unsigned long long)n_others);
    return HN_OK;
}

hn_status hn_preflight_verdict(const hn_preflight *r, const hn_dataset *d)
{
    static const hn_preflight_count none = { 0 };
    char too_long[256], unread[256];
    say_too_long(r, d, too_long);
    snprintf(unread, sizeof unread,
             "expected the chat template to write all of a conversation, found that it leaves out "
             "%s; --drop-unread trains without", r->unread_what);
    const objection objections[] = {
        { &r->double_bos, HN_ERR_FORMAT,
          "expected one BOS token, found two: the template writes one and the text another" },
        { &r->lacks_bos, HN_ERR_FORMAT, "expected to begin with BOS, found another token" },
        { &r->too_long, HN_ERR_ARGUMENT, too_long },
        { d->drop_unread ? &none : &r->unread, HN_ERR_FORMAT, unread },
        { d->drop_empty ? &none : &r->cut_empty, HN_ERR_ARGUMENT,
          "expected supervised tokens, found none left after cutting to --max-length; "
          "--drop-empty leaves such examples out" },
        { d->drop_empty ? &none : &r->empty, HN_ERR_ARGUMENT,
          "expected supervised tokens, found none; --drop-empty leaves such examples out" },
        { d->drop_empty ? &none : &r->hollow, HN_ERR_ARGUMENT,
          "expected words in what is supervised, found nothing but its end; --drop-empty leaves "
          "such examples out" },
        { d->allow_unended ? &none : &r->unended, HN_ERR_FORMAT,
          "expected an end token after every supervised turn, found none: the model would not "
          "learn to stop; --allow-unended trains it so" },
    };
    for (size_t i = 0; i < sizeof objections / sizeof *objections; i++) {
        const objection *o = &objections[i];
        if (!o->count->n)
            continue;
        hn_fail(o->status, "%s (%llu of %llu examples)", o->what,
                (unsigned long long)o->count->n, (unsigned long long)d->n);
        return hn_dataset_fail_at(d, o->count->first, o->status);
    }
    HN_REQUIRE(r->n_examples, HN_ERR_ARGUMENT,
               "%s: expected examples to train, found none: %llu held out, %llu dropped",
               d->files[0].source.path, (unsigned long long)r->n_held,
               (unsigned long long)r->n_dropped);
    return check_held(d);
}
