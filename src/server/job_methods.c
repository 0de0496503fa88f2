/* Each setting that a method reads is found by asking the library's own table of settings, so that a loss that comes there is
 * told, checked and passed on without a line here. */
#include "server/job_methods.h"

#include "base/word_list.h"

#include <string.h>

enum { MOST_METHODS = 32 };

static const hn_setting *setting_named(const char *name)
{
    const hn_setting *s = NULL;
    for (size_t i = 0; (s = hn_finetune_setting(i)); i++)
        if (s->name && !strcmp(s->name, name))
            break;
    return s;
}

bool hn_job_method_is_plain(const hn_finetune_goal *goal)
{
    return !strcmp(goal->name, setting_named("goal")->otherwise);
}

static const char *name_of(const hn_finetune_goal *goal)
{
    return hn_job_method_is_plain(goal) ? "supervised" : goal->name;
}

const char *hn_job_method_name(size_t i)
{
    const hn_finetune_goal *goal = hn_finetune_goal_at(i);
    return goal ? name_of(goal) : NULL;
}

const hn_finetune_goal *hn_job_method_goal(const char *method)
{
    const hn_finetune_goal *goal = NULL;
    for (size_t i = 0; (goal = hn_finetune_goal_at(i)); i++)
        if (!strcmp(name_of(goal), method))
            break;
    return goal;
}

static int reads(const char *number, const char *names[MOST_METHODS])
{
    const hn_finetune_goal *goal;
    int n = 0;
    for (size_t i = 0; n < MOST_METHODS && (goal = hn_finetune_goal_at(i)); i++)
        if (hn_word_is_in(goal->settings, number))
            names[n++] = name_of(goal);
    return n;
}

const char *hn_job_method_number(size_t i)
{
    const hn_setting *s = hn_finetune_goal_setting(i);
    return s ? s->name : NULL;
}

void hn_job_methods_of_number(const char *number, char *to, size_t room)
{
    const char *names[MOST_METHODS];
    hn_word_list(reads(number, names), names, "or", to, room);
}

const char *hn_job_kind_word(hn_examples_kind kind)
{
    static const char *const words[] = { [HN_EXAMPLES_SINGLE] = "single", [HN_EXAMPLES_PAIR] = "pair",
                                         [HN_EXAMPLES_LABELLED] = "labelled" };
    return words[kind];
}

void hn_job_methods_write(const char *kind, hn_json_writer *to)
{
    const hn_finetune_goal *goal;
    hn_json_begin_array(to);
    for (size_t i = 0; (goal = hn_finetune_goal_at(i)); i++)
        if (!strcmp(hn_job_kind_word(goal->takes), kind))
            hn_json_add_string(to, name_of(goal));
    hn_json_end_array(to);
}
