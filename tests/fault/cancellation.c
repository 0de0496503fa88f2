/* Every call that may last is ended at each of its looks in turn: a status and a sentence, all that is given out is nothing, no
 * file is left, memory is what it was, and made again it gives what it gives. Which calls those are is read from the headers:
 * each function that gives a status stands here, or in cancelled_not.def with what it is short for, or who tries it. */
#include "tests/fault/cancelled_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is told ---- */

typedef struct hearer {
    int n;
    double last;
    bool is_wrong; /* it went back, or was no share, or said nothing of what */
} hearer;

static void hear(void *context, double done, const char *what)
{
    hearer *h = context;
    h->is_wrong = h->is_wrong || !(done >= h->last && done >= 0 && done <= 1) || !what || !what[0];
    h->last = done;
    h->n++;
}

/* ---- one call ---- */

static int64_t live(void)
{
    int64_t bytes;
    hn_engine_memory(at.engine, &bytes, NULL, NULL);
    return bytes;
}

static const char marker[] = "what was there before";

static void put_marker(const char *path)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(marker, f) >= 0 && !fclose(f));
}

static bool has_marker(const char *path)
{
    char text[sizeof marker] = "";
    FILE *f = fopen(path, "r");
    const bool has = f && fread(text, 1, sizeof text, f) == sizeof marker - 1 && !memcmp(text, marker, sizeof marker - 1);
    if (f)
        fclose(f);
    return has;
}

static bool exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0;
}

/* Made once, whole. How many looks there were, and what came of it. */
static int64_t make_whole(const cancelled_call *c, uint64_t *result)
{
    enum { NEVER = 1 << 30 };
    hearer h = { 0 };
    if (!CHECK_OK(c->begin ? c->begin() : HN_OK))
        return 0;
    if (c->writes)
        put_marker(at.out);
    hn_engine_on_work(at.engine, hear, &h);
    hn_engine_cancel_at(at.engine, NEVER);
    const hn_status status = c->call();
    const int64_t looks = NEVER - hn_engine_cancel_at(at.engine, 0);
    hn_engine_on_work(at.engine, NULL, NULL);
    CHECK_OK(status);
    CHECK_THAT(!h.is_wrong, "%s: what it tells goes from 0 to 1", c->name);
    CHECK_THAT(c->tells ? h.n > 1 && h.last >= 1 : !h.n, "%s: told %d times, at last of %g", c->name, h.n, h.last);
    *result = status == HN_OK && c->result ? c->result() : 0;
    if (c->end)
        c->end();
    remove(at.out);
    return looks;
}

/* Ended at a look, and made again. */
static void end_at(const cancelled_call *c, int64_t look, int64_t of, uint64_t want)
{
    const int64_t before = live();
    if (!CHECK_OK(c->begin ? c->begin() : HN_OK))
        return;
    if (c->writes)
        put_marker(at.out);
    const int64_t begun = live();
    hn_engine_cancel_at(at.engine, look);
    hn_status status = c->call();
    const bool was_met = hn_engine_cancel_at(at.engine, 0) == -1;
    CHECK_THAT(was_met == (status != HN_OK), "%s: look %lld of %lld: found it: %d, and gave %s", c->name, (long long)look,
               (long long)of, was_met, hn_status_text(status));
    if (status != HN_OK) {
        CHECK_INT(HN_ERR_CANCELLED, status);
        CHECK_THAT(hn_error_message()[0], "%s: it says nothing", c->name);
        CHECK_THAT(c->may_keep || live() <= begun, "%s: look %lld of %lld: %lld bytes are left", c->name, (long long)look,
                   (long long)of, (long long)(live() - begun));
        CHECK_THAT(!c->writes || has_marker(at.out), "%s: look %lld: the file of before is gone", c->name, (long long)look);
        CHECK_THAT(c->writes || !exists(at.out), "%s: look %lld: a file is left", c->name, (long long)look);
        CHECK(!partial_is_left(at.out));
        status = c->call(); /* on what it was tried on */
        CHECK_THAT(status == HN_OK, "%s: after look %lld: %s", c->name, (long long)look, hn_error_message());
    }
    if (status == HN_OK && c->result) {
        const uint64_t result = c->result();
        CHECK_THAT(result == want, "%s: after look %lld of %lld it gives something else", c->name, (long long)look, (long long)of);
    }
    if (c->end)
        c->end();
    remove(at.out);
    CHECK_THAT(c->may_keep || live() <= before, "%s: look %lld: %lld bytes are left at the end", c->name, (long long)look,
               (long long)(live() - before));
}

static void check_call(const cancelled_call *c)
{
    uint64_t first, want;
    enum { EACH = 10 };
    check_group(c->name);
    make_whole(c, &first); /* what is made once for all is there then */
    const int64_t n = make_whole(c, &want);
    CHECK_THAT(first == want, "%s: two calls give two results", c->name);
    CHECK_THAT(n > 0, "%s: looks at nothing", c->name);
    const int64_t few = check_flag("--quick") ? 3 : EACH;
    for (int64_t look = 1; look <= n; look = look < few || look >= n ? look + 1 : look * 3 / 2 + 1 < n ? look * 3 / 2 + 1 : n)
        end_at(c, look, n, want);
}

/* ---- a call within a callback ---- */

typedef struct within {
    hearer outer, inner;
    int depth;
} within;

/* What a callback calls is a call of its own: told of from 0 to 1 while the other stands where it was. */
static void hear_within(void *context, double done, const char *what)
{
    char digits[65];
    within *w = context;
    hear(w->depth ? &w->inner : &w->outer, done, what);
    if (!w->depth && w->outer.n == 4)
        CHECK(done < 0.9); /* where it was */
    if (w->depth || w->outer.n != 3)
        return;
    w->depth++;
    CHECK_OK(hn_lm_fingerprint(at.lm, digits));
    w->depth--;
}

static void check_within(void)
{
    within w = { .depth = 0 };
    hn_lm *lm = NULL;
    check_group("within a callback");
    hn_engine_on_work(at.engine, hear_within, &w);
    CHECK_OK(hn_lm_open(&lm, at.engine, hn_lm_builtin(), NULL));
    hn_engine_on_work(at.engine, NULL, NULL);
    hn_lm_close(lm);
    CHECK(w.inner.n > 3 && !w.inner.is_wrong && w.inner.last >= 1);
    CHECK(w.outer.n > 3 && !w.outer.is_wrong && w.outer.last >= 1);
}

/* ---- all of them ---- */

static size_t n_calls(void) { return n_cancelled_calls + n_cancelled_files; }

static const cancelled_call *call_at(size_t i)
{
    return i < n_cancelled_calls ? &cancelled_calls[i] : &cancelled_files[i - n_cancelled_calls];
}

static const char *const classed[] = {
#define HN_NOT_HERE(why, ...) __VA_ARGS__,
#include "tests/fault/cancelled_not.def"
#undef HN_NOT_HERE
};

static int n_of(const char *name)
{
    int n = 0;
    for (size_t i = 0; i < n_calls(); i++)
        n += !strcmp(call_at(i)->name, name);
    n = n > 0;
    for (size_t i = 0; i < sizeof classed / sizeof *classed; i++)
        n += !strcmp(classed[i], name);
    return n;
}

static int declared; /* functions that give a status */

/* "HN_API hn_status NAME(" of a header. */
static void check_header(const char *path)
{
    static const char begin[] = "HN_API hn_status ";
    static char text[1 << 17];
    FILE *f = fopen(path, "r");
    if (!CHECK(f != NULL))
        return;
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    for (char *p = text; (p = strstr(p, begin)); declared++) {
        p += sizeof begin - 1;
        char *end = strchr(p, '(');
        if (!CHECK(end != NULL))
            return;
        *end = 0;
        CHECK_THAT(n_of(p) == 1, "%s: %s is classed %d times: expected once, as a call that is ended here, or in cancelled_not.def",
                   path, p, n_of(p));
        p = end + 1;
    }
}

static void check_classes(void)
{
    char path[512];
    struct dirent *entry;
    DIR *headers = opendir(HN_SOURCE_DIR "/include/hone");
    check_group("classes");
    if (!CHECK(headers != NULL))
        return;
    while ((entry = readdir(headers))) {
        snprintf(path, sizeof path, HN_SOURCE_DIR "/include/hone/%.200s", entry->d_name);
        if (strstr(entry->d_name, ".h"))
            check_header(path);
    }
    closedir(headers);
    CHECK(declared > 150);
    int n = (int)(sizeof classed / sizeof *classed);
    for (size_t i = 0; i < n_calls(); i++) {
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first = is_first && strcmp(call_at(k)->name, call_at(i)->name) != 0;
        n += is_first;
    }
    CHECK_INT(declared, n); /* nothing stands here that there is not */
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    check_classes();
    const char *only = check_option("--only");
    const hn_engine_options one = { .size = sizeof one, .n_threads = 2 };
    if (CHECK_OK(hn_engine_new(&at.engine, &one)) && cancelled_open()) {
        for (size_t i = 0; i < n_calls(); i++)
            if (!only || strstr(call_at(i)->name, only))
                check_call(call_at(i));
        check_within();
        cancelled_close();
        CHECK_INT(0, live() > (1 << 16));
    }
    hn_engine_free(at.engine);
    return check_close();
}
