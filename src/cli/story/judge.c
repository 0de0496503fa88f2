/* A sentence is recognised by its pattern, and a pattern makes claims: each is a function of claims.c on the
 * account that is kept. The teller's own tables of phrases and plots are not asked. */
#include "cli/story/judge.h"

#include "cli/story/claims.h"

#include <string.h>

enum { LEAST_WORDS = 80, MOST_WORDS = 200 };

/* "give N1 N0 o1": N0 is whom the story is about. "at J1 p1", "at R1 p1": J1 is whose job that
 * is, R1 who is tied so. */
static bool read_argument(hn_judge *j, int letter, int number, hn_fill *out)
{
    if (letter != 'J' && letter != 'R') {
        *out = number ? j->sentence.fills[letter][number] : j->people[0].name;
        return true;
    }
    const hn_fill *word = &j->sentence.fills[letter == 'J' ? 'j' : 'r'][number];
    for (int i = 0; i < j->n_people; i++)
        if (hn_fill_same(letter == 'J' ? &j->people[i].job : &j->people[i].tie, word)) {
            *out = j->people[i].name;
            return true;
        }
    return hn_judge_refuse(j, "nobody is the %.*s", HN_WORD(*word));
}

static bool read_claim(hn_judge *j, const char *claim, size_t bytes)
{
    hn_claim_args a = { 0 };
    const size_t verb = strcspn(claim, " ,");
    const char *end = claim + bytes;
    int n = 0;
    for (const char *p = claim + verb; p + 2 < end && n < HN_MAX_CLAIM_ARGS; p += 3)
        if (!read_argument(j, p[1], p[2] - '0', &a.at[n++]))
            return false;
    return hn_judge_claim(j, claim, verb, &a);
}

static bool read_claims(hn_judge *j)
{
    if (j->has_ended)
        return hn_judge_refuse(j, "the story has ended before");
    for (const char *p = j->sentence.claims;;) {
        const size_t bytes = strcspn(p, ",");
        if (j->n_people == 0 && strncmp(p, "meet", 4) != 0)
            return hn_judge_refuse(j, "the story has not begun");
        if (!read_claim(j, p, bytes))
            return false;
        if (!p[bytes])
            return true;
        p += bytes + 2;
    }
}

static bool judge_whole(hn_judge *j, const char *text, size_t bytes)
{
    int n_words = bytes > 0;
    for (size_t i = 0; i < bytes; i++)
        n_words += text[i] == ' ';
    j->n_sentences = 0;
    for (const char *at = text, *end = text + bytes; at < end;) {
        j->n_sentences++;
        if (!hn_sentence_read(j->language, at, (size_t)(end - at), &j->sentence))
            return hn_judge_refuse(j, "not understood: %.*s",
                                   end - at < 90 ? (int)(end - at) : 90, at);
        if (!read_claims(j))
            return false;
        at += j->sentence.bytes;
        at += at < end;
    }
    if (!j->has_ended)
        return hn_judge_refuse(j, "the story does not end");
    if (hn_judge_n_ungranted(j, NULL))
        return hn_judge_refuse(j, "a wish is not granted at the end");
    if (n_words < LEAST_WORDS || n_words > MOST_WORDS)
        return hn_judge_refuse(j, "%d words: expected %d to %d", n_words, LEAST_WORDS,
                               MOST_WORDS);
    return true;
}

bool hn_judge_story(hn_judge *j, const char *text, size_t bytes, char reason[HN_JUDGE_TEXT])
{
    hn_heap *heap = j->heap;
    hn_sentences *language = j->language;
    *j = (hn_judge){ .heap = heap, .language = language, .reason = reason };
    reason[0] = '\0';
    return judge_whole(j, text, bytes);
}

hn_status hn_judge_new(hn_heap *heap, hn_judge **out)
{
    hn_judge *j = *out = hn_alloc(heap, HN_TAG_TEXT, sizeof *j);
    if (!j)
        return HN_ERR_MEMORY;
    j->heap = heap;
    const hn_status status = hn_sentences_new(heap, &j->language);
    if (status != HN_OK) {
        hn_judge_free(j);
        *out = NULL;
    }
    return status;
}

void hn_judge_free(hn_judge *judge)
{
    if (!judge)
        return;
    hn_sentences_free(judge->language);
    hn_free(judge->heap, judge);
}
