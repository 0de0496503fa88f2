#define _DEFAULT_SOURCE 1 /* getcwd's room */
#include "train/run_options.h"

#include "base/number.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void add_string(hn_str *out, const char *text)
{
    static const char from[] = "\b\t\n\f\r\"\\", to[] = "btnfr\"\\";
    hn_str_add_char(out, '"');
    for (; *text; text++) {
        const char *which = strchr(from, *text);
        if (which)
            hn_str_add_char(out, '\\');
        hn_str_add_char(out, which ? to[which - from] : *text);
    }
    hn_str_add_char(out, '"');
}

static hn_status add_path(hn_str *out, const char *path)
{
    char full[8192], folder[4096];
    if (path[0] == '/') {
        add_string(out, path);
        return HN_OK;
    }
    HN_REQUIRE(getcwd(folder, sizeof folder), HN_ERR_IO, "the working folder: %s", strerror(errno));
    const size_t n = strlen(folder), m = strlen(path);
    HN_REQUIRE(n + m + 2 < sizeof full, HN_ERR_ARGUMENT, "%s: too long a name", path);
    memcpy(full, folder, n);
    full[n] = '/';
    memcpy(full + n + 1, path, m + 1);
    add_string(out, full);
    return HN_OK;
}

static hn_status add_list(hn_str *out, const char *key, const char *const *list, int n, bool of_paths)
{
    if (n)
        hn_str_print(out, "%s = [", key);
    for (int i = 0; i < n; i++) {
        hn_str_add(out, i ? ", " : "");
        if (of_paths)
            HN_TRY(add_path(out, list[i]));
        else
            add_string(out, list[i]);
    }
    hn_str_add(out, n ? "]\n" : "");
    return HN_OK;
}

static void add_text(hn_str *out, const char *key, const char *value)
{
    if (!value)
        return;
    hn_str_print(out, "%s = ", key);
    add_string(out, value);
    hn_str_add_char(out, '\n');
}

/* As few digits as read back the same. */
static void add_real(hn_str *out, const char *key, double value)
{
    char text[HN_NUMBER_TEXT];
    hn_number_write(value, 0, text);
    hn_str_print(out, "%s = %s\n", key, text);
}

hn_status hn_run_options_of_data(const char *model, const hn_data_choice *c,
                                 const char *const *files, int n_files, hn_str *out)
{
    const struct {
        const char *key;
        bool is_set;
    } flags[] = { { "drop-empty", c->drop_empty }, { "drop-unread", c->drop_unread },
                  { "allow-unended", c->allow_unended }, { "plain", c->plain } };
    hn_str_add(out, "model = ");
    HN_TRY(add_path(out, model));
    hn_str_add_char(out, '\n');
    HN_TRY(add_list(out, "data", files, n_files, true));
    HN_TRY(add_list(out, "held", c->held, c->n_held, true));
    HN_TRY(add_list(out, "set", c->set, c->n_set, false));
    HN_TRY(add_list(out, "ignore", c->ignore, c->n_ignore, false));
    add_text(out, "format", c->format);
    add_text(out, "loss", c->loss);
    add_text(out, "too-long", c->too_long);
    add_text(out, "template-name", c->name);
    if (c->template) {
        hn_str_add(out, "template = ");
        HN_TRY(add_path(out, c->template));
        hn_str_add_char(out, '\n');
    }
    if (c->max_length)
        hn_str_print(out, "max-length = %lld\n", (long long)c->max_length);
    if (c->held_fraction > 0)
        add_real(out, "held-fraction", c->held_fraction);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].is_set)
            hn_str_print(out, "%s = true\n", flags[i].key);
    return hn_str_status(out);
}

void hn_run_options_of_config(const hn_train_config *c, hn_str *out)
{
    const hn_train_config usual = hn_train_config_default();
#define HN_TELL_TEXT(option, x, y)                                                             \
    if ((x) && (!(y) || strcmp((x), (y)) != 0))                                                \
        add_text(out, option, (x));
#define HN_TELL_INT(option, x, y)                                                              \
    if ((x) != (y))                                                                            \
        hn_str_print(out, "%s = %lld\n", option, (long long)(x));
#define HN_TELL_REAL(option, x, y)                                                             \
    if ((x) < (y) || (x) > (y))                                                                \
        add_real(out, option, (x));
#define HN_TELL_FLAG(option, x, y)                                                             \
    if ((x) != (y))                                                                            \
        hn_str_print(out, "%s = %s\n", option, (x) ? "true" : "false");
#define HN_TRAIN(kind, field, option, value, otherwise, low, high, counts, help)                \
    HN_TELL_##kind(option, c->field, usual.field)
#include "train/config.def"
#undef HN_TRAIN
}
