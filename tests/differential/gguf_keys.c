/* Every key of a GGUF's metadata, deleted and changed (other values, other types, extremes, arrays
 * of other lengths), and every key that llama.cpp knows added (gguf_keys/names.txt), to a tiny model
 * of every architecture. What the table calls used moves the logits or the tokenizer, or is
 * refused; what it calls needless moves no bit; what has no row is refused by name. What llama.cpp
 * computes alike is alike to the bit. With a name and "--list", prints what moved nothing;
 * --quick: every fifth model. */
#include "base/file.h"
#include "base/mathfn.h"
#include "base/out_file.h"
#include "convert/convert.h"
#include "infer/forward.h"
#include "models/open_tokenizer.h"
#include "nn/meta_keys.h"

#include "tests/differential/changed_gguf.h"
#include "tests/harness/all_devices.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_TOKENS = 24, MAX_NAMES = 400 };

static hn_heap heap;
static hn_device *devices[HN_MAX_DEVICES];
static int n_devices;
static hn_pool *pool;
static bool lists;
static char dir[64], changed_path[96];

typedef struct tally {
    int n, moved, same, refused, refused_by_shape, idle, wrong, not_finite;
} tally;

typedef struct subject {
    const char *name;
    const hn_arch *arch;
    parts p;
    char digest[160]; /* of the answer */
    tally tally;
} subject;

typedef enum outcome { SAME, MOVED, REFUSED } outcome;

/* ---- running ---- */

static hn_status digest_logits(const hn_model *model, char text[80], bool *is_finite)
{
    hn_forward *forward;
    hn_tensor t;
    int32_t tokens[N_TOKENS];
    const hn_forward_options o = { .max_tokens = N_TOKENS };
    const int64_t vocab = hn_model_hparams(model)->n_vocab;
    for (int64_t i = 0; i < N_TOKENS; i++)
        tokens[i] = (int32_t)(3 + (i * i * 7 + i * 13) % (vocab - 3));
    HN_TRY(hn_forward_new(&forward, &heap, model, on_all_devices(n_devices, devices), &o));
    hn_status status = hn_forward_run(forward, tokens, N_TOKENS, NULL);
    if (status == HN_OK)
        status = hn_forward_logits(forward, &t);
    uint64_t hash = 1469598103934665603u;
    for (int64_t i = 0; status == HN_OK && i < hn_count(&t.type); i++) {
        const float x = ((const float *)t.data)[i];
        uint32_t bits;
        memcpy(&bits, &x, 4);
        hash = (hash ^ bits) * 1099511628211u;
        *is_finite = *is_finite && isfinite(x);
    }
    hn_forward_free(forward);
    snprintf(text, 80, "%016llx", (unsigned long long)hash);
    return status;
}

/* What the file computes: its logits, if its architecture can be run, and its tokenizer. */
static hn_status answer(const subject *s, const char *path, char text[160], bool *is_finite)
{
    hn_model *model;
    hn_tokenizer *tok;
    char logits[80] = "", words[65] = "";
    *is_finite = true;
    HN_TRY(hn_model_open(&heap, path, NULL, &model));
    hn_status status = s->arch->build ? digest_logits(model, logits, is_finite) : HN_OK;
    hn_model_close(model);
    if (status == HN_OK)
        status = hn_open_tokenizer(&heap, path, &tok);
    if (status == HN_OK) {
        status = hn_tokenizer_digest(tok, words);
        hn_tokenizer_free(tok);
    }
    snprintf(text, 160, "%.40s %.16s", logits, words);
    return status;
}

static outcome run(subject *s, bool *is_finite)
{
    char text[160];
    const hn_status status = answer(s, changed_path, text, is_finite);
    if (status != HN_OK)
        return REFUSED;
    return strcmp(text, s->digest) ? MOVED : SAME;
}

/* ---- what the table says ---- */

static const hn_key_row *row_of(const subject *s, const char *key)
{
    const size_t n = strlen(s->arch->name);
    if (hn_key_is_whole(key))
        return hn_key_of_gguf(s->arch->tables, key);
    return !strncmp(key, s->arch->name, n) && key[n] == '.'
               ? hn_key_of_gguf(s->arch->tables, key + n + 1)
               : NULL;
}

static const char *tail(const subject *s, const char *key)
{
    return hn_key_is_whole(key) ? key : key + strlen(s->arch->name) + 1;
}

/* Used, and no part of what is compared, or of use only beside another key. */
static const struct {
    const char *key, *why;
} idle[] = {
#define IDLE(key, why) { key, why },
#include "tests/differential/gguf_keys/idle.def"
#undef IDLE
};

static bool is_idle(const subject *s, const char *key)
{
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (!strcmp(idle[i].key, tail(s, key)))
            return true;
    return strstr(key, "_token_id") || strstr(key, "chat_template") || !s->arch->build;
}

/* A refusal names the key, or the tensor whose shape it denies. */
static void check_refusal(subject *s, const char *key, const char *what)
{
    const char *why = hn_error_message();
    const bool is_shape = strstr(why, ": tensor ") || strstr(why, " heads") || strstr(why, "layers") ||
                          strstr(why, "rope has other numbers") || strstr(why, ": key ") || strstr(why, ": rope: ") ||
                          strstr(why, "of the old layout");
    s->tally.refused += 1;
    s->tally.refused_by_shape += !strstr(why, key);
    CHECK_THAT(strstr(why, key) || is_shape, "%s: %s %s: %s", s->name, key, what, why);
}

static bool try(subject *s, const char *key, const char *what, const value *with, int n_with,
                int *moved, int *same)
{
    const char *without[] = { key, NULL };
    bool is_finite;
    if (!write_changed(&s->p, changed_path, without, with, n_with))
        return false;
    const outcome got = run(s, &is_finite);
    s->tally.n++;
    if (got == REFUSED) {
        check_refusal(s, key, what);
        return false;
    }
    s->tally.not_finite += !is_finite;
    if (lists && !is_finite)
        printf("not finite: %s: %s %s\n", s->name, key, what);
    *(got == MOVED ? &s->tally.moved : &s->tally.same) += 1;
    *(got == MOVED ? moved : same) += 1;
    return true;
}

/* ---- values ---- */

typedef struct number {
    uint8_t bytes[8];
    value v;
} number;

static value make(number *n, const char *key, hn_meta_type type, double x)
{
    memset(n, 0, sizeof *n);
    const int64_t whole = type == HN_META_F32 || type == HN_META_F64 ? 0
                          : x >= 0x1p63                              ? -1
                                                                     : (int64_t)x;
    const float narrow = (float)x;
    if (type == HN_META_F32)
        memcpy(n->bytes, &narrow, 4);
    else if (type == HN_META_F64)
        memcpy(n->bytes, &x, 8);
    else
        memcpy(n->bytes, &whole, 8);
    return n->v = (value){ key, type, false, 1, n->bytes, hn_meta_type_bytes(type) };
}

static const uint8_t text_x[] = { 1, 0, 0, 0, 0, 0, 0, 0, 'x' };

static double item(const value *v, uint64_t i)
{
    const hn_meta_value m = { .key = v->key, .type = v->type, .n = v->n, .data = v->data,
                              .bytes = v->bytes };
    return v->type == HN_META_BOOL ? m.data[i] : hn_meta_item_double(&m, i);
}

typedef struct counts {
    int moved, same; /* of other values of its kind */
    int alike_moved; /* of the same value in another width: must be 0 */
} counts;

static void change_number(subject *s, const value *v, counts *c)
{
    const bool is_real = v->type == HN_META_F32 || v->type == HN_META_F64;
    const double x = item(v, 0);
    const double others[] = { is_real ? x * 1.5 : x + 1, is_real ? x * 0.5 : 2 * x + 2, 0, -1, NAN,
                              HUGE_VAL, 1e30, 1e-30, 0x1p31, 0x1p63 };
    number n;
    char what[64];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!is_real && i >= 4 && i < 8)
            continue;
        snprintf(what, sizeof what, "is %g", others[i]);
        make(&n, v->key, is_real ? v->type : HN_META_I64, others[i]);
        if (others[i] != x)
            try(s, v->key, what, &n.v, 1, &c->moved, &c->same);
    }
    make(&n, v->key, is_real ? HN_META_F64 : HN_META_U64, x);
    try(s, v->key, "of 64 bits", &n.v, 1, &c->alike_moved, &(int){ 0 });
    const hn_key_row *row = row_of(s, v->key);
    const bool wants_int = !is_real && row && (row->to || row->is == HN_IS_INT);
    make(&n, v->key, HN_META_F32, x);
    if (wants_int)
        CHECK_THAT(!try(s, v->key, "of 32 bits, with a fraction", &n.v, 1, &c->moved, &c->same),
                   "%s: %s as a real is taken", s->name, v->key);
}

static void change_array(subject *s, const value *v, counts *c)
{
    const size_t each = hn_meta_type_bytes(v->type);
    value other = *v;
    if (!each)
        return;
    other.n--, other.bytes -= each;
    CHECK_THAT(!try(s, v->key, "of one fewer", &other, 1, &c->moved, &c->same) ||
                   strstr(v->key, "charsmap"),
               "%s: %s of one fewer is taken", s->name, v->key);
    uint8_t *longer = calloc(v->n + 1, each);
    memcpy(longer, v->data, v->bytes);
    other = *v, other.n++, other.bytes += each, other.data = longer;
    CHECK_THAT(!try(s, v->key, "of one more", &other, 1, &c->moved, &c->same) ||
                   strstr(v->key, "charsmap"),
               "%s: %s of one more is taken", s->name, v->key);
    for (size_t i = 0; i < v->bytes; i += each) /* flipped, or one more */
        longer[i] = (uint8_t)(v->type == HN_META_BOOL ? !longer[i] : longer[i] ^ 1);
    other = *v, other.data = longer;
    try(s, v->key, "with other items", &other, 1, &c->moved, &c->same);
    free(longer);
}

static void change_key(subject *s, const value *v)
{
    const hn_key_row *row = row_of(s, v->key);
    const bool is_note = !row || (row->note && !row->to && !row->only && !row->is_token);
    counts c = { 0 };
    int deleted_moved = 0, deleted_same = 0;
    if (!CHECK_THAT(row, "%s: %s, which convert wrote, has no row", s->name, v->key))
        return;
    try(s, v->key, "deleted", NULL, 0, &deleted_moved, &deleted_same);
    if (v->is_array)
        change_array(s, v, &c);
    else if (v->type == HN_META_BOOL) {
        const uint8_t flipped = !*(const uint8_t *)v->data;
        const value other = { v->key, HN_META_BOOL, false, 1, &flipped, 1 };
        try(s, v->key, "flipped", &other, 1, &c.moved, &c.same);
    } else if (v->type == HN_META_STRING) {
        const value other = { v->key, HN_META_STRING, false, 1, text_x, sizeof text_x };
        try(s, v->key, "is \"x\"", &other, 1, &c.moved, &c.same);
    } else {
        change_number(s, v, &c);
    }
    const int32_t three = 3;
    const value kinds[] = { { v->key, HN_META_STRING, false, 1, text_x, sizeof text_x },
                            { v->key, HN_META_U32, false, 1, &three, 4 },
                            { v->key, HN_META_F32, true, 1, &three, 4 } };
    for (int i = 0; i < 3; i++) {
        const bool is_own = (kinds[i].is_array == v->is_array &&
                             (kinds[i].type == v->type || (i == 1 && v->type != HN_META_STRING &&
                                                           v->type != HN_META_BOOL))) ||
                            (i == 1 && row->is & HN_IS_INT); /* a list or a period */
        if (!is_own)
            CHECK_THAT(!try(s, v->key, "of another kind", &kinds[i], 1, &c.moved, &c.same) || is_note,
                       "%s: %s of another kind is taken", s->name, v->key);
    }
    CHECK_THAT(c.alike_moved == 0, "%s: %s of other bits is another value", s->name, v->key);
    const int moved = c.moved + deleted_moved;
    if (is_note)
        CHECK_THAT(moved == 0, "%s: %s is needless, and moves the answer", s->name, v->key);
    else if (moved == 0 && c.same > 0) {
        s->tally.idle++;
        s->tally.wrong += !is_idle(s, v->key);
        CHECK_THAT(is_idle(s, v->key), "%s: %s is used, and %d other values move nothing", s->name,
                   v->key, c.same);
        if (lists)
            printf("idle: %s: %s\n", s->name, v->key);
    }
}

/* ---- keys that the file has not ---- */

static void add_key(subject *s, const char *name)
{
    char key[160];
    static const struct {
        hn_meta_type type;
        double x;
    } values[] = { { HN_META_U32, 1e8 },  { HN_META_U32, 3 },    { HN_META_U32, 1 },    { HN_META_U32, 0 },
                   { HN_META_F32, 0.75 }, { HN_META_F32, 0 },    { HN_META_F32, NAN },
                   { HN_META_BOOL, 1 },   { HN_META_BOOL, 0 },   { HN_META_STRING, 0 } };
    snprintf(key, sizeof key, "%.20s%s%.64s", hn_key_is_whole(name) ? "" : s->arch->name,
             hn_key_is_whole(name) ? "" : ".", name);
    for (int i = 0; i < s->p.n_keys; i++)
        if (!strcmp(s->p.keys[i].key, key))
            return;
    const hn_key_row *row = row_of(s, key);
    const bool is_note = row && row->note && !row->to && !row->only;
    int moved = 0, same = 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        number n;
        char what[64];
        make(&n, key, values[i].type, values[i].x);
        if (values[i].type == HN_META_STRING)
            n.v = (value){ key, HN_META_STRING, false, 1, text_x, sizeof text_x };
        snprintf(what, sizeof what, "added, %s %g", hn_meta_type_name(values[i].type), values[i].x);
        const bool taken = try(s, key, what, &n.v, 1, &moved, &same);
        CHECK_THAT(!taken || row, "%s: %s %s: taken without a row", s->name, key, what);
        CHECK_THAT(!taken || !row->is_token || i > 0, "%s: %s %s: there is no such token", s->name, key, what);
    }
    if (is_note || (row && row->only))
        CHECK_THAT(moved == 0, "%s: %s added moves the answer, and its row says it cannot", s->name, key);
    else if (row && moved == 0 && same > 0) {
        s->tally.idle++;
        s->tally.wrong += !is_idle(s, key);
        CHECK_THAT(is_idle(s, key) || row->to == HN_HP_vocab_size,
                   "%s: %s is used, and %d values of it, added, move nothing", s->name, key, same);
        if (lists)
            printf("idle: %s: %s, added\n", s->name, key);
    }
}

/* A number of every layer may stand as one for each, and for as many as there are. */
static void list_layers(subject *s, const value *v)
{
    const hn_key_row *row = row_of(s, v->key);
    int32_t list[64];
    int64_t n_layer = 0;
    int moved = 0, same = 0;
    for (int i = 0; i < s->p.n_keys; i++)
        if (!strcmp(tail(s, s->p.keys[i].key), "block_count"))
            n_layer = (int64_t)item(&s->p.keys[i], 0);
    if (!row || !row->to || hn_hp_kind_of((hn_hp)row->to) != HN_HP_LAYERED || v->is_array ||
        !CHECK(n_layer > 0 && n_layer < 63))
        return;
    for (int i = 0; i < 64; i++)
        list[i] = (int32_t)item(v, 0);
    for (int64_t n = n_layer - 1; n <= n_layer + 1; n++) {
        const value other = { v->key, HN_META_I32, true, (uint64_t)n, list, 4 * (size_t)n };
        CHECK_THAT(try(s, v->key, "as a list", &other, 1, &moved, &same) == (n == n_layer),
                   "%s: %s: a list of %lld for %lld layers", s->name, v->key, (long long)n,
                   (long long)n_layer);
    }
    CHECK_THAT(moved == 0, "%s: %s as a list is another number", s->name, v->key);
}

/* ---- what is alike ---- */

typedef struct pair {
    const char *key;
    hn_meta_type type;
    double x;
    const char *word;
} pair;

static void put_pairs(const subject *s, const pair *pairs, int n, number *numbers, char keys[][96],
                      uint8_t words[][32])
{
    for (int i = 0; i < n; i++) {
        snprintf(keys[i], 96, "%s.%s", s->arch->name, pairs[i].key);
        make(&numbers[i], keys[i], pairs[i].type, pairs[i].x);
        if (pairs[i].word) {
            memset(words[i], 0, 32);
            words[i][0] = (uint8_t)strlen(pairs[i].word);
            memcpy(words[i] + 8, pairs[i].word, strlen(pairs[i].word));
            numbers[i].v = (value){ keys[i], HN_META_STRING, false, 1, words[i],
                                    8 + strlen(pairs[i].word) };
        }
    }
}

/* The file with these keys in place of its own; an x of NAN leaves the key out. */
static bool answer_with(subject *s, const pair *pairs, int n, char text[160])
{
    number numbers[4];
    char keys[4][96];
    uint8_t words[4][32];
    value with[4];
    const char *without[8] = { NULL };
    int n_with = 0;
    bool is_finite;
    put_pairs(s, pairs, n, numbers, keys, words);
    for (int i = 0; i < n; i++) {
        without[i] = keys[i];
        if (pairs[i].word || !isnan(pairs[i].x))
            with[n_with++] = numbers[i].v;
    }
    return write_changed(&s->p, changed_path, without, with, n_with) &&
           CHECK_OK(answer(s, changed_path, text, &is_finite));
}

static void check_alike(subject *s, const char *what, const pair *a, int n_a, const pair *b, int n_b,
                        bool is_alike)
{
    char x[160], y[160];
    if (answer_with(s, a, n_a, x) && answer_with(s, b, n_b, y))
        CHECK_THAT(!strcmp(x, y) == is_alike, "%s: %s: the bits are %s", s->name, what,
                   is_alike ? "others" : "the same");
}
#define ALIKE(what, n_a, n_b, ...) alike_of(s, what, (const pair[]){ __VA_ARGS__ }, n_a, n_b, true)
#define OTHER(what, n_a, n_b, ...) alike_of(s, what, (const pair[]){ __VA_ARGS__ }, n_a, n_b, false)
static void alike_of(subject *s, const char *what, const pair *all, int n_a, int n_b, bool is_alike)
{
    check_alike(s, what, all, n_a, all + n_a, n_b, is_alike);
}
#define F HN_META_F32
#define U HN_META_U32
#define S(w) HN_META_STRING, 0, w

static void check_rope(subject *s)
{
    const bool is_layered = hn_key_of_field(s->arch->tables, HN_HP_rope_base_swa) != NULL;
    bool has_multiplier = false; /* of scores, beside which cosines have none */
    for (int i = 0; i < s->p.n_keys; i++)
        has_multiplier = has_multiplier || strstr(s->p.keys[i].key, "yarn_log_multiplier");
    ALIKE("a factor without a type is linear", 2, 2, { "rope.scaling.factor", F, 4, 0 }, { "rope.scaling.type", F, NAN, 0 },
          { "rope.scaling.factor", F, 4, 0 }, { "rope.scaling.type", S("linear") });
    ALIKE("scale_linear is its older name", 3, 2, { "rope.scale_linear", F, 4, 0 }, { "rope.scaling.factor", F, NAN, 0 },
          { "rope.scaling.type", S("linear") },
          { "rope.scaling.factor", F, 4, 0 }, { "rope.scaling.type", S("linear") });
    ALIKE("none puts a factor out of effect", 2, 2, { "rope.scaling.factor", F, 4, 0 }, { "rope.scaling.type", S("none") },
          { "rope.scaling.factor", F, NAN, 0 }, { "rope.scaling.type", F, NAN, 0 });
    ALIKE("0 is no factor", 1, 1, { "rope.scaling.factor", F, 0, 0 }, { "rope.scaling.factor", F, 1, 0 });
    OTHER("a factor is not nothing", 2, 2, { "rope.scaling.factor", F, 4, 0 }, { "rope.scaling.type", F, NAN, 0 },
          { "rope.scaling.factor", F, NAN, 0 }, { "rope.scaling.type", F, NAN, 0 });
    ALIKE("a magnitude of 1 is none", 1, 1, { "rope.scaling.attn_factor", F, 1, 0 }, { "rope.scaling.attn_factor", F, NAN, 0 });
    OTHER("a magnitude is not nothing", 1, 1, { "rope.scaling.attn_factor", F, 1.5, 0 }, { "rope.scaling.attn_factor", F, NAN, 0 });
    if (!is_layered) /* yarn's is not of layers with a rope of their own, attn_factor is */
        ALIKE("attn_factor multiplies yarn's", 4, 4, { "rope.scaling.type", S("yarn") }, { "rope.scaling.factor", F, 4, 0 },
          { "rope.scaling.yarn_attn_factor", F, NAN, 0 }, { "rope.scaling.attn_factor", F, 1.5, 0 },
          { "rope.scaling.type", S("yarn") }, { "rope.scaling.factor", F, 4, 0 },
          { "rope.scaling.yarn_attn_factor", F, (has_multiplier ? 1 : 1 + 0.1 * hn_math_log(4)) * 1.5, 0 }, { "rope.scaling.attn_factor", F, NAN, 0 });
    ALIKE("yarn's ramp is 32 to 1", 4, 4, { "rope.scaling.type", S("yarn") }, { "rope.scaling.factor", F, 4, 0 },
          { "rope.scaling.yarn_beta_fast", F, NAN, 0 }, { "rope.scaling.yarn_beta_slow", F, NAN, 0 },
          { "rope.scaling.type", S("yarn") }, { "rope.scaling.factor", F, 4, 0 },
          { "rope.scaling.yarn_beta_fast", F, 32, 0 }, { "rope.scaling.yarn_beta_slow", F, 1, 0 });
    ALIKE("a base of 10000 is usual", 1, 1, { "rope.freq_base", F, 10000, 0 }, { "rope.freq_base", F, NAN, 0 });
}

static void check_own(subject *s)
{
    if (!strcmp(s->name, "gemma2")) {
        ALIKE("scores are capped at 50", 1, 1, { "attn_logit_softcapping", F, 50, 0 }, { "attn_logit_softcapping", F, NAN, 0 });
        ALIKE("logits are capped at 30", 1, 1, { "final_logit_softcapping", F, 30, 0 }, { "final_logit_softcapping", F, NAN, 0 });
        ALIKE("the window is 4096", 1, 1, { "attention.sliding_window", U, 4096, 0 }, { "attention.sliding_window", F, NAN, 0 });
        ALIKE("every second layer slides", 1, 1, { "attention.sliding_window_pattern", U, 2, 0 }, { "attention.sliding_window_pattern", F, NAN, 0 });
        OTHER("a period of 0: all slide", 1, 1, { "attention.sliding_window_pattern", U, 0, 0 }, { "attention.sliding_window_pattern", F, NAN, 0 });
    }
    if (!strcmp(s->name, "gemma3")) {
        ALIKE("without a window all layers are full", 1, 1, { "attention.sliding_window", U, 0, 0 }, { "attention.sliding_window", F, NAN, 0 });
        ALIKE("and turn alike", 2, 2, { "attention.sliding_window", U, 0, 0 }, { "rope.freq_base_swa", F, 77, 0 },
              { "attention.sliding_window", U, 0, 0 }, { "rope.freq_base_swa", F, NAN, 0 });
        ALIKE("a sliding layer's base is 10000", 1, 1, { "rope.freq_base_swa", F, 10000, 0 }, { "rope.freq_base_swa", F, NAN, 0 });
    }
    if (!strcmp(s->name, "granite")) {
        ALIKE("0 multiplies by nothing", 2, 2, { "residual_scale", F, 0, 0 }, { "embedding_scale", F, 0, 0 },
              { "residual_scale", F, 1, 0 }, { "embedding_scale", F, NAN, 0 });
        ALIKE("without rope no base counts", 2, 2, { "rope.scaling.finetuned", HN_META_BOOL, 0, 0 }, { "rope.freq_base", F, 77, 0 },
              { "rope.scaling.finetuned", HN_META_BOOL, 0, 0 }, { "rope.freq_base", F, 10000, 0 });
        OTHER("rope may be missing", 1, 1, { "rope.scaling.finetuned", HN_META_BOOL, 0, 0 }, { "rope.scaling.finetuned", F, NAN, 0 });
    }
    if (!strcmp(s->name, "bert"))
        ALIKE("it is causal unless it says no", 1, 1, { "attention.causal", HN_META_BOOL, 1, 0 }, { "attention.causal", F, NAN, 0 });
}

/* ---- a model ---- */

static bool convert(const char *source, const char *path)
{
    hn_convert_options o = { 0 };
    hn_watch watch = { 0 };
    return CHECK_OK(hn_recipe_named("f32", &o.recipe)) &&
           CHECK_OK(hn_convert(&heap, pool, source, hn_sink_own(path), &o, &watch));
}

static void check_all(subject *s, char names[][64], int n_names)
{
    bool is_finite;
    if (!write_changed(&s->p, changed_path, NULL, NULL, 0) || !CHECK_OK(answer(s, changed_path, s->digest, &is_finite)))
        return;
    for (int i = 0; i < s->p.n_keys; i++)
        if (!strncmp(s->p.keys[i].key, s->arch->name, strlen(s->arch->name)) ||
            !strncmp(s->p.keys[i].key, "tokenizer.", 10) || !strncmp(s->p.keys[i].key, "hone.", 5))
            change_key(s, &s->p.keys[i]), list_layers(s, &s->p.keys[i]);
    for (int i = 0; i < n_names; i++)
        add_key(s, names[i]);
    const hn_key_row *factor = hn_key_of_field(s->arch->tables, HN_HP_rope_factor);
    if (s->arch->build && factor && strcmp(s->name, "gpt-oss") && strncmp(s->name, "gemma4", 6))
        check_rope(s);
    if (s->arch->build)
        check_own(s);
    const tally *t = &s->tally;
    printf("%-13s %5d changes: %4d move the answer, %4d nothing, %5d refused (%d by a tensor's "
           "shape), %d not finite; %d used keys idle\n", s->name, t->n, t->moved, t->same,
           t->refused, t->refused_by_shape, t->not_finite, t->idle);
}

static void check_model(const char *name, char names[][64], int n_names, tally *all)
{
    char source[512], path[128];
    hn_gguf *gguf = NULL;
    subject *s = calloc(1, sizeof *s);
    check_group(name);
    s->name = name;
    snprintf(source, sizeof source, "%s/tests/differential/models/%s", HN_SOURCE_DIR, name);
    snprintf(path, sizeof path, "%s/%s.gguf", dir, name);
    if (convert(source, path) && CHECK_OK(hn_gguf_open(&heap, path, &gguf)) &&
        CHECK_OK(hn_file_read(&heap, path, MAX_OUT, &s->p.file, &s->p.bytes))) {
        char *arch = NULL;
        CHECK_OK(hn_meta_text(hn_gguf_meta(gguf), "general.architecture", &arch));
        CHECK_OK(hn_arch_named(arch, &s->arch));
        hn_free(hn_gguf_meta(gguf)->heap, arch);
        if (take_apart(&s->p, gguf))
            check_all(s, names, n_names);
    }
    all->n += s->tally.n, all->moved += s->tally.moved, all->same += s->tally.same;
    all->refused += s->tally.refused, all->wrong += s->tally.wrong, all->idle += s->tally.idle;
    all->not_finite += s->tally.not_finite;
    hn_free(&heap, s->p.file);
    hn_gguf_close(gguf);
    unlink(path);
    free(s);
}

static int read_names(char names[][64])
{
    int n = 0;
    FILE *f = fopen(HN_SOURCE_DIR "/tests/differential/gguf_keys/names.txt", "r");
    while (f && n < MAX_NAMES && fscanf(f, "%63s", names[n]) == 1)
        n++;
    if (f)
        fclose(f);
    CHECK_THAT(n > 200, "%d names: expected those of llama.cpp", n);
    return n;
}

int main(int argc, char **argv)
{
    static const char *const models[] = {
        "llama",      "llama-tied", "mistral", "mixtral",  "qwen2",       "qwen3",      "qwen3moe",     "gemma2",
        "gemma3",     "gemma3n",    "gemma4-e", "gemma4-moe", "gemma4-dense", "gpt-oss", "gpt2",        "phi3",
        "olmoe",      "deepseek-v2", "deepseek-v2-groups", "deepseek-v3", "smollm3", "granite",  "granitemoe", "bert",
        "granitemoe-shared", "phi4-mini",
    };
    static char names[MAX_NAMES][64];
    const hn_device_options open = { .n_threads = 1 };
    const char *only = NULL;
    tally all = { 0 };
    size_t step = 1;
    for (int i = 1; i < argc; i++) {
        lists = lists || !strcmp(argv[i], "--list");
        step = !strcmp(argv[i], "--quick") ? 5 : step;
        only = argv[i][0] != '-' ? argv[i] : only;
    }
    check_open(1, argv);
    hn_heap_init(&heap, NULL);
    snprintf(dir, sizeof dir, "%s/hone-keys-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    const int n_names = read_names(names);
    if (CHECK(mkdtemp(dir)) && CHECK_OK(hn_devices_open(&heap, "cpu", &open, &n_devices, devices))) {
        snprintf(changed_path, sizeof changed_path, "%s/changed.gguf", dir);
        CHECK_OK(hn_pool_new(&heap, 1, &pool));
        for (size_t i = 0; i < sizeof models / sizeof *models; i += step)
            if (!only || !strcmp(only, models[i]))
                check_model(models[i], names, n_names, &all);
        hn_pool_free(pool);
        hn_devices_close(n_devices, devices);
        unlink(changed_path);
        rmdir(dir);
    }
    printf("%d changes: %d move the answer, %d nothing, %d are refused; %d not finite; %d used keys that move nothing, "
           "%d of them unexplained\n",
           all.n, all.moved, all.same, all.refused, all.not_finite, all.idle, all.wrong);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
