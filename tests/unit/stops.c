/* Stops in a text that comes piece by piece: what is told is the text before the first of them, never more of it on the way, and
 * all that cannot be a stop's beginning at once. And the seeds of a request's choices. */
#include "server/answer.h"
#include "tests/harness/check.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 40, MOST_STOP = 5, N_TRIES = 20000 };

static uint32_t draw(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

static void draw_text(uint64_t *state, char *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (char)('a' + draw(state, 2));
    to[n] = '\0';
}

/* Where the one begins that is whole first, and of these the longest. */
static size_t first_stop(const hn_stops *stops, const char *text)
{
    const size_t n = strlen(text);
    for (size_t end = 1; end <= n; end++) {
        size_t longest = 0;
        for (int i = 0; i < stops->n; i++) {
            const size_t m = strlen(stops->at[i]);
            if (m <= end && m > longest && !strncmp(text + end - m, stops->at[i], m))
                longest = m;
        }
        if (longest)
            return end - longest;
    }
    return n;
}

/* Whether any more text could make a stop of what stands from `at` on. */
static bool may_begin(const hn_stops *stops, const char *text, size_t at, size_t n)
{
    for (int i = 0; i < stops->n; i++)
        if (strlen(stops->at[i]) > n - at && !memcmp(text + at, stops->at[i], n - at))
            return true;
    return false;
}

/* In pieces, as an answer tells it: how much was told at the end. */
static size_t tell(const hn_stops *stops, const char *text, uint64_t *state)
{
    const size_t n = strlen(text);
    size_t told = 0, known = 0;
    while (known < n) {
        int which;
        known += 1 + draw(state, 3);
        known = known < n ? known : n;
        const size_t at = hn_stops_find(stops, text, known, told, &which);
        if (at < known)
            return at;
        const size_t safe = hn_stops_safe(stops, text, known);
        CHECK(safe >= told && safe <= known);
        CHECK(safe == known || may_begin(stops, text, safe, known));
        for (size_t i = told; i < safe; i++)
            CHECK(!may_begin(stops, text, i, known));
        told = safe;
    }
    return n;
}

static void check_seeds(void)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        CHECK(hn_choice_seed(seed, 0) == seed);
        for (int32_t i = 0; i < 16; i++)
            for (int32_t k = 0; k < i; k++)
                CHECK(hn_choice_seed(seed, i) != hn_choice_seed(seed, k));
    }
    /* The function is a promise: these are its values. */
    CHECK(hn_choice_seed(0, 1) == UINT64_C(0xe220a8397b1dcdaf));
    CHECK(hn_choice_seed(7, 3) == UINT64_C(0xe6984080bab12a02));
}

int main(int argc, char **argv)
{
    char text[MOST_TEXT + 1], words[3][MOST_STOP + 1];
    check_open(argc, argv);
    uint64_t state = check_seed();
    int n_stopped = 0;
    for (int i = 0; i < N_TRIES; i++) {
        hn_stops stops = { .n = (int)draw(&state, 4) };
        for (int k = 0; k < stops.n; k++) {
            draw_text(&state, words[k], 1 + draw(&state, MOST_STOP));
            stops.at[k] = words[k];
        }
        draw_text(&state, text, draw(&state, MOST_TEXT));
        const size_t first = first_stop(&stops, text);
        CHECK_INT((int64_t)first, (int64_t)tell(&stops, text, &state));
        n_stopped += first < strlen(text);
    }
    CHECK(n_stopped > N_TRIES / 10);
    check_seeds();
    return check_close();
}
