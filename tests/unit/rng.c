/* Philox4x32, of ten rounds and of seven, against the known answers that its authors publish (Random123, kat_vectors). */
#include "base/rng.h"
#include "tests/harness/check.h"

static void check_words(int rounds, hn_rng_key key, uint64_t low, uint64_t high, const uint32_t want[4])
{
    uint32_t got[4];
    hn_rng_after(rounds, key, low, high, got);
    for (int i = 0; i < 4; i++)
        CHECK_INT(want[i], got[i]);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_words(HN_RNG_ROUNDS, (hn_rng_key){ { 0, 0 } }, 0, 0,
                (const uint32_t[]){ 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 });
    check_words(HN_RNG_ROUNDS, (hn_rng_key){ { 0xffffffff, 0xffffffff } }, UINT64_MAX, UINT64_MAX,
                (const uint32_t[]){ 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd });
    check_words(HN_RNG_ROUNDS, (hn_rng_key){ { 0xa4093822, 0x299f31d0 } }, UINT64_C(0x85a308d3243f6a88),
                UINT64_C(0x0370734413198a2e),
                (const uint32_t[]){ 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 });
    check_words(HN_RNG_MASS_ROUNDS, (hn_rng_key){ { 0, 0 } }, 0, 0,
                (const uint32_t[]){ 0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48 });
    check_words(HN_RNG_MASS_ROUNDS, (hn_rng_key){ { 0xffffffff, 0xffffffff } }, UINT64_MAX, UINT64_MAX,
                (const uint32_t[]){ 0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662 });
    check_words(HN_RNG_MASS_ROUNDS, (hn_rng_key){ { 0xa4093822, 0x299f31d0 } }, UINT64_C(0x85a308d3243f6a88),
                UINT64_C(0x0370734413198a2e),
                (const uint32_t[]){ 0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a });

    const hn_rng_key seed = hn_rng_seed(check_seed());
    const hn_rng_key ab = hn_rng_fold(hn_rng_fold(seed, 1), 2);
    const hn_rng_key ba = hn_rng_fold(hn_rng_fold(seed, 2), 1);
    CHECK(ab.word[0] != ba.word[0]);

    uint32_t words[4];
    hn_rng_words(ab, 5, 0, words);
    for (uint64_t i = 0; i < 4; i++)
        CHECK_INT(words[i], hn_rng_u32(ab, 20 + i));
    hn_rng_after(HN_RNG_MASS_ROUNDS, ab, 5, 0, words);
    for (uint64_t i = 0; i < 4; i++)
        CHECK_INT(words[i], hn_rng_mass_u32(ab, 20 + i));

    double sum = 0;
    bool is_inside = true;
    for (uint64_t i = 0; i < 100000; i++) {
        const float u = hn_rng_uniform(ab, i);
        is_inside = is_inside && u >= 0 && u < 1 && hn_rng_below(ab, i, 7) < 7;
        sum += (double)u;
    }
    CHECK(is_inside);
    CHECK_THAT(sum > 49500 && sum < 50500, "mean of 100000 draws: %g", sum / 100000);
    CHECK(hn_hash_text("") == UINT64_C(0xcbf29ce484222325));
    CHECK(hn_hash_text("a") == UINT64_C(0xaf63dc4c8601ec8c));
    CHECK(hn_hash_text("foobar") == UINT64_C(0x85944171f73967e8));
    return check_close();
}
