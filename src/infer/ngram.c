/* The longest run of last tokens that occurred before is looked for from the end, so of equal ones the latest
 * counts; what followed it is guessed, over and over where it reaches the end. */
#include "infer/ngram.h"

/* How many of the tokens before `at` are the last ones of the sequence, up to `longest`. */
static int64_t run_before(const int32_t *tokens, int64_t n, int64_t at, int64_t longest)
{
    int64_t length = 0;
    while (length < longest && length < at && tokens[at - 1 - length] == tokens[n - 1 - length])
        length++;
    return length;
}

int64_t hn_ngram_guess(const int32_t *tokens, int64_t n, int64_t longest, int64_t shortest, int64_t most, int32_t *guess)
{
    int64_t best = 0, from = 0;
    for (int64_t at = n - 1; at > 0 && best < longest; at--) {
        const int64_t length = run_before(tokens, n, at, longest);
        if (length > best) {
            best = length;
            from = at;
        }
    }
    if (best < shortest)
        return 0;
    for (int64_t i = 0; i < most; i++)
        guess[i] = from + i < n ? tokens[from + i] : guess[from + i - n];
    return most;
}
