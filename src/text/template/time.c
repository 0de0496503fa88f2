/* strftime_now. Names of days and months are English, whatever the locale is. */
#include "text/template/fn.h"

#include "base/os/clock.h"

#include <string.h>

static const char *const days[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
                                    "Thursday", "Friday", "Saturday" };
static const char *const months[] = { "January",   "February", "March",    "April",
                                      "May",       "June",     "July",     "August",
                                      "September", "October",  "November", "December" };

static int iso_weeks_before(const struct tm *t, int *year)
{
    /* ISO 8601: the week of a day is that of its Thursday. */
    const int weekday = (t->tm_wday + 6) % 7;
    int thursday = t->tm_yday - weekday + 3, y = t->tm_year + 1900;
    const bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    const int before = y - 1;
    const bool leap_before = (before % 4 == 0 && before % 100 != 0) || before % 400 == 0;
    if (thursday < 0) {
        thursday += 365 + leap_before;
        y--;
    } else if (thursday >= 365 + leap) {
        thursday -= 365 + leap;
        y++;
    }
    *year = y;
    return thursday / 7 + 1;
}

typedef struct number {
    char code;
    int value, width;
    char pad;
} number;

/* What %code writes as a number; false if it is none. */
static bool find_number(char code, const struct tm *t, number *out)
{
    int iso_year = 0;
    const int week = iso_weeks_before(t, &iso_year), monday = (t->tm_wday + 6) % 7;
    const int year = t->tm_year + 1900, hour = t->tm_hour % 12 ? t->tm_hour % 12 : 12;
    const number all[] = {
        { 'd', t->tm_mday, 2, '0' },
        { 'e', t->tm_mday, 2, ' ' },
        { 'm', t->tm_mon + 1, 2, '0' },
        { 'y', year % 100, 2, '0' },
        { 'Y', year, 1, '0' },
        { 'C', year / 100, 2, '0' },
        { 'H', t->tm_hour, 2, '0' },
        { 'I', hour, 2, '0' },
        { 'k', t->tm_hour, 2, ' ' },
        { 'l', hour, 2, ' ' },
        { 'M', t->tm_min, 2, '0' },
        { 'S', t->tm_sec, 2, '0' },
        { 'f', 0, 6, '0' },
        { 'j', t->tm_yday + 1, 3, '0' },
        { 'u', monday + 1, 1, '0' },
        { 'w', t->tm_wday, 1, '0' },
        { 'U', (t->tm_yday + 7 - t->tm_wday) / 7, 2, '0' },
        { 'W', (t->tm_yday + 7 - monday) / 7, 2, '0' },
        { 'V', week, 2, '0' },
        { 'G', iso_year, 1, '0' },
        { 'g', iso_year % 100, 2, '0' },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].code == code) {
            *out = all[i];
            return true;
        }
    return false;
}

/* What %code writes as words, or NULL. */
static const char *find_words(char code, const struct tm *t)
{
    switch (code) {
    case 'a':
    case 'A':
        return days[t->tm_wday];
    case 'b':
    case 'h':
    case 'B':
        return months[t->tm_mon];
    case 'p':
        return t->tm_hour < 12 ? "AM" : "PM";
    case 'n':
        return "\n";
    case 't':
        return "\t";
    case '%':
        return "%";
    case 'z':
    case 'Z': /* the datetime is a naive one */
        return "";
    default:
        return NULL;
    }
}

static const char *find_format(char code)
{
    switch (code) {
    case 'D':
    case 'x':
        return "%m/%d/%y";
    case 'F':
        return "%Y-%m-%d";
    case 'T':
    case 'X':
        return "%H:%M:%S";
    case 'R':
        return "%H:%M";
    case 'r':
        return "%I:%M:%S %p";
    case 'c':
        return "%a %b %e %H:%M:%S %Y";
    default:
        return NULL;
    }
}

/* %code, or %-code, which does not pad. */
static hn_status put_date(hn_tpl_run *r, char code, bool short_form, const struct tm *t,
                          hn_str *to)
{
    number n;
    const char *words = find_words(code, t), *format = find_format(code);
    if (format)
        return hn_tpl_strftime(r, (hn_tpl_text){ format, strlen(format) }, to);
    if (words) {
        hn_str_print(to, "%.*s", code && strchr("abh", code) ? 3 : 9, words);
        return HN_OK;
    }
    HN_REQUIRE(find_number(code, t, &n), HN_ERR_UNSUPPORTED, "strftime_now: the directive %%%c",
               code);
    hn_str_print(to, n.pad == '0' ? "%0*d" : "%*d", short_form ? 1 : n.width, n.value);
    return HN_OK;
}

hn_status hn_tpl_strftime(hn_tpl_run *r, hn_tpl_text format, hn_str *to)
{
    struct tm t;
    const bool is_known = r->options.clock ? hn_clock_utc(*r->options.clock, &t)
                                           : hn_clock_local(hn_clock_wall_ns() / 1000000000, &t);
    if (!is_known)
        return hn_fail(HN_ERR_ARGUMENT, "strftime_now: the clock is out of range");
    HN_TRY(hn_tpl_charge(r, format.bytes));
    for (size_t i = 0; i < format.bytes; i++) {
        if (format.text[i] != '%') {
            hn_str_add_char(to, format.text[i]);
            continue;
        }
        const bool short_form = i + 2 < format.bytes && format.text[i + 1] == '-';
        i += 1 + (size_t)short_form;
        if (i >= format.bytes) {
            hn_str_add_char(to, '%');
            break;
        }
        HN_TRY(put_date(r, format.text[i], short_form, &t, to));
    }
    return HN_OK;
}
