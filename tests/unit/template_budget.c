/* Templates of a few bytes that ask for gigabytes of text, memory or work: each is refused by name, soon,
 * and what all of a rendering holds at a time is bounded, whichever part of it asks. */
#include "text/template/template.h"

#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static hn_heap heap;

enum { MOST_BYTES = 136 << 20 }; /* the budget, and what holds the result */
static double most_seconds = 60; /* on a slow machine; --most-seconds N under what makes it slower */

/* Of this process's work, whatever else the machine does. */
static double seconds_worked(void) { return (double)clock() / CLOCKS_PER_SEC; }

static hn_status render(const char *source, const hn_template_options *options, hn_str *out)
{
    hn_template *t;
    HN_TRY(hn_template_parse(&heap, "bomb", source, strlen(source), &t));
    const hn_template_var vars[] = { { .name = "word", .text = "word" } };
    const hn_template_input input = { .vars = vars, .n_vars = 1, .options = *options };
    const hn_status status = hn_template_render(t, &input, out, NULL, NULL);
    hn_template_free(t);
    return status;
}

static void refuses(const char *source)
{
    hn_str out = hn_str_on(&heap);
    const double since = seconds_worked();
    const int64_t before = heap.live_bytes;
    heap.peak_bytes = before;
    check_group(source);
    const hn_status status = render(source, &(hn_template_options){ 0 }, &out);
    const char *said = hn_error_message();
    CHECK_THAT(status == HN_ERR_FORMAT || status == HN_ERR_UNSUPPORTED, "ends as %d: %s", (int)status, status == HN_OK ? "" : said);
    CHECK_THAT(status == HN_OK || strstr(said, "more than") || strstr(said, "deeper than"),
               "does not name the limit: %s", said);
    CHECK_THAT(heap.peak_bytes - before < MOST_BYTES, "held %lld bytes", (long long)(heap.peak_bytes - before));
    if (check_flag("--times"))
        printf("%6.2f s %s: %s\n", seconds_worked() - since, source, said);
    CHECK_THAT(seconds_worked() - since < most_seconds, "over %g s", most_seconds);
    CHECK_INT(0, (int64_t)out.length);
    hn_str_free(&out);
    CHECK_INT(before, heap.live_bytes);
}

/* A small budget holds for every way to make text. */
static void refuses_small(const char *source)
{
    hn_str out = hn_str_on(&heap);
    const hn_template_options small = { .max_memory = 1 << 20 };
    const int64_t before = heap.live_bytes;
    heap.peak_bytes = before;
    check_group(source);
    CHECK_FAILS(render(source, &small, &out), HN_ERR_FORMAT, "more than 1048576 bytes of memory");
    CHECK_THAT(heap.peak_bytes - before < 2 << 20, "held %lld bytes", (long long)(heap.peak_bytes - before));
    hn_str_free(&out);
}

/* Memory is refused once, and that ends it, however much was still to be written: what walks on through the rest
 * takes time by the rest. `format` has a %d, the number of rounds; few are already too many. */
static void ends_where_it_fails(const char *format)
{
    enum { FEW = 2000, TIMES = 16 };
    const hn_template_options small = { .max_memory = 4 << 20 };
    double seconds[2];
    for (int i = 0; i < 2; i++) {
        char source[200];
        hn_str out = hn_str_on(&heap);
        snprintf(source, sizeof source, format, i ? FEW * TIMES : FEW);
        check_group(source);
        const double since = seconds_worked();
        CHECK_FAILS(render(source, &small, &out), HN_ERR_FORMAT, "more than 4194304 bytes of memory");
        seconds[i] = seconds_worked() - since;
        hn_str_free(&out);
    }
    if (check_flag("--times"))
        printf("%6.3f s and %.3f s of %d times as many: %s\n", seconds[0], seconds[1], TIMES, format);
    CHECK_THAT(seconds[1] < TIMES / 2 * seconds[0] + 0.05, "%.3f s, and %.3f s of %d times as many", seconds[0], seconds[1], TIMES);
}

int main(int argc, char **argv)
{
    static const char *const bombs[] = {
        "{{ 'a' * 2000000000 }}",
        "{{ ('a' * 50000) * 50000 }}",
        "{{ 'a'|center(2000000000) }}",
        "{{ 'a'.ljust(2000000000) }}",
        "{{ '%2000000000d' % 1 }}",
        "{{ '{:>2000000000}'.format(1) }}",
        "{{ '%s%s' % ('a' * 100000000, 'b' * 100000000) }}",
        "{{ 'a' * 90000000 ~ 'b' * 90000000 ~ 'c' * 90000000 }}",
        "{{ ('a' * 30000)|replace('a', 'b' * 30000) }}",
        "{{ ('a ' * 90000).split()|join('b' * 30000) }}",
        "{{ ('a\\n' * 90000)|indent(30000) }}",
        "{{ ('<' * 90000000)|e }}",
        "{{ (['a' * 30000] * 90000)|tojson }}",
        "{{ ['a' * 30000] * 90000 }}",
        "{{ [0] * 2000000000 }}",
        "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
        "{% for i in range(100000) %}{% for j in range(100000) %}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x=[0, 0]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x='') %}{% for i in range(100000) %}{% set ns.x = ns.x ~ 'aaaaaaaaaaaaaaaa' %}{% endfor %}",
        "{% macro m(n) %}{{ m(n) }}{{ m(n) }}{% endmacro %}{{ m(1) }}",
        "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% else %}aaaaaaaa{% endif %}{% endmacro %}{{ m(40) }}",
        "{% filter upper %}{% for i in range(100000) %}{{ 'a' * 90000 }}{% endfor %}{% endfilter %}",
        "{% set x %}{% for i in range(100000) %}{{ 'a' * 90000 }}{% endfor %}{% endset %}",
        "{% for i in range(100000) %}{{ 'a' * 90000 }}{% endfor %}",
        "{% for i in range(10000) %}{{ ('a' * 9000000)|length }}{% endfor %}",
        "{{ ('ab' * 40000000)|upper|lower|title|capitalize|reverse|trim|replace('a', 'c')|upper|lower }}",
        "{{ range(100000)|map('string')|map('center', 90000)|list }}",
        "{{ ('a' * 100000)|list|batch(1)|list|tojson(indent=1000)|indent(1000) }}",
    };
    static const char *const small[] = {
        "{{ 'a' * 2000000 }}",
        "{{ word|center(200000) ~ word|center(200000) ~ word|center(200000) }}",
        "{{ '%s' % ('a' * 600000) }}",
        "{{ '%s%s' % ('a' * 400000, 'b' * 400000) }}",
        "{{ '%900000d' % 1 }}{{ '%900000d' % 1 }}",
        "{{ '{:>900000}{:>900000}'.format(1, 2) }}",
        "{{ 'a' * 400000 ~ 'b' * 400000 }}",
        "{{ ('a' * 3000)|replace('a', 'b' * 3000) }}",
        "{{ ['a' * 3000] * 3000 }}",
        "{{ (['a' * 3000] * 3000)|join(',') }}",
        "{{ (['a' * 3000] * 3000)|tojson }}",
        "{% set x %}{% for i in range(3000) %}{{ 'a' * 1000 }}{% endfor %}{% endset %}",
        "{% for i in range(3000) %}{{ 'a' * 1000 }}{% endfor %}",
    };
    check_open(argc, argv);
    const char *seconds = check_option("--most-seconds");
    if (seconds)
        most_seconds = strtod(seconds, NULL);
    hn_heap_init(&heap, NULL);
    for (size_t i = 0; i < sizeof bombs / sizeof *bombs; i++)
        refuses(bombs[i]);
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        refuses_small(small[i]);
    ends_where_it_fails("{{ (['a' * 30000] * %d)|tojson }}");
    ends_where_it_fails("{{ ['a' * 30000] * %d }}");
    ends_where_it_fails("{{ ('a\\n' * %d)|indent(30000) }}");
    check_group("what is not too much");
    hn_str out = hn_str_on(&heap);
    if (CHECK_OK(render("{% for i in range(1000) %}{{ word * 5000 }}{% endfor %}", &(hn_template_options){ 0 }, &out)))
        CHECK_INT(20000000, (int64_t)out.length);
    hn_str_free(&out);
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
