/* unicode: look-ups in the generated tables. All are sorted, so all are binary searches; what
 * is asked often is made a charset first. */
#include "text/unicode/unicode.h"

#include "text/unicode/unicode_tables.h"

#include <string.h>

static void add_category(hn_ranges *set, uint32_t category)
{
    const size_t n = HN_COUNT(hn_category_runs);
    for (size_t i = 0; i < n; i++) {
        if ((hn_category_runs[i] & 0xff) != category)
            continue;
        const uint32_t end = i + 1 < n ? hn_category_runs[i + 1] >> 8 : HN_BAD_CHAR;
        hn_ranges_add(set, hn_category_runs[i] >> 8, end - 1);
    }
    if (category == HN_CATEGORY_Cn)
        hn_ranges_add(set, HN_BAD_CHAR, HN_BAD_CHAR);
}

bool hn_unicode_add_property(hn_ranges *set, const char *name, size_t bytes)
{
    bool found = false;
    for (uint32_t c = 0; c < HN_N_CATEGORIES && bytes <= 2 && bytes; c++) {
        if (memcmp(hn_category_names[c], name, bytes) == 0) {
            add_category(set, c);
            found = true;
        }
    }
    for (size_t i = 0; i < HN_COUNT(hn_scripts) && !found; i++) {
        const hn_named_set *script = &hn_scripts[i];
        if (strlen(script->name) == bytes && memcmp(script->name, name, bytes) == 0) {
            hn_ranges_add_all(set, script->ranges, (size_t)script->n);
            found = true;
        }
    }
    return found;
}

void hn_unicode_add_set(hn_ranges *set, hn_unicode_set which)
{
#define SET(upper, lower)                                                                      \
    [HN_SET_##upper] = { #lower, hn_set_##lower, (int)HN_COUNT(hn_set_##lower) }
    static const hn_named_set sets[] = {
        SET(SPACE, space),
        SET(WORD, word),
        SET(WHITE, white),
        SET(PUNCTUATION, punctuation),
        SET(NUMERIC, numeric),
        SET(RUST_WORD, rust_word),
        SET(RUST_SPACE, rust_space),
        SET(BERT_REMOVED, bert_removed),
        SET(BERT_MARK, bert_mark),
        SET(ACCENT, accent),
        SET(NFC_TOUCHES, nfc_touches),
    };
#undef SET
    if (which == HN_SET_DIGIT)
        add_category(set, HN_CATEGORY_Nd);
    else
        hn_ranges_add_all(set, sets[which].ranges, (size_t)sets[which].n);
}

void hn_unicode_add_case_partners(hn_ranges *set, uint32_t letter)
{
    for (size_t i = 0; i < HN_COUNT(hn_case_partners); i++)
        if (hn_case_partners[i].low == letter)
            hn_ranges_add(set, hn_case_partners[i].high, hn_case_partners[i].high);
}

static const struct {
    const hn_mapping *rows;
    size_t n;
} maps[] = {
    [HN_MAP_NFD] = { hn_map_nfd, HN_COUNT(hn_map_nfd) },
    [HN_MAP_NFKD] = { hn_map_nfkd, HN_COUNT(hn_map_nfkd) },
    [HN_MAP_LOWER] = { hn_map_lower, HN_COUNT(hn_map_lower) },
};

void hn_unicode_add_mapped(hn_ranges *set, hn_unicode_map map)
{
    for (size_t i = 0; i < maps[map].n; i++)
        hn_ranges_add(set, maps[map].rows[i].code, maps[map].rows[i].code);
}

void hn_unicode_add_combining(hn_ranges *set)
{
    for (size_t i = 0; i < HN_COUNT(hn_combining_classes); i++)
        hn_ranges_add(set, hn_combining_classes[i].low, hn_combining_classes[i].high);
}

const uint32_t *hn_unicode_map_of(hn_unicode_map map, uint32_t code, size_t *n)
{
    size_t low = 0, high = maps[map].n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (maps[map].rows[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == maps[map].n || maps[map].rows[low].code != code)
        return NULL;
    *n = maps[map].rows[low].length;
    return hn_map_pool + maps[map].rows[low].at;
}

uint32_t hn_unicode_combining_class(uint32_t code)
{
    size_t low = 0, high = HN_COUNT(hn_combining_classes);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (hn_combining_classes[middle].high < code)
            low = middle + 1;
        else
            high = middle;
    }
    const bool found =
        low < HN_COUNT(hn_combining_classes) && hn_combining_classes[low].low <= code;
    return found ? hn_combining_classes[low].class : 0;
}

uint32_t hn_unicode_compose(uint32_t first, uint32_t second)
{
    if (first >= 0x1100 && first < 0x1113 && second >= 0x1161 && second < 0x1176)
        return 0xac00 + ((first - 0x1100) * 21 + (second - 0x1161)) * 28;
    if (first >= 0xac00 && first < 0xd7a4 && (first - 0xac00) % 28 == 0 && second > 0x11a7 &&
        second < 0x11c3)
        return first + (second - 0x11a7);
    size_t low = 0, high = HN_COUNT(hn_compositions);
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const hn_composition *c = &hn_compositions[middle];
        if (c->first < first || (c->first == first && c->second < second))
            low = middle + 1;
        else
            high = middle;
    }
    const hn_composition *c = &hn_compositions[low];
    if (low < HN_COUNT(hn_compositions) && c->first == first && c->second == second)
        return c->whole;
    return 0;
}
