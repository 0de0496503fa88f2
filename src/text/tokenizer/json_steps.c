/* json_steps: normalisers and pre-tokenisers of tokenizer.json as steps. */
#include "text/tokenizer/json_parts.h"

#include <string.h>

const char *hn_json_text_of(const hn_json *value, const char *key)
{
    const hn_json *text = hn_json_get(value, key);
    return hn_json_string(text);
}

bool hn_json_flag_of(const hn_json *value, const char *key, bool otherwise)
{
    const hn_json *flag = hn_json_get(value, key);
    return flag && flag->kind == HN_JSON_BOOL ? hn_json_is_true(flag) : otherwise;
}

hn_status hn_json_unknown(const hn_json_loader *l, const char *part, const hn_json *step)
{
    const char *type = hn_json_text_of(step, "type");
    return hn_fail(HN_ERR_UNSUPPORTED, "%s: %s: '%.60s' is none that hone knows", l->file, part,
                   type);
}

/* The parts of a Sequence are under a key that its place gives. */
static const hn_json *parts_of(const hn_json *step)
{
    static const char *const keys[] = { "normalizers", "pretokenizers", "processors",
                                        "decoders" };
    for (size_t i = 0; i < HN_COUNT(keys); i++) {
        const hn_json *parts = hn_json_get(step, keys[i]);
        if (parts && parts->kind == HN_JSON_ARRAY)
            return parts;
    }
    return NULL;
}

bool hn_json_has_type(const hn_json *step, const char *type)
{
    if (!step || step->kind != HN_JSON_OBJECT)
        return false;
    const hn_json *parts = parts_of(step);
    for (const hn_json *p = hn_json_first(parts); p; p = p->next)
        if (hn_json_has_type(p, type))
            return true;
    return strcmp(hn_json_text_of(step, "type"), type) == 0;
}

static int sextet(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static hn_status add_charsmap(hn_json_loader *l, const char *map, size_t bytes)
{
    hn_status status = bytes ? hn_charsmap_check(map, bytes) : HN_OK;
    if (status == HN_OK && bytes)
        status = hn_normalizer_add_text(&l->tok->normalizer, HN_NORM_CHARSMAP, map, bytes);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: normalizer: ", l->file);
}

static hn_status read_charsmap(hn_json_loader *l, const hn_json *step)
{
    const hn_json *text = hn_json_get(step, "precompiled_charsmap");
    if (l->charsmap.data && text && text->kind == HN_JSON_NULL)
        return add_charsmap(l, l->charsmap.data, l->charsmap.bytes);
    HN_REQUIRE(text && text->kind == HN_JSON_STRING, HN_ERR_FORMAT,
               "%s: normalizer Precompiled: precompiled_charsmap is missing", l->file);
    const size_t n = hn_json_bytes(text);
    char *map = hn_alloc(l->tok->heap, HN_TAG_TEXT, n + 1);
    if (!map)
        return HN_ERR_MEMORY;
    size_t bytes = 0;
    uint32_t bits = 0;
    int n_bits = 0;
    for (size_t i = 0; i < n; i++) {
        const int value = sextet(hn_json_string(text)[i]);
        if (value < 0)
            continue;
        bits = bits << 6 | (uint32_t)value;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            map[bytes++] = (char)(bits >> n_bits);
            bits &= (1u << n_bits) - 1;
        }
    }
    const hn_status status = add_charsmap(l, map, bytes);
    hn_free(l->tok->heap, map);
    return status;
}

/* {"String": "x"} or {"Regex": "x"}. */
static hn_status read_pattern(const hn_json_loader *l, const hn_json *step, hn_regex **out)
{
    const hn_json *pattern = hn_json_get(step, "pattern");
    const hn_json *literal = hn_json_get(pattern, "String"),
                  *regex = hn_json_get(pattern, "Regex");
    const hn_json *text = literal ? literal : regex;
    HN_REQUIRE(text && text->kind == HN_JSON_STRING, HN_ERR_FORMAT,
               "%s: %s: pattern is missing", l->file, hn_json_text_of(step, "type"));
    const hn_status status = (literal ? hn_regex_new_literal : hn_regex_new)(
        l->tok->heap, hn_json_string(text), hn_json_bytes(text), out);
    return status == HN_OK ? HN_OK : hn_fail_within(status, "%s: ", l->file);
}

static hn_status read_replace(hn_json_loader *l, const hn_json *step)
{
    hn_regex *regex = NULL;
    const hn_json *content = hn_json_get(step, "content");
    HN_REQUIRE(content && content->kind == HN_JSON_STRING, HN_ERR_FORMAT,
               "%s: normalizer Replace: content is missing", l->file);
    HN_TRY(read_pattern(l, step, &regex));
    hn_normalizer *norm = &l->tok->normalizer;
    const hn_status status = hn_normalizer_add_text(
        norm, HN_NORM_REPLACE, hn_json_string(content), hn_json_bytes(content));
    if (status == HN_OK)
        norm->steps[norm->n - 1].regex = regex;
    else
        hn_regex_free(regex);
    return status;
}

static hn_status add_nmt(hn_normalizer *norm)
{
    static const hn_range removed[] = { { 1, 8 },       { 0xb, 0xb },   { 0xe, 0x1f },
                                        { 0x7f, 0x7f }, { 0x8f, 0x8f }, { 0x9f, 0x9f } };
    static const hn_range blank[] = { { 9, 0xa },         { 0xc, 0xd },
                                      { 0x1680, 0x1680 }, { 0x200b, 0x200f },
                                      { 0x2028, 0x2029 }, { 0x2581, 0x2581 },
                                      { 0xfeff, 0xfeff }, { 0xfffd, 0xfffd } };
    hn_ranges set = hn_ranges_on(norm->heap);
    hn_ranges_add_all(&set, removed, HN_COUNT(removed));
    HN_TRY(hn_normalizer_add_set(norm, HN_NORM_REMOVE, &set));
    hn_ranges_add_all(&set, blank, HN_COUNT(blank));
    return hn_normalizer_add_set(norm, HN_NORM_BLANK, &set);
}

static hn_status add_of_set(hn_normalizer *norm, hn_norm_kind kind, hn_unicode_set which)
{
    hn_ranges set = hn_ranges_on(norm->heap);
    hn_unicode_add_set(&set, which);
    return hn_normalizer_add_set(norm, kind, &set);
}

static hn_status read_plain(hn_json_loader *l, const hn_json *step, const char *type,
                            bool is_last)
{
    hn_normalizer *norm = &l->tok->normalizer;
    static const char *const forms[] = {
        [HN_NFC] = "NFC", [HN_NFD] = "NFD", [HN_NFKC] = "NFKC", [HN_NFKD] = "NFKD"
    };
    for (size_t i = 0; i < HN_COUNT(forms); i++)
        if (strcmp(type, forms[i]) == 0)
            return hn_normalizer_add_form(norm, (hn_form)i);
    if (strcmp(type, "Lowercase") == 0)
        return hn_normalizer_add(norm, (hn_norm_step){ .kind = HN_NORM_LOWER });
    if (strcmp(type, "StripAccents") == 0)
        return add_of_set(norm, HN_NORM_REMOVE, HN_SET_ACCENT);
    if (strcmp(type, "Nmt") == 0)
        return add_nmt(norm);
    if (strcmp(type, "Strip") == 0) {
        HN_TRY(add_of_set(norm, HN_NORM_STRIP, HN_SET_WHITE));
        norm->steps[norm->n - 1].left = hn_json_flag_of(step, "strip_left", true);
        norm->steps[norm->n - 1].right = hn_json_flag_of(step, "strip_right", true);
        return HN_OK;
    }
    if (strcmp(type, "Prepend") == 0) {
        const char *text = hn_json_text_of(step, "prepend");
        l->prepends_mark |= strcmp(text, "\xe2\x96\x81") == 0;
        return hn_normalizer_add_text(norm, HN_NORM_PREPEND, text, strlen(text));
    }
    if (strcmp(type, "ByteLevel") == 0) {
        const hn_json *pre = hn_json_get(l->root, "pre_tokenizer");
        HN_REQUIRE(!hn_json_has_type(pre, "ByteLevel"), HN_ERR_UNSUPPORTED,
                   "%s: ByteLevel both as normalizer and pre_tokenizer", l->file);
        if (is_last && (!pre || pre->kind == HN_JSON_NULL))
            return HN_OK; /* nothing looks at the characters */
        l->tok->splitter.has_byte_chars = true;
        return hn_normalizer_add(norm, (hn_norm_step){ .kind = HN_NORM_BYTE_CHARS });
    }
    return hn_json_unknown(l, "normalizer", step);
}

hn_status hn_json_read_normalizer(hn_json_loader *l, const hn_json *step, bool is_last)
{
    if (!step || step->kind == HN_JSON_NULL)
        return HN_OK;
    const char *type = hn_json_text_of(step, "type");
    const hn_json *parts = parts_of(step);
    if (strcmp(type, "Sequence") == 0) {
        for (const hn_json *p = hn_json_first(parts); p; p = p->next)
            HN_TRY(hn_json_read_normalizer(l, p, is_last && !p->next));
        return HN_OK;
    }
    if (strcmp(type, "Replace") == 0)
        return read_replace(l, step);
    if (strcmp(type, "Precompiled") == 0)
        return read_charsmap(l, step);
    if (strcmp(type, "BertNormalizer") == 0) {
        const bool lower = hn_json_flag_of(step, "lowercase", true);
        return hn_normalizer_add_bert(&l->tok->normalizer,
                                      hn_json_flag_of(step, "clean_text", true),
                                      hn_json_flag_of(step, "handle_chinese_chars", true),
                                      hn_json_flag_of(step, "strip_accents", lower), lower);
    }
    return read_plain(l, step, type, is_last);
}

static hn_status read_behavior(const hn_json_loader *l, const hn_json *step,
                               hn_split_behavior *out)
{
    static const char *const names[] = { [HN_SPLIT_ISOLATED] = "Isolated",
                                         [HN_SPLIT_REMOVED] = "Removed",
                                         [HN_SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
                                         [HN_SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
                                         [HN_SPLIT_CONTIGUOUS] = "Contiguous" };
    const char *text = hn_json_text_of(step, "behavior");
    *out = HN_SPLIT_ISOLATED;
    for (size_t i = 0; i < HN_COUNT(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (hn_split_behavior)i;
            return HN_OK;
        }
    }
    HN_REQUIRE(!*text, HN_ERR_UNSUPPORTED, "%s: pre_tokenizer: behavior '%.40s'", l->file,
               text);
    return HN_OK;
}

static hn_status read_split(hn_json_loader *l, const hn_json *step)
{
    hn_split_step split = { .kind = HN_SPLIT_REGEX,
                            .inverts = hn_json_flag_of(step, "invert", false) };
    HN_TRY(read_behavior(l, step, &split.behavior));
    HN_TRY(read_pattern(l, step, &split.regex));
    return hn_splitter_add(&l->tok->splitter, split);
}

static hn_status read_metaspace(hn_json_loader *l, const hn_json *step)
{
    const char *mark = hn_json_text_of(step, "replacement"),
               *scheme = hn_json_text_of(step, "prepend_scheme");
    hn_split_step split = { .kind = HN_SPLIT_METASPACE,
                            .prepends = hn_json_flag_of(step, "add_prefix_space", true) };
    const size_t n = strlen(mark);
    HN_REQUIRE(n && n < sizeof split.mark, HN_ERR_FORMAT,
               "%s: Metaspace: replacement is missing", l->file);
    memcpy(split.mark, mark, n);
    split.prepends &= strcmp(scheme, "never") != 0;
    split.only_first = strcmp(scheme, "first") == 0;
    HN_REQUIRE(!*scheme || split.only_first || !strcmp(scheme, "never") ||
                   !strcmp(scheme, "always"),
               HN_ERR_UNSUPPORTED, "%s: Metaspace: prepend_scheme '%.40s'", l->file, scheme);
    l->prepends_mark |= split.prepends;
    HN_TRY(hn_splitter_add(&l->tok->splitter, split));
    if (!hn_json_flag_of(step, "split", true))
        return HN_OK;
    hn_split_step cut = { .kind = HN_SPLIT_REGEX, .behavior = HN_SPLIT_MERGED_WITH_NEXT };
    HN_TRY(hn_regex_new_literal(l->tok->heap, mark, n, &cut.regex));
    return hn_splitter_add(&l->tok->splitter, cut);
}

static const char byte_level_pattern[] =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

static hn_status read_byte_level(hn_json_loader *l, const hn_json *step, bool is_last)
{
    hn_splitter *sp = &l->tok->splitter;
    if (hn_json_flag_of(step, "add_prefix_space", true))
        HN_TRY(hn_splitter_add(
            sp,
            (hn_split_step){ .kind = HN_SPLIT_PREFIX_SPACE, .prepends = true, .mark = " " }));
    if (hn_json_flag_of(step, "use_regex", true))
        HN_TRY(hn_splitter_add_pattern(sp, byte_level_pattern, HN_SPLIT_ISOLATED));
    return is_last ? HN_OK
                   : hn_splitter_add(sp, (hn_split_step){ .kind = HN_SPLIT_BYTE_CHARS });
}

static hn_status read_sets(hn_json_loader *l, const hn_json *step, const char *type)
{
    hn_splitter *sp = &l->tok->splitter;
    hn_split_behavior behavior;
    if (strcmp(type, "Digits") == 0) {
        const bool alone = hn_json_flag_of(step, "individual_digits", false);
        return hn_splitter_add_set(sp, HN_SET_NUMERIC,
                                   alone ? HN_SPLIT_ISOLATED : HN_SPLIT_CONTIGUOUS);
    }
    if (strcmp(type, "Punctuation") == 0) {
        HN_TRY(read_behavior(l, step, &behavior));
        return hn_splitter_add_set(sp, HN_SET_PUNCTUATION, behavior);
    }
    if (strcmp(type, "WhitespaceSplit") == 0)
        return hn_splitter_add_set(sp, HN_SET_WHITE, HN_SPLIT_REMOVED);
    if (strcmp(type, "BertPreTokenizer") == 0) {
        HN_TRY(hn_splitter_add_set(sp, HN_SET_WHITE, HN_SPLIT_REMOVED));
        return hn_splitter_add_set(sp, HN_SET_PUNCTUATION, HN_SPLIT_ISOLATED);
    }
    if (strcmp(type, "Whitespace") == 0) {
        HN_TRY(hn_splitter_add_set(sp, HN_SET_RUST_SPACE, HN_SPLIT_REMOVED));
        return hn_splitter_add_set(sp, HN_SET_RUST_WORD, HN_SPLIT_CONTIGUOUS);
    }
    if (strcmp(type, "CharDelimiterSplit") == 0) {
        const char *delimiter = hn_json_text_of(step, "delimiter");
        hn_split_step cut = { .kind = HN_SPLIT_REGEX, .behavior = HN_SPLIT_REMOVED };
        HN_TRY(hn_regex_new_literal(l->tok->heap, delimiter, strlen(delimiter), &cut.regex));
        return hn_splitter_add(sp, cut);
    }
    return hn_json_unknown(l, "pre_tokenizer", step);
}

hn_status hn_json_read_split(hn_json_loader *l, const hn_json *step, bool is_last)
{
    if (!step || step->kind == HN_JSON_NULL)
        return HN_OK;
    const char *type = hn_json_text_of(step, "type");
    const hn_json *parts = parts_of(step);
    if (strcmp(type, "Sequence") == 0) {
        for (const hn_json *p = hn_json_first(parts); p; p = p->next)
            HN_TRY(hn_json_read_split(l, p, is_last && !p->next));
        return HN_OK;
    }
    if (strcmp(type, "Split") == 0)
        return read_split(l, step);
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(l, step);
    if (strcmp(type, "ByteLevel") == 0)
        return read_byte_level(l, step, is_last);
    return read_sets(l, step, type);
}
