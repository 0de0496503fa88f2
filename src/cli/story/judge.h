/* judge.h: whether a story holds together, by a reader that knows nothing of how it was made.
 *
 * It understands sentences (sentences.def), keeps its own account of who is where, has what and
 * wants what, and refuses the first sentence that does not agree with it: an unknown sentence; a
 * person, thing or place that nobody introduced; a step from where one is not; a gift of what one
 * does not have; a wrong answer; a pronoun, trait, trade, weather or hour that is another's. A
 * story has 80 to 200 words, and at its end every wish is granted. */
#ifndef HN_CLI_STORY_JUDGE_H
#define HN_CLI_STORY_JUDGE_H

#include "base/heap.h"

typedef struct hn_judge hn_judge;

hn_status hn_judge_new(hn_heap *heap, hn_judge **out);
void hn_judge_free(hn_judge *judge); /* takes NULL */

enum { HN_JUDGE_TEXT = 240 };

/* True, or false and why: "sentence 5: Rita is at the cabin, not at the riverbank". */
bool hn_judge_story(hn_judge *judge, const char *text, size_t bytes, char reason[HN_JUDGE_TEXT]);

#endif
