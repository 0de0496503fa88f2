/* A name is parts between hyphens, and each may be several things at first; rules then take away. Their order is
 * the converter's: in another one, other names come out. */
#include "convert/model_name.h"

#include "base/ascii.h"
#include "base/mathfn.h"
#include "base/utf8.h"
#include "text/unicode/python.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS = HN_NAME_TEXT / 2, MORE_ROOM = 2 }; /* a size may get a point */

/* What a part may be; several at a time. */
enum { BASENAME = 1, SIZE = 2, FINETUNE = 4, VERSION = 8, TYPE = 16 };

typedef struct part {
    char *text; /* of its length and MORE_ROOM */
    unsigned is;
} part;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c); }

static bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

static bool is_word(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (hn_ascii_same(text, *words))
            return true;
    return false;
}

static const char *skip_digits(const char *at)
{
    while (is_digit(*at))
        at++;
    return at;
}

/* Digits of any script, as Python's \d. */
static const char *skip_decimals(const char *at)
{
    for (size_t n; (n = hn_utf8_length(at, strlen(at))); at += n)
        if (!hn_tpl_is_in(HN_TPL_DECIMAL, hn_tpl_code_at(at, &n)))
            break;
    return at;
}

/* "v1.2", "iter3", "2.5" */
static bool is_version(const char *text)
{
    const char *at = text;
    if (lower(at[0]) == 'v')
        at++;
    else if (hn_ascii_same_n(at, "iter", 4))
        at += 4;
    for (;; at++) {
        const char *end = skip_decimals(at);
        if (end == at)
            return false;
        if (!*end)
            return true;
        if (*end != '.')
            return false;
        at = end;
    }
}

/* "Q4_K_M", "IQ2_XS", "F16", "bf16" */
static bool is_type(const char *text)
{
    static const char *const floats[] = { "f16",  "f32",   "fp16",  "fp32", "bf16",
                                          "bf32", "bfp16", "bfp32", NULL };
    const char *at = text + (lower(text[0]) == 'i');
    if (is_word(text, floats))
        return true;
    if (lower(at[0]) != 'q' || !is_digit(at[1]))
        return false;
    for (at += 2; at[0] == '_' && (is_letter(at[1]) || is_digit(at[1]) || at[1] == '_');
         at += 2)
        continue;
    return !*at;
}

/* "7B", "8x7B", "A3B", "0.6B", "7b1", "small" */
static bool is_size(const char *text)
{
    static const char *const words[] = {
        "small", "mini", "medium", "large", "xl", "xxl", NULL
    };
    const char *at = text, *end = skip_digits(text);
    if (is_word(text, words))
        return true;
    if (lower(*at) == 'a')
        at++;
    else if (end > at && lower(*end) == 'x')
        at = end + 1;
    end = skip_digits(at);
    if (end == at)
        return false;
    if ((*end == '.' || *end == '_') && is_digit(end[1]))
        end = skip_digits(end + 1);
    if (!*end || !strchr("kmbt", lower(*end)))
        return false;
    end++;
    return !*end || (is_digit(*end) && !end[1]);
}

/* Whether a size is that of this model, not of its context. */
static bool is_near(const char *size, double parameters)
{
    const size_t n = strlen(size);
    double number = 0;
    const char *letter = strchr(" KMBT", size[n - 1]);
    if (hn_number_read(size, n, &number) != n - 1 || !letter || n < 2)
        return true; /* no plain number: taken at its word */
    const double label = number * hn_math_pow(1000, (double)(letter - " KMBT"));
    return fabs(label - parameters) <= floor(7 * parameters / 8);
}

static void read_size(part *p, double parameters)
{
    size_t n = strlen(p->text);
    for (size_t i = 0; i < n; i++)
        if (p->text[i] == '_')
            p->text[i] = '.';
    if (is_digit(p->text[n - 1])) { /* bloom's 7b1 is 7.1B */
        const char letter = p->text[n - 2], digit = p->text[n - 1];
        p->text[n - 2] = '.';
        p->text[n - 1] = digit;
        p->text[n++] = letter;
        p->text[n] = '\0';
    }
    if (n > 1 && is_digit(p->text[n - 2]) && strchr("kmbt", p->text[n - 1]))
        p->text[n - 1] = (char)(p->text[n - 1] - 32);
    if (is_near(p->text, parameters)) {
        p->is |= SIZE;
        return;
    }
    p->is |= FINETUNE;
    p->text[n - 1] = lower(p->text[n - 1]);
}

static void annotate(part *p, bool is_first, double parameters)
{
    static const char *const tunes[] = { "chat", "instruct", "vision", "lora", NULL };
    if (is_version(p->text)) {
        p->is |= VERSION;
    } else if (is_type(p->text)) {
        p->is |= TYPE;
        for (char *c = p->text; *c; c++)
            *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
    } else if (!is_first && is_size(p->text)) {
        read_size(p, parameters);
    } else if (!is_first && is_word(p->text, tunes)) {
        p->is |= FINETUNE;
    }
}

/* Sizes in words give way to those in numbers. */
static void drop_words(part *parts, int n)
{
    bool has_number = false;
    for (int i = 0; i < n; i++)
        has_number = has_number || (parts[i].is & SIZE && strpbrk(parts[i].text, "0123456789"));
    for (int i = 0; i < n && has_number; i++)
        if (parts[i].is & SIZE && !strpbrk(parts[i].text, "0123456789."))
            parts[i].is &= ~(unsigned)SIZE;
}

/* Whether a word begins with a letter of any script. */
static bool starts_with_letter(const char *text)
{
    size_t n = hn_utf8_length(text, strlen(text));
    return n && hn_tpl_is_in(HN_TPL_ALPHA, hn_tpl_code_at(text, &n));
}

/* The name proper is at the start; versions at its end are none of it. */
static void find_basename(part *parts, int n)
{
    bool at_start = true;
    for (int i = 0; i < n; i++) {
        part *p = &parts[i];
        if (at_start && ((!p->is && starts_with_letter(p->text)) || p->is & VERSION)) {
            p->is |= BASENAME;
            continue;
        }
        at_start = false;
        if (!p->is)
            p->is |= FINETUNE;
    }
    for (int i = n - 1; i >= 0 && parts[i].is & BASENAME && parts[i].is != BASENAME; i--)
        parts[i].is &= ~(unsigned)BASENAME;
}

static bool came_before(const part *parts, int i, unsigned is)
{
    for (int k = 0; k < i; k++)
        if (parts[k].is & is && !strcmp(parts[k].text, parts[i].text))
            return true;
    return false;
}

static void join(const part *parts, int n, unsigned is, unsigned is_not, char *out)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < n; i++)
        if (parts[i].is & is && !(parts[i].is & is_not) &&
            !(is == SIZE && came_before(parts, i, SIZE)))
            used += (size_t)snprintf(out + used, HN_NAME_ROOM - used, "%s%s", used ? "-" : "",
                                     parts[i].text);
}

void hn_model_name_read(const char *name, double parameters, hn_model_name *out)
{
    part parts[MAX_PARTS];
    char texts[HN_NAME_TEXT + MAX_PARTS * (MORE_ROOM + 1)], *to = texts;
    int n = 0;
    *out = (hn_model_name){ 0 };
    if (strchr(name, ' ') || strlen(name) >= HN_NAME_TEXT)
        return; /* a sentence, not a name */
    for (const char *at = name; *at; at += strspn(at, "-")) {
        const size_t length = strcspn(at, "-");
        if (length) {
            memcpy(to, at, length);
            to[length] = '\0';
            parts[n++] = (part){ .text = to };
            to += length + 1 + MORE_ROOM;
        }
        at += length;
    }
    for (int i = 0; i < n; i++)
        annotate(&parts[i], i == 0, parameters);
    drop_words(parts, n);
    find_basename(parts, n);
    join(parts, n, BASENAME, 0, out->basename);
    join(parts, n, SIZE, 0, out->size);
    join(parts, n, FINETUNE, 0, out->finetune);
    join(parts, n, VERSION, BASENAME, out->version);
    if (!out->size[0] && !out->finetune[0] && !out->version[0])
        out->basename[0] = '\0'; /* one word says too little */
}
