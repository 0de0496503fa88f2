/* Letters left out, put in, changed and swapped, each one step; case and how words are joined are
 * none. */
#include "base/nearest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 48 };

/* In small letters, without what joins words; at most MOST. Returns its length. */
static size_t plain(const char *word, size_t n, char out[MOST])
{
    size_t length = 0;
    for (size_t i = 0; i < n && length < MOST; i++) {
        const char c = word[i];
        if (c != '_' && c != '-')
            out[length++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return length;
}

static int least(int a, int b, int c)
{
    const int d = a < b ? a : b;
    return d < c ? d : c;
}

static int distance(const char *a, size_t n, const char *b, size_t m)
{
    int rows[3][MOST + 1];
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *now = rows[i % 3];
        const int *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            const bool same = a[i - 1] == b[j - 1];
            now[j] = least(last[j] + 1, now[j - 1] + 1, last[j - 1] + !same);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

hn_nearest hn_nearest_to(const char *word, size_t bytes)
{
    return (hn_nearest){ .word = word, .bytes = bytes < MOST ? bytes : MOST,
                         .distance = (int)(bytes < MOST ? bytes : MOST) / 3 + 2 };
}

void hn_nearest_try(hn_nearest *n, const char *known)
{
    char word[MOST], other[MOST];
    const size_t m = plain(known, strlen(known), other);
    const int d = distance(word, plain(n->word, n->bytes, word), other, m);
    if (!n->bytes || d >= n->distance || d >= (int)m)
        return;
    n->distance = d;
    n->best = known;
}

const char *hn_nearest_text(const hn_nearest *n, const char *before, char out[HN_NEAREST_TEXT])
{
    out[0] = 0;
    if (n->best)
        snprintf(out, HN_NEAREST_TEXT, ", did you mean %s%s?", before, n->best);
    return out;
}
