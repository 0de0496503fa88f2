/* Names with stars and question marks, against a matcher that tries everything. */
#include "base/pattern.h"
#include "base/rng.h"
#include "tests/harness/check.h"

static bool tried(const char *pattern, const char *text)
{
    if (*pattern == '*')
        return tried(pattern + 1, text) || (*text && tried(pattern, text + 1));
    if (!*pattern || !*text)
        return !*pattern && !*text;
    return (*pattern == '?' || *pattern == *text) && tried(pattern + 1, text + 1);
}

static void draw(hn_rng_key key, const char *from, uint32_t n_from, int most, char *out)
{
    const int n = (int)hn_rng_below(key, 0, (uint32_t)most + 1);
    for (int i = 0; i < n; i++)
        out[i] = from[hn_rng_below(key, (uint64_t)i + 1, n_from)];
    out[n] = 0;
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    const hn_rng_key key = hn_rng_seed(check_seed());
    int matched = 0;
    for (uint64_t i = 0; i < 200000; i++) {
        char pattern[10], text[12];
        draw(hn_rng_fold(key, 2 * i), "ab*?", 4, 8, pattern);
        draw(hn_rng_fold(key, 2 * i + 1), "ab", 2, 10, text);
        const bool want = tried(pattern, text);
        matched += want;
        CHECK_THAT(hn_pattern_matches(pattern, text) == want, "'%s' on '%s': %d", pattern, text, want);
    }
    CHECK_THAT(matched > 10000, "%d matched", matched);
    CHECK(hn_pattern_matches("blk.?.attn_*.weight", "blk.3.attn_q.weight"));
    CHECK(!hn_pattern_matches("blk.?.attn_*.weight", "blk.13.attn_q.weight"));
    return check_close();
}
