/* Stories: probabilities that sum to one over every text of a small grammar, one derivation a
 * text, a judge that agrees with the teller on 10,000 stories and names each planted mistake,
 * and 20 words in a row found wherever they stand. */
#include "cli/story/copies.h"
#include "cli/story/judge.h"
#include "cli/story/teller.h"

#include "base/mathfn.h"
#include "tests/harness/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_heap heap;

/* ---- entropy ---- */

static const char *const few[HN_N_WORD_CLASSES] = {
    [HN_WORDS_woman] = "Ada Eva",   [HN_WORDS_man] = "Ian",       [HN_WORDS_job] = "cook poet",
    [HN_WORDS_indoors] = "mill inn", [HN_WORDS_outdoors] = "bay",  [HN_WORDS_adj] = "old new",
    [HN_WORDS_thing] = "axe hat",   [HN_WORDS_moving] = "ran hid",
};
enum { SAY_WHO, SAY_GOES, SAY_HAS, SAY_ASK_WHERE, SAY_ASK_WHO };
static const hn_phrase few_phrases[] = {
    [SAY_WHO] = { { "{A} the {A:job} was at the {P}.", "At the {P} was {A} the {A:job}.", NULL } },
    [SAY_GOES] = { { "{A:He} {*moving} to the {Q}.", NULL } },
    [SAY_HAS] = { { "{A} had {a X}.", NULL } },
    [SAY_ASK_WHERE] = { { "Where? At the {P}.", NULL } },
    [SAY_ASK_WHO] = { { "Who? {A}.", NULL } },
};
#define ASKED { { SAY_ASK_WHERE, false }, { SAY_ASK_WHO, false }, { -1, false } }
static const hn_plot few_plots[] = {
    { "goes", { { SAY_WHO, false }, { SAY_GOES, true }, { SAY_HAS, false }, { -1, false } }, ASKED },
    { "stays", { { SAY_WHO, false }, { SAY_HAS, false }, { -1, false } }, ASKED },
};
/* "stays" is what "goes" without its optional step is, too: some texts have two derivations. */
static const hn_grammar ambiguous = { few, few_phrases, few_plots, 2, 2 };
static const hn_grammar plain = { few, few_phrases, few_plots, 1, 2 };

enum { MOST_TEXTS = 4096, N_DRAWN = 60000 };

typedef struct told_text {
    char *text;
    double nats;
} told_text;

static told_text *texts;
static int n_texts;

static void keep(const hn_told *told, double nats)
{
    for (int i = 0; i < n_texts; i++)
        if (!strcmp(texts[i].text, told->text)) {
            CHECK(texts[i].nats == nats);
            return;
        }
    if (CHECK(n_texts < MOST_TEXTS))
        texts[n_texts++] = (told_text){ hn_strdup(&heap, HN_TAG_TEXT, told->text), nats };
}

/* Draws until every text has come up, so that their probabilities must sum to one. */
static void check_sum(const hn_grammar *grammar, uint64_t n_derivations)
{
    hn_teller *teller, *reader;
    double sum = 0, entropy = 0, mean = 0;
    if (!CHECK_OK(hn_teller_new(&heap, grammar, &teller)) ||
        !CHECK_OK(hn_teller_new(&heap, grammar, &reader)))
        return;
    n_texts = 0;
    uint64_t most = 0;
    for (int i = 0; i < N_DRAWN; i++) {
        hn_told told;
        hn_readings read;
        if (!CHECK_OK(hn_teller_tell(teller, check_seed(), (uint64_t)i, &told)) ||
            !CHECK_OK(hn_teller_read(reader, told.text, told.bytes, &read)))
            break;
        most = read.n > most ? read.n : most;
        CHECK_THAT(read.nats <= told.nats + 1e-12, "%s: more likely than it was told", told.text);
        keep(&told, read.nats);
        mean += read.nats / N_DRAWN;
    }
    for (int i = 0; i < n_texts; i++) {
        const double p = hn_math_exp(-texts[i].nats);
        sum += p;
        entropy += p * texts[i].nats;
        hn_free(&heap, texts[i].text);
    }
    printf("  %d texts: probabilities sum to 1 %+.2g; entropy %.5f, mean %.5f\n", n_texts, sum - 1,
           entropy, mean);
    CHECK_THAT(fabs(sum - 1) < 1e-9, "the probabilities sum to %.12g", sum);
    CHECK_THAT(fabs(entropy - mean) < 0.02, "mean %.5f of an entropy of %.5f", mean, entropy);
    CHECK_INT((int64_t)n_derivations, (int64_t)most);
    hn_teller_free(teller);
    hn_teller_free(reader);
}

/* ---- the real grammars ---- */

static void check_words(void)
{
    static const char *seen[4096];
    int n = 0;
    check_group("words");
    for (int c = 0; c < HN_N_WORD_CLASSES; c++) {
        char *copy = hn_strdup(&heap, HN_TAG_TEXT, hn_story_grammar.words[c]);
        for (char *word = copy; word && *word;) {
            const size_t bytes = strcspn(word, " ");
            const bool is_last = !word[bytes];
            word[bytes] = '\0';
            CHECK_THAT(bytes > 1, "'%s' is a word", word);
            for (int i = 0; i < n; i++)
                CHECK_THAT(strcmp(seen[i], word) != 0, "'%s' is in two classes", word);
            if (n < 4096)
                seen[n++] = hn_strdup(&heap, HN_TAG_TEXT, word);
            word = is_last ? NULL : word + bytes + 1;
        }
        hn_free(&heap, copy);
    }
    CHECK_THAT(n >= 2000, "%d words", n);
    for (int i = 0; i < n; i++)
        hn_free(&heap, (void *)(uintptr_t)seen[i]);
}

static void check_agreement(void)
{
    hn_teller *teller;
    hn_judge *judge;
    char reason[HN_JUDGE_TEXT];
    check_group("the judge agrees with the teller");
    if (!CHECK_OK(hn_teller_new(&heap, &hn_story_grammar, &teller)) ||
        !CHECK_OK(hn_judge_new(&heap, &judge)))
        return;
    for (uint64_t i = 0; i < 10000; i++) {
        hn_told told;
        if (!CHECK_OK(hn_teller_tell(teller, check_seed(), i, &told)))
            break;
        CHECK_THAT(hn_judge_story(judge, told.text, told.bytes, reason), "%s: %s", reason,
                   told.text);
        CHECK(!strpbrk(told.text, "{}|"));
    }
    hn_judge_free(judge);
    hn_teller_free(teller);
}

static void check_one_derivation(const hn_grammar *grammar, int n)
{
    hn_teller *teller, *reader;
    check_group("one derivation a story");
    if (!CHECK_OK(hn_teller_new(&heap, grammar, &teller)) ||
        !CHECK_OK(hn_teller_new(&heap, grammar, &reader)))
        return;
    for (int i = 0; i < n; i++) {
        hn_told told, again;
        hn_readings read;
        CHECK_OK(hn_teller_tell(teller, check_seed(), (uint64_t)i, &told));
        CHECK_OK(hn_teller_read(reader, told.text, told.bytes, &read));
        CHECK_THAT(read.n == 1 && read.nats == told.nats, "%llu derivations: %s",
                   (unsigned long long)read.n, told.text);
        CHECK_OK(hn_teller_tell(reader, check_seed(), (uint64_t)i, &again));
        CHECK_TEXT(told.text, again.text);
        CHECK_OK(hn_teller_read(reader, told.text, told.bytes - 1, &read));
        CHECK_INT(0, (int64_t)read.n);
    }
    hn_teller_free(teller);
    hn_teller_free(reader);
}

/* ---- planted mistakes ---- */

static const char sound[] =
    "One sunny morning, Gwen the thatcher was at the bakery. She was polite and imaginative. "
    "Gwen had a red ladder. The thatcher wished for a broad envelope. Her tutor Felix was at the "
    "meadow and had a broad envelope. Leaving the bakery, the thatcher staggered slowly to the "
    "meadow. There she met Felix, her tutor. Gwen offered the tutor the "
    "red ladder for the broad envelope. So Gwen gave Felix the red ladder, and Felix gave Gwen "
    "the broad envelope. How merry Gwen was! Then the thatcher left the meadow and travelled back to the "
    "bakery. Who took the red ladder? It was Felix. What was Felix to Gwen? Her tutor. Where did Gwen leave "
    "Felix? At the meadow. What did Gwen give Felix? A red ladder. Where was the thatcher now? At the bakery. "
    "So Gwen kept the broad envelope, and Felix kept the red ladder, and it was still sunny.";

/* The first `from` becomes `to`; then the judge says `words`. */
static const struct {
    const char *from, *to, *words;
} planted[] = {
    { "So Gwen gave", "So Rita gave", "nobody has introduced Rita" },
    { "The thatcher wished", "The poet wished", "nobody is the poet" },
    { "offered the tutor", "offered the mentor", "nobody is the mentor" },
    { "offered the tutor", "offered the thatcher", "not understood" },
    { "She was", "He was", "'He' is not Gwen" },
    { "Her tutor", "His tutor", "'His' is not Gwen" },
    { "Leaving the bakery", "Leaving the mill", "Gwen is at the bakery, not at the mill" },
    { "slowly to the meadow", "slowly to the cove", "Gwen is at the cove and Felix at the meadow" },
    { "Felix, her tutor", "Felix, her rival", "Felix is the tutor, not the rival" },
    { "for the broad envelope", "for the wide envelope", "there is no wide envelope" },
    { "Felix the red", "Felix the broad", "there is no broad ladder" },
    { "Gwen gave Felix the red ladder", "Felix gave Gwen the red ladder",
      "Gwen has the red ladder, not Felix" },
    { "How merry", "How sad", "Gwen has no reason to be sorry" },
    { "So Gwen gave Felix the red ladder, and Felix gave Gwen the broad envelope. ", "",
      "Gwen has no reason to be glad" },
    { "left the meadow", "left the bakery", "Gwen is at the meadow, not at the bakery" },
    { "back to the bakery", "back to the mill", "Gwen has never been at the mill" },
    { "Who took the red ladder? It was Felix", "Who took the red ladder? It was Gwen",
      "Felix has the red ladder, not Gwen" },
    { "Who took the red ladder", "Who took the broad envelope", "Gwen did not give the broad envelope" },
    { "Who took the red ladder? It was Felix", "Who gave Gwen the broad envelope? It was Felix", NULL },
    { "Who took the red ladder? It was Felix", "Who borrowed the red ladder? It was Felix",
      "Felix did not borrow the red ladder" },
    { "Gwen? Her tutor", "Gwen? Her rival", "Felix is the tutor, not the rival" },
    { "Felix to Gwen?", "Gwen to Felix?", "expected Gwen, found Felix" },
    { "leave Felix? At the meadow", "leave Felix? At the bakery", "Felix is at the meadow" },
    { "Where did Gwen leave Felix? At the meadow", "Where did Felix leave Gwen? At the bakery",
      "Felix has never been at the bakery" },
    { "What did Gwen give Felix? A red ladder", "What did Felix give Gwen? A red ladder",
      "Felix did not give the red ladder" },
    { "now? At the bakery", "now? At the meadow", "Gwen is at the bakery" },
    { "still sunny", "still rainy", "it was sunny, not rainy" },
    { "a broad", "an broad", "not understood" },
    { "envelope. Her", "envelop. Her", "not understood" },
    { ", and it was still sunny.", ".", "not understood" },
    { " So Gwen kept the broad envelope, and Felix kept the red ladder, and it was still sunny.", "",
      "the story does not end" },
    { "How merry Gwen was! ", "", NULL }, /* nothing depends on it */
    { "Gwen had a red ladder. ", "", "there is no red ladder" },
    { "Felix kept the red", "Gwen kept the red", "Felix has the red ladder, not Gwen" },
    { "One sunny", "Gwen had a red hat. One sunny", "the story has not begun" },
    { "still sunny.", "still sunny. How merry Gwen was!", "the story has ended" },
    { "Gwen had a red ladder. The", "Gwen had a red ladder. Gwen had a red ladder. The",
      "not Gwen's to have" },
};

static void check_planted(void)
{
    hn_judge *judge;
    char reason[HN_JUDGE_TEXT], text[2048];
    check_group("planted mistakes");
    if (!CHECK_OK(hn_judge_new(&heap, &judge)))
        return;
    CHECK_THAT(hn_judge_story(judge, sound, strlen(sound), reason), "%s", reason);
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        const char *at = strstr(sound, planted[i].from);
        if (!CHECK_THAT(at != NULL, "'%s' is in the story", planted[i].from))
            continue;
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - sound), sound, planted[i].to,
                 at + strlen(planted[i].from));
        const bool holds = hn_judge_story(judge, text, strlen(text), reason);
        CHECK_THAT(holds == !planted[i].words && (holds || strstr(reason, planted[i].words)),
                   "'%s' for '%s': expected \"%s\", found \"%s\"", planted[i].to,
                   planted[i].from, planted[i].words ? planted[i].words : "", reason);
    }
    hn_judge_free(judge);
}

/* Any name, thing or place of another story in a story's place breaks it, wherever it stands
 * after the first time. */
static void check_swaps(void)
{
    hn_teller *teller;
    hn_judge *judge;
    char reason[HN_JUDGE_TEXT];
    int n = 0, n_found = 0;
    check_group("swapped words");
    if (!CHECK_OK(hn_teller_new(&heap, &hn_story_grammar, &teller)) ||
        !CHECK_OK(hn_judge_new(&heap, &judge)))
        return;
    for (uint64_t i = 0; i < 2000; i++) {
        hn_told told;
        CHECK_OK(hn_teller_tell(teller, check_seed(), i, &told));
        char *copy = hn_strdup(&heap, HN_TAG_TEXT, told.text);
        char *last = copy ? strstr(copy, " at the ") : NULL; /* the last place of the story */
        for (char *next = last; next && (next = strstr(next + 1, " at the ")) != NULL;)
            last = next;
        if (last && last > copy + 200) {
            last[8] = last[8] == 'x' ? 'y' : 'x'; /* no place begins so */
            n++;
            n_found += !hn_judge_story(judge, copy, strlen(copy), reason);
        }
        hn_free(&heap, copy);
    }
    printf("  %d of %d places that are none found\n", n_found, n);
    CHECK(n > 500);
    CHECK_INT(n, n_found);
    hn_judge_free(judge);
    hn_teller_free(teller);
}

/* ---- copies ---- */

static void check_copies(void)
{
    static const char training[] = "one two three four five six seven eight nine ten eleven twelve "
                                   "thirteen fourteen fifteen sixteen seventeen eighteen nineteen "
                                   "twenty twentyone twentytwo";
    hn_copies *copies;
    size_t bytes;
    check_group("copies");
    if (!CHECK_OK(hn_copies_new(&heap, &copies)))
        return;
    CHECK_OK(hn_copies_add(copies, 1, training + 4, strlen(training) - 4)); /* 21 words */
    CHECK_OK(hn_copies_add(copies, 2, training + 14, strlen(training) - 14)); /* 19 */
    const char *shouted = "Zero; TWO, three. four five six seven eight nine ten! eleven twelve "
                          "thirteen fourteen fifteen sixteen - seventeen eighteen nineteen twenty "
                          "twentyone zero";
    CHECK_OK(hn_copies_add(copies, 3, shouted, strlen(shouted)));
    CHECK_OK(hn_copies_add(copies, 4, "two three", 9));
    CHECK_OK(hn_copies_pass(copies, training, strlen(training)));
    CHECK(!strncmp(hn_copies_of(copies, 1, &bytes), "two three", 9));
    CHECK_TEXT("", hn_copies_of(copies, 2, &bytes));
    CHECK(!strncmp(hn_copies_of(copies, 3, &bytes), "two three", 9) && bytes > 100);
    CHECK_TEXT("", hn_copies_of(copies, 4, &bytes));
    CHECK_FAILS(hn_copies_add(copies, 5, "x", 1), HN_ERR_ARGUMENT, "before training");
    hn_copies_free(copies);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    texts = hn_alloc_array(&heap, HN_TAG_TEXT, MOST_TEXTS, sizeof *texts);
    if (CHECK(texts != NULL)) {
        check_group("entropy");
        check_sum(&plain, 1);
        check_sum(&ambiguous, 2);
    }
    hn_free(&heap, texts);
    check_words();
    check_one_derivation(&hn_story_grammar, 1000);
    check_one_derivation(&hn_chat_grammar, 1000);
    check_agreement();
    check_planted();
    check_swaps();
    check_copies();
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
