/* Words in the quotes of a POSIX shell, and only those that need them. */
#include "cli/command_line.h"

#include <string.h>

static int n_kept;
static char **kept;

void hn_command_line_keep(int n, char **words)
{
    n_kept = n;
    kept = words;
}

/* As it is, or in single quotes. */
static void add_word(hn_str *out, const char *word)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_-+=./:,@%^";
    if (*word && strspn(word, harmless) == strlen(word)) {
        hn_str_add(out, word);
        return;
    }
    hn_str_add_char(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            hn_str_add(out, "'\\''");
        else
            hn_str_add_char(out, *word);
    hn_str_add_char(out, '\'');
}

void hn_command_line_begin(hn_str *out)
{
    add_word(out, n_kept ? kept[0] : "hone");
}

void hn_command_line_add(hn_str *out, const char *word)
{
    hn_str_add_char(out, ' ');
    add_word(out, word);
}

void hn_command_line_write(hn_str *out)
{
    hn_command_line_begin(out);
    for (int i = 1; i < n_kept; i++)
        hn_command_line_add(out, kept[i]);
}
