/* grapheme: rules GB3 to GB11 of Unicode's annex 29, over classes that were asked of the
 * library whose clusters these are.
 *
 * GB12 and GB13, which pair the letters of flags, are left out: no letter takes fewer than four
 * bytes, and of clusters of six bytes and more only their characters are asked. */
#include "text/unicode/grapheme.h"

#include "text/unicode/charset.h"
#include "text/unicode/grapheme_tables.h"

#include <stdbool.h>

enum { CLASS_LV = 32, CLASS_LVT, CLASS_CR, CLASS_LF };

static int class_of(uint32_t code)
{
    if (code >= 0xac00 && code < 0xd7a4)
        return (code - 0xac00) % 28 == 0 ? CLASS_LV : CLASS_LVT;
    if (code == '\r' || code == '\n')
        return code == '\r' ? CLASS_CR : CLASS_LF;
    if (code >= HN_BAD_CHAR)
        return HN_GRAPHEME_OTHER;
    size_t low = 0, high = HN_COUNT(hn_grapheme_runs);
    while (high - low > 1) { /* the run at `low` begins at or before it */
        const size_t middle = (low + high) / 2;
        if (hn_grapheme_runs[middle] >> 8 <= code)
            low = middle;
        else
            high = middle;
    }
    return (int)(hn_grapheme_runs[low] & 0xff);
}

static bool is_control(int class)
{
    return class == HN_GRAPHEME_CONTROL || class == CLASS_CR || class == CLASS_LF;
}

static bool extends(int class)
{
    return class == HN_GRAPHEME_EXTEND || class == HN_GRAPHEME_EXTEND_WITHIN ||
           class == HN_GRAPHEME_LINKER;
}

static bool joins_syllable(int before, int class)
{
    switch (before) {
    case HN_GRAPHEME_L:
        return class == HN_GRAPHEME_L || class == HN_GRAPHEME_V || class == CLASS_LV ||
               class == CLASS_LVT;
    case HN_GRAPHEME_V:
    case CLASS_LV:
        return class == HN_GRAPHEME_V || class == HN_GRAPHEME_T;
    case HN_GRAPHEME_T:
    case CLASS_LVT:
        return class == HN_GRAPHEME_T;
    default:
        return false;
    }
}

/* What rules that look further back than one character need of the cluster so far. */
typedef struct cluster {
    int last;
    bool has_pict, has_pict_joiner; /* a pictograph and what extends it; then a ZWJ */
    bool has_consonant, has_linker; /* a consonant and what goes on; a linker among it */
} cluster;

static bool joins(const cluster *c, int class)
{
    if (c->last == CLASS_CR && class == CLASS_LF)
        return true;
    if (is_control(c->last) || is_control(class))
        return false;
    if (extends(class) || class == HN_GRAPHEME_ZWJ || class == HN_GRAPHEME_SPACING)
        return true;
    return c->last == HN_GRAPHEME_PREPEND || joins_syllable(c->last, class) ||
           (c->has_linker && class == HN_GRAPHEME_CONSONANT) ||
           (c->has_pict_joiner && class == HN_GRAPHEME_PICT);
}

static void take(cluster *c, int class)
{
    const bool goes_on = class == HN_GRAPHEME_EXTEND_WITHIN || class == HN_GRAPHEME_LINKER ||
                         class == HN_GRAPHEME_ZWJ;
    c->has_pict_joiner = c->has_pict && class == HN_GRAPHEME_ZWJ;
    c->has_pict = class == HN_GRAPHEME_PICT || (c->has_pict && extends(class));
    c->has_linker =
        c->has_consonant && (class == HN_GRAPHEME_LINKER || (c->has_linker && goes_on));
    c->has_consonant = class == HN_GRAPHEME_CONSONANT || (c->has_consonant && goes_on);
    c->last = class;
}

size_t hn_grapheme_at(const uint8_t *at, const uint8_t *end)
{
    uint32_t code;
    cluster c = { 0 };
    if (*at < 0x80 && *at != '\r' && (end - at == 1 || at[1] < 0x80))
        return 1; /* as nearly always */
    size_t n = hn_char_at(at, end, &code);
    take(&c, class_of(code));
    while (at + n < end) {
        const size_t more = hn_char_at(at + n, end, &code);
        const int class = class_of(code);
        if (!joins(&c, class))
            break;
        take(&c, class);
        n += more;
    }
    return n;
}
