/* regex_match: runs a compiled pattern. It backtracks, on a stack of its own, because the order
 * in which matches are preferred is the meaning; a run of one class is one entry, however long.
 */
#include "text/pattern/program.h"

#include "base/work.h"

enum { MAX_CHOICES = 1 << 26 };
static const uint64_t max_steps = 20 * 1000 * 1000; /* of one match */

typedef struct matcher {
    const hn_regex *re;
    hn_regex_stack *stack;
    const uint8_t *text, *end;
    hn_status status;
    const uint8_t *run_at, *run_end; /* of GROUPS: the run of its set that was read last */
    int run_chars;                   /* from run_at to run_end, modulo the group */
} matcher;

static bool match(matcher *m, int32_t pc, const uint8_t *at, const uint8_t **end);

static bool push(matcher *m, int32_t pc, const uint8_t *at, const uint8_t *low, int32_t more)
{
    hn_regex_stack *s = m->stack;
    if (s->n == s->room) {
        const size_t room = s->room ? 2 * s->room : 256;
        hn_regex_choice *choices = NULL;
        if (room > MAX_CHOICES)
            m->status =
                hn_fail(HN_ERR_UNSUPPORTED, "regex: more than %d open choices", MAX_CHOICES);
        else if (!(choices = hn_realloc_array(m->re->heap, HN_TAG_TEXT, s->at, room,
                                              sizeof *choices)))
            m->status = HN_ERR_MEMORY;
        if (!choices)
            return false;
        s->at = choices;
        s->room = room;
    }
    s->at[s->n++] =
        (hn_regex_choice){ pc, more, (uint32_t)(at - m->text), (uint32_t)(low - m->text) };
    return true;
}

/* Past at most `most` characters of the set. */
static const uint8_t *run(const hn_charset *set, const uint8_t *at, const uint8_t *end,
                          int32_t most)
{
    const uint8_t *ascii = set->blocks[set->index[0]];
    for (; most > 0 && at < end; most--) {
        if (*at < 0x80) {
            if (!(ascii[*at >> 3] >> (*at & 7) & 1))
                break;
            at++;
            continue;
        }
        uint32_t code;
        const size_t n = hn_char_at(at, end, &code);
        if (!hn_charset_has(set, code))
            break;
        at += n;
    }
    return at;
}

/* The least a run must take, then by greed; NULL if it cannot. */
static const uint8_t *take_run(matcher *m, const hn_regex_step *s, int32_t pc,
                               const uint8_t *at)
{
    const hn_charset *set = m->re->sets[s->set];
    const uint8_t *low = at;
    for (int32_t i = 0; i < s->a; i++) {
        const uint8_t *next = run(set, low, m->end, 1);
        if (next == low)
            return NULL;
        low = next;
    }
    const int32_t more = s->b == HN_RE_NO_MAXIMUM ? INT32_MAX : s->b - s->a;
    if (s->greed == HN_RE_LAZY)
        return more && !push(m, pc, low, low, more) ? NULL : low;
    const uint8_t *high = run(set, low, m->end, more);
    if (s->greed == HN_RE_GREEDY && high > low && !push(m, pc, high, low, 0))
        return NULL;
    return high;
}

/* Takes the last choice up again: where to go on, or false if none is left above `base`. */
static bool pop(matcher *m, size_t base, int32_t *pc, const uint8_t **at)
{
    hn_regex_stack *s = m->stack;
    while (s->n > base) {
        if (++s->n_steps > max_steps) {
            m->status = hn_fail(HN_ERR_UNSUPPORTED, "regex: no match within %llu steps",
                                (unsigned long long)max_steps);
            return false;
        }
        if (hn_work_every(s->n_steps) && (m->status = hn_work_look("a pattern")) != HN_OK)
            return false;
        hn_regex_choice *c = &s->at[s->n - 1];
        const hn_regex_step *step = &m->re->steps[c->pc];
        *pc = c->pc;
        *at = m->text + c->at;
        if (c->more < 0) {
            s->n--;
            return true;
        }
        *pc += 1;
        if (step->greed == HN_RE_LAZY) {
            const uint8_t *next = run(m->re->sets[step->set], *at, m->end, 1);
            if (next == *at) {
                s->n--;
                continue;
            }
            c->at = (uint32_t)(next - m->text);
            if (c->more != INT32_MAX && --c->more == 0)
                s->n--;
            *at = next;
            return true;
        }
        *at -= hn_char_before(m->text + c->low, *at);
        c->at = (uint32_t)(*at - m->text);
        if (c->at <= c->low)
            s->n--;
        return true;
    }
    return false;
}

static bool holds(const matcher *m, uint8_t anchor, const uint8_t *at)
{
    switch ((hn_regex_anchor)anchor) {
    case HN_RE_LINE_BEGIN: /* not after a newline that ends the text */
        return at == m->text || (at[-1] == '\n' && at < m->end);
    case HN_RE_LINE_END:
        return at == m->end || *at == '\n';
    case HN_RE_TEXT_BEGIN:
        return at == m->text;
    case HN_RE_TEXT_END:
        return at == m->end;
    case HN_RE_LAST_LINE_END:
        return at == m->end || (*at == '\n' && at + 1 == m->end);
    }
    return false;
}

static bool look(matcher *m, const hn_regex_step *s, int32_t pc, const uint8_t *at)
{
    const uint8_t *from = at, *end;
    for (int32_t i = 0; i < s->b; i++) {
        if (from == m->text)
            return s->is_negative;
        from -= hn_char_before(m->text, from);
    }
    return match(m, pc + 1, from, &end) != s->is_negative;
}

/* Asked at each character of a run in turn, so the run is read once and then counted down. */
static bool is_groups(matcher *m, const hn_regex_step *s, const uint8_t *at)
{
    const hn_charset *set = m->re->sets[s->set];
    uint32_t code;
    if (at < m->run_at || at > m->run_end || !m->run_at) {
        m->run_at = m->run_end = at;
        m->run_chars = 0;
        for (size_t n; m->run_end < m->end; m->run_end += n) {
            n = hn_char_at(m->run_end, m->end, &code);
            if (!hn_charset_has(set, code))
                break;
            m->run_chars = (m->run_chars + 1) % s->a;
        }
    }
    for (; m->run_at < at; m->run_at += hn_char_at(m->run_at, m->end, &code))
        m->run_chars = (m->run_chars + s->a - 1) % s->a;
    return at < m->run_end && m->run_chars == 0;
}

static bool can_begin(const matcher *m, int16_t set, const uint8_t *at)
{
    uint32_t code;
    if (set < 0)
        return true;
    if (at == m->end)
        return false;
    hn_char_at(at, m->end, &code);
    return hn_charset_has(m->re->sets[set], code);
}

/* One step that either leads on to *at and returns true, or not. */
static bool advance(matcher *m, const hn_regex_step *s, int32_t *pc, const uint8_t **at)
{
    const uint8_t *next;
    const int32_t here = *pc;
    *pc = here + 1;
    switch ((hn_regex_op)s->op) {
    case HN_OP_BYTE:
        return *at < m->end && *(*at)++ == (uint8_t)s->a;
    case HN_OP_CHAR:
        next = run(m->re->sets[s->set], *at, m->end, 1);
        if (next == *at)
            return false;
        *at = next;
        return true;
    case HN_OP_RUN:
        if (!(next = take_run(m, s, here, *at)))
            return false;
        *at = next;
        return true;
    case HN_OP_TRY:
        if (can_begin(m, s->set, *at))
            return push(m, s->a, *at, *at, -1);
        *pc = s->a;
        return true;
    case HN_OP_SPLIT:
        *pc = s->a;
        return push(m, s->b, *at, *at, -1);
    case HN_OP_JUMP:
        *pc = s->a;
        return true;
    case HN_OP_LOOK:
        *pc = s->a;
        return look(m, s, here, *at);
    case HN_OP_ATOMIC:
        *pc = s->a;
        return match(m, here + 1, *at, at);
    case HN_OP_GROUPS:
        return is_groups(m, s, *at);
    case HN_OP_ANCHOR:
        return holds(m, s->anchor, *at);
    case HN_OP_MATCH:
        break;
    }
    return false;
}

/* Leaves the stack as it found it. Calls itself as deep as the pattern looks within looks. */
static bool match(matcher *m, int32_t pc, const uint8_t *at, const uint8_t **end)
{
    const size_t base = m->stack->n;
    for (;;) {
        const hn_regex_step *s = &m->re->steps[pc];
        if (s->op == HN_OP_MATCH) {
            m->stack->n = base;
            *end = at;
            return true;
        }
        if (advance(m, s, &pc, &at))
            continue;
        if (m->status != HN_OK || !pop(m, base, &pc, &at)) {
            m->stack->n = base;
            return false;
        }
    }
}

hn_status hn_regex_find(const hn_regex *re, hn_regex_stack *stack, const uint8_t *text,
                        size_t bytes, size_t from, size_t *begin, size_t *end)
{
    matcher m = { .re = re, .stack = stack, .text = text, .end = text + bytes };
    stack->n = 0;
    stack->n_steps = 0;
    uint32_t code;
    for (const uint8_t *at = text + from, *stop; at <= m.end;) {
        if (re->first) {
            while (at < m.end && hn_char_at(at, m.end, &code) &&
                   !hn_charset_has(re->first, code))
                at += hn_char_at(at, m.end, &code);
            if (at == m.end)
                break;
        }
        if (match(&m, 0, at, &stop)) {
            *begin = (size_t)(at - text);
            *end = (size_t)(stop - text);
            return HN_OK;
        }
        if (m.status != HN_OK)
            return m.status;
        const uint8_t *after =
            re->skips_run ? run(re->sets[re->steps->set], at, m.end, INT32_MAX) : at;
        at = after > at ? after : at < m.end ? at + hn_char_at(at, m.end, &code) : at + 1;
    }
    *begin = *end = bytes + 1;
    return HN_OK;
}

void hn_regex_stack_free(hn_heap *heap, hn_regex_stack *stack)
{
    hn_free(heap, stack->at);
    *stack = (hn_regex_stack){ 0 };
}
