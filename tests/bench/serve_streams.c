/* Asks one server, or two in turn, for streams of tokens, as so many readers do at once, and tells what each reader saw:
 * tokens a second of all, when the first came, and how long the gaps between two were, also the longest of each answer by that
 * answer's own median.
 *
 *     build/tests/bench/serve_streams --port 8080 [--beside 8081 [--rounds 3]] [--warm 0] [--seconds 20] [--clients 8 | --rate R]
 *                                     [--prompt 128] [--shared 0] [--tokens 64] [--vocabulary 32000] [--model NAME]
 *                                     [--intrude N] [--seed 0]
 *
 * A prompt is token ids, drawn by a seed that both servers see alike: the first `--shared` are everybody's, the others
 * nobody else's. `--clients` ask again as soon as they have an answer; `--rate` requests a second come by themselves
 * (Poisson, drawn by `--seed`) and wait for nobody: whoever finds every connection busy opens another, and times are from
 * when a request was due, not from when it was sent. `--intrude N`: one more client asks for one token after N of its
 * own, in a loop. Tokens are counted by the servers' usage, for events may hold none or several. Of an answer that is not at its
 * end when a round is, as many count as its events would be of one that ended; the first `--warm` seconds of a round count for
 * nothing, and of an answer that began in them count its events after. So a round that is shorter than its answers has their speed, too.
 */
#include "base/file.h"
#include "base/os/clock.h"
#include "base/os/poller.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_READERS = 16384, MOST_IDS = 131072, ROOM = 65536, EVENTS = 64, FRAME = 1024, EVENT = 65536 };

/* Where in a reply its bytes are: head, then chunks of a size, bytes and an end of line each. */
typedef enum part { IN_HEAD, IN_SIZE, IN_CHUNK, AFTER_CHUNK, IN_END } part;

typedef struct line {
    char *at;
    size_t n, room;
} line;

typedef struct times {
    double *at; /* ms */
    size_t n, room;
} times;

typedef struct reader {
    hn_os_socket socket;
    bool is_busy, is_done, intrudes; /* done: [DONE] was read */
    bool has_asked; /* on this connection, before this request: the server may close it meanwhile */
    char *request;
    size_t bytes, sent;
    int64_t asked_ns, first_ns, last_ns;
    part at;
    size_t left; /* of the chunk */
    line frame, event;
    times gaps; /* of this answer */
    uint64_t n_events, n_before; /* with a text; of them before what counts */
} reader;

typedef struct seen { /* of one server, over its rounds */
    times first, gaps, whole, waits; /* waits: of each answer, its longest gap by its median */
    double n_made;                          /* tokens of answers that ended, but for what came too early */
    uint64_t n_told, n_told_events, n_left; /* all tokens of them, and events; events of those that did not end */
    uint64_t n_asked, n_cached, n_answers, n_failed, n_unended;
    int n_most;     /* that waited at once */
    double late_ms; /* the longest that a request was sent after it was due */
    double seconds;
} seen;

typedef struct load {
    const char *model;
    int n_clients, n_prompt, n_shared, n_tokens, n_vocabulary, n_intrude;
    double rate, warm, seconds;
    uint64_t seed, arrivals; /* of prompts, of when they come */
    hn_os_poller poller;
    reader **readers; /* each lies where it lay: the poller knows it by its place */
    int n_readers, n_busy, port;
    seen *seen;
} load;

/* ---- numbers ---- */

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return otherwise;
}

static int whole(int argc, char **argv, const char *name, const char *otherwise)
{
    return (int)strtol(option(argc, argv, name, otherwise), NULL, 10);
}

static void add(times *t, double ms)
{
    if (t->n == t->room) {
        t->room = t->room ? 2 * t->room : 4096;
        t->at = realloc(t->at, t->room * sizeof *t->at);
        if (!t->at)
            exit(1);
    }
    t->at[t->n++] = ms;
}

static void seen_free(seen *s)
{
    free(s->first.at);
    free(s->gaps.at);
    free(s->whole.at);
    free(s->waits.at);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(times *t)
{
    if (t->n)
        qsort(t->at, t->n, sizeof *t->at, by_size);
}

static double share(const times *t, double of)
{
    if (!t->n)
        return 0;
    const size_t at = (size_t)(of * (double)t->n);
    return t->at[at < t->n ? at : t->n - 1];
}

static uint64_t draw(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- asking ---- */

/* Ids from 1000 on: no vocabulary that is compared has a mark there. */
static char *write_ids(const load *l, char *to, uint64_t seed, int n)
{
    for (int i = 0; i < n; i++)
        to += sprintf(to, "%d,", 1000 + (int)(draw(&seed) % (uint64_t)(l->n_vocabulary - 1000)));
    return to;
}

static void write_request(load *l, reader *r)
{
    static char body[8 * MOST_IDS + FRAME];
    const int n = r->intrudes ? l->n_intrude : l->n_prompt, n_shared = r->intrudes ? 0 : l->n_shared;
    char *at = body + sprintf(body, "{\"model\":\"%s\",\"prompt\":[", l->model);
    at = write_ids(l, at, 1, n_shared);
    at = write_ids(l, at, l->seed++ + 1000, n - n_shared);
    at += sprintf(at - 1,
                  "],\"max_tokens\":%d,\"temperature\":0,\"ignore_eos\":true,\"stream\":true,"
                  "\"stream_options\":{\"include_usage\":true}}",
                  r->intrudes ? 1 : l->n_tokens) -
          1;
    const size_t bytes = (size_t)(at - body);
    free(r->request);
    r->request = malloc(bytes + 256);
    if (!r->request)
        exit(1);
    r->bytes = (size_t)sprintf(r->request,
                               "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                               "Content-Length: %zu\r\n\r\n",
                               bytes);
    memcpy(r->request + r->bytes, body, bytes);
    r->bytes += bytes;
}

static void send_more(load *l, reader *r)
{
    const ptrdiff_t n = hn_os_send(r->socket, r->request + r->sent, r->bytes - r->sent);
    if (n > 0)
        r->sent += (size_t)n;
    hn_os_poller_change(&l->poller, r->socket, r, true, r->sent < r->bytes);
}

static bool join(load *l, reader *r)
{
    r->socket = hn_os_connect("127.0.0.1", l->port);
    return r->socket != HN_OS_NO_SOCKET && hn_os_poller_add(&l->poller, r->socket, r, true, true);
}

static void leave(load *l, reader *r)
{
    if (r->socket == HN_OS_NO_SOCKET)
        return;
    hn_os_poller_remove(&l->poller, r->socket);
    hn_os_socket_close(r->socket);
    r->socket = HN_OS_NO_SOCKET;
}

static void send_again(load *l, reader *r)
{
    r->has_asked = r->socket != HN_OS_NO_SOCKET;
    if (!r->has_asked && !join(l, r)) {
        fprintf(stderr, "nobody answers at port %d\n", l->port);
        exit(1);
    }
    r->sent = r->frame.n = r->event.n = 0;
    r->at = IN_HEAD;
    send_more(l, r);
}

static void ask(load *l, reader *r, int64_t due_ns)
{
    write_request(l, r);
    r->is_busy = true;
    r->is_done = false;
    r->asked_ns = due_ns;
    l->n_busy++;
    l->seen->n_most = l->n_busy > l->seen->n_most ? l->n_busy : l->seen->n_most;
    const double late_ms = (double)(hn_clock_ns() - due_ns) * 1e-6;
    l->seen->late_ms = late_ms > l->seen->late_ms ? late_ms : l->seen->late_ms;
    r->first_ns = r->last_ns = 0;
    r->gaps.n = 0;
    r->n_events = r->n_before = 0;
    send_again(l, r);
}

/* ---- what comes ---- */

static uint64_t number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

static void end_answer(load *l, reader *r)
{
    r->is_busy = false;
    l->n_busy--;
    l->seen->n_failed += !r->is_done;
    if (!r->is_done)
        leave(l, r);
    else if (!r->intrudes) {
        l->seen->n_answers++;
        add(&l->seen->whole, (double)(hn_clock_ns() - r->asked_ns) * 1e-6);
        sort(&r->gaps);
        if (r->gaps.n)
            add(&l->seen->waits, share(&r->gaps, 1) / share(&r->gaps, .5));
    }
}

/* The first event with a text is the first token; those after it end gaps. Usage comes with the last. */
static void take_event(load *l, reader *r, const char *text)
{
    const int64_t now = hn_clock_ns();
    if (!strncmp(text, "data: [DONE]", 12))
        r->is_done = true;
    if (strncmp(text, "data: {", 7) || r->intrudes)
        return;
    if (strstr(text, "\"completion_tokens\":")) {
        const uint64_t n = number_after(text, "\"completion_tokens\":");
        l->seen->n_told += n;
        l->seen->n_told_events += r->n_events;
        l->seen->n_made += r->n_events ? (double)n * (double)(r->n_events - r->n_before) / (double)r->n_events : 0;
        l->seen->n_asked += number_after(text, "\"prompt_tokens\":");
        l->seen->n_cached += number_after(text, "\"cached_tokens\":");
    }
    if (!strstr(text, "\"text\":"))
        return;
    r->n_events++;
    if (!r->first_ns)
        add(&l->seen->first, (double)((r->first_ns = now) - r->asked_ns) * 1e-6);
    else {
        add(&l->seen->gaps, (double)(now - r->last_ns) * 1e-6);
        add(&r->gaps, (double)(now - r->last_ns) * 1e-6);
    }
    r->last_ns = now;
}

static void take_frame(load *l, reader *r, const char *text)
{
    if (r->at == IN_HEAD && !strncmp(text, "HTTP/1.1", 8) && strncmp(text + 9, "200", 3)) {
        if (!l->seen->n_failed)
            fprintf(stderr, "port %d: the first that failed: %s\n", l->port, text);
        end_answer(l, r);
    } else if (r->at == IN_HEAD)
        r->at = *text ? IN_HEAD : IN_SIZE;
    else if (r->at == IN_SIZE)
        r->at = (r->left = strtoull(text, NULL, 16)) ? IN_CHUNK : IN_END;
    else if (r->at == AFTER_CHUNK)
        r->at = IN_SIZE;
    else
        end_answer(l, r);
}

/* Whether the line is whole now. */
static bool goes_on(line *t, char c)
{
    if (c != '\n' && c != '\r' && t->n + 1 < t->room)
        t->at[t->n++] = c;
    if (c != '\n')
        return false;
    t->at[t->n] = 0;
    t->n = 0;
    return true;
}

/* Lines of events lie in chunks as they like, so the frame's own lines are read beside them. */
static void take(load *l, reader *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && r->is_busy; i++)
        if (r->at != IN_CHUNK) {
            if (goes_on(&r->frame, bytes[i]))
                take_frame(l, r, r->frame.at);
        } else {
            if (goes_on(&r->event, bytes[i]))
                take_event(l, r, r->event.at);
            if (!--r->left)
                r->at = AFTER_CHUNK;
        }
}

static void receive(load *l, reader *r)
{
    static char bytes[ROOM];
    const ptrdiff_t n = hn_os_receive(r->socket, bytes, sizeof bytes);
    if (n > 0)
        take(l, r, bytes, (size_t)n);
    else if (n != HN_OS_LATER) {
        const bool was_closed = r->is_busy && r->has_asked && r->at == IN_HEAD && !r->frame.n; /* after the answer before */
        leave(l, r);
        if (was_closed)
            send_again(l, r);
        else if (r->is_busy)
            end_answer(l, r);
    }
}

/* ---- a round ---- */

static reader *new_reader(load *l, bool intrudes)
{
    reader **more = realloc(l->readers, (size_t)(l->n_readers + 1) * sizeof *more);
    reader *r = calloc(1, sizeof *r);
    if (!more || !r)
        exit(1);
    *r = (reader){ .socket = HN_OS_NO_SOCKET,
                   .intrudes = intrudes,
                   .frame = { .at = malloc(FRAME), .room = FRAME },
                   .event = { .at = malloc(EVENT), .room = EVENT } };
    if (!r->frame.at || !r->event.at)
        exit(1);
    l->readers = more;
    return l->readers[l->n_readers++] = r;
}

static reader *idle(load *l)
{
    for (int i = 0; i < l->n_readers; i++)
        if (!l->readers[i]->is_busy && !l->readers[i]->intrudes)
            return l->readers[i];
    if (l->n_readers < MOST_READERS)
        return new_reader(l, false);
    fprintf(stderr, "more than %d requests wait: the rate is more than the server has\n", MOST_READERS);
    exit(1);
}

static int64_t gap_ns(load *l)
{
    return (int64_t)(-log(1 - (double)(draw(&l->arrivals) >> 11) * 0x1p-53) / l->rate * 1e9);
}

/* Asks where somebody has nothing to wait for; milliseconds until the next comes by itself. */
static int ask_next(load *l, int64_t now, int64_t *next)
{
    for (int i = 0; i < l->n_readers; i++)
        if (!l->readers[i]->is_busy && (l->readers[i]->intrudes || l->rate <= 0))
            ask(l, l->readers[i], hn_clock_ns());
    if (l->rate <= 0)
        return 100;
    for (; *next <= now; *next += gap_ns(l))
        ask(l, idle(l), *next);
    return (int)((*next - now + 999999) / 1000000);
}

static void ask_until(load *l, int64_t end, int64_t *next)
{
    hn_os_event events[EVENTS];
    int64_t now;
    while ((now = hn_clock_ns()) < end) {
        const int wait = ask_next(l, now, next);
        const int n = hn_os_poller_wait(&l->poller, events, EVENTS, wait);
        for (int i = 0; i < n; i++) {
            reader *r = events[i].context;
            if (events[i].can_write && r->sent < r->bytes)
                send_more(l, r);
            if (r->socket != HN_OS_NO_SOCKET && (events[i].can_read || events[i].is_lost))
                receive(l, r);
        }
    }
}

static void run_round(load *l)
{
    seen *const counted = l->seen;
    seen early = { 0 };
    int64_t start = hn_clock_ns(), next = start + (l->rate > 0 ? gap_ns(l) : 0);
    l->seen = &early;
    ask_until(l, start + (int64_t)(l->warm * 1e9), &next);
    for (int i = 0; i < l->n_readers; i++)
        l->readers[i]->n_before = l->readers[i]->n_events;
    seen_free(&early);
    l->seen = counted;
    counted->n_failed += early.n_failed;
    start = hn_clock_ns();
    ask_until(l, start + (int64_t)(l->seconds * 1e9), &next);
    counted->seconds += (double)(hn_clock_ns() - start) * 1e-9;
    for (int i = 0; i < l->n_readers; i++) { /* the server sees them leave */
        reader *r = l->readers[i];
        counted->n_unended += r->is_busy && !r->intrudes;
        counted->n_left += r->is_busy && !r->intrudes ? r->n_events - r->n_before : 0;
        leave(l, r);
        r->is_busy = r->is_done = false;
    }
    l->n_busy = 0;
}

static double tokens_a_second(const seen *s)
{
    const double of_event = s->n_told_events ? (double)s->n_told / (double)s->n_told_events : 1;
    return (s->n_made + of_event * (double)s->n_left) / s->seconds;
}

static void tell(seen *s, int port)
{
    times *const all[] = { &s->first, &s->gaps, &s->whole, &s->waits };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sort(all[i]);
    printf("port %d: %.1f tokens/s, %.1f of prompts (%.1f cached), %" PRIu64 " answers, %" PRIu64 " failed, %" PRIu64 " not at an end in %.1f s\n", port,
           tokens_a_second(s), (double)s->n_asked / s->seconds, (double)s->n_cached / s->seconds, s->n_answers,
           s->n_failed, s->n_unended, s->seconds);
    printf("    first token ms p50 %.1f p99 %.1f; gap p50 %.1f p90 %.1f p99 %.1f most %.1f; answer p50 %.0f p99 %.0f\n"
           "    an answer's longest gap by its median: p50 %.1f most %.1f; at most %d waited at once, sent %.1f ms late at most\n",
           share(&s->first, .5), share(&s->first, .99), share(&s->gaps, .5), share(&s->gaps, .9), share(&s->gaps, .99),
           share(&s->gaps, 1), share(&s->whole, .5), share(&s->whole, .99), share(&s->waits, .5), share(&s->waits, 1), s->n_most, s->late_ms);
}

static void make_readers(load *l)
{
    for (int i = 0; l->rate <= 0 && i < l->n_clients; i++)
        new_reader(l, false);
    if (l->n_intrude > 0)
        new_reader(l, true);
}

static void end_readers(load *l)
{
    for (int i = 0; i < l->n_readers; i++) {
        free(l->readers[i]->frame.at);
        free(l->readers[i]->event.at);
        free(l->readers[i]->request);
        free(l->readers[i]->gaps.at);
        free(l->readers[i]);
    }
    free(l->readers);
}

int main(int argc, char **argv)
{
    hn_heap heap;
    seen of[2] = { 0 };
    const uint64_t seed = strtoull(option(argc, argv, "--seed", "0"), NULL, 10);
    const int ports[2] = { whole(argc, argv, "--port", "8080"), whole(argc, argv, "--beside", "0") };
    const int n_servers = ports[1] ? 2 : 1, n_rounds = whole(argc, argv, "--rounds", "1");
    load l = { .model = option(argc, argv, "--model", "m"),
               .n_clients = whole(argc, argv, "--clients", "8"),
               .n_prompt = whole(argc, argv, "--prompt", "128"),
               .n_shared = whole(argc, argv, "--shared", "0"),
               .n_tokens = whole(argc, argv, "--tokens", "64"),
               .n_vocabulary = whole(argc, argv, "--vocabulary", "32000"),
               .n_intrude = whole(argc, argv, "--intrude", "0"),
               .rate = strtod(option(argc, argv, "--rate", "0"), NULL),
               .warm = strtod(option(argc, argv, "--warm", "0"), NULL),
               .seconds = strtod(option(argc, argv, "--seconds", "20"), NULL) };
    if (l.n_prompt > MOST_IDS || l.n_intrude > MOST_IDS || l.n_shared > l.n_prompt || l.n_clients > MOST_READERS) {
        fprintf(stderr, "at most %d ids, of which some are shared, and %d clients\n", MOST_IDS, MOST_READERS);
        return 2;
    }
    hn_heap_init(&heap, NULL);
    make_readers(&l);
    if (!hn_os_sockets_begin() || !hn_os_poller_open(&l.poller, &heap))
        return 1;
    const int64_t used = hn_clock_thread_ns(), start = hn_clock_ns();
    for (int i = 0; i < n_rounds * n_servers; i++) { /* each begins every second round */
        const int which = n_servers == 1 ? 0 : (i + i / 2) % 2;
        l.port = ports[which];
        l.seen = &of[which];
        l.seed = (seed + (uint64_t)(i / n_servers)) << 32;
        l.arrivals = ~l.seed;
        run_round(&l);
    }
    for (int i = 0; i < n_servers; i++)
        tell(&of[i], ports[i]);
    if (n_servers == 2)
        printf("the first makes %.2f x the tokens of the second; ", tokens_a_second(&of[0]) / tokens_a_second(&of[1]));
    printf("the asking took %.1f %% of a processor\n", 100 * (double)(hn_clock_thread_ns() - used) / (double)(hn_clock_ns() - start));
    hn_os_poller_close(&l.poller);
    end_readers(&l);
    seen_free(&of[0]);
    seen_free(&of[1]);
    return 0;
}
