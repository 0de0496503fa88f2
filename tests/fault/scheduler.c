/* Every allocation that a scheduler makes, refused in turn: a status, nothing left behind, and those who had asked before are served as
 * if nobody else had come. A step allocates nothing. */
#include "hone/hone.h"
#include "tests/harness/check.h"

#include <string.h>

enum { N_NEW = 20, MOST_IDS = 64, N_ASKED = 3 };

static hn_engine *engine;
static hn_lm *lm;
static hn_lm_batch *batch;
static int32_t ids[MOST_IDS];
static size_t n_ids;

static struct {
    int32_t ids[N_NEW];
    int n;
    hn_status status;
    bool has_ended;
} said[N_ASKED];

static int64_t allocations(int64_t *live)
{
    int64_t calls;
    hn_engine_memory(engine, live, NULL, &calls);
    return calls;
}

static void on_token(void *context, const hn_lm_drawn *token)
{
    const int i = *(const int *)context;
    if (CHECK(said[i].n < N_NEW))
        said[i].ids[said[i].n++] = token->id;
}

static void on_end(void *context, const hn_lm_ended *ended)
{
    const int i = *(const int *)context;
    said[i].status = ended->status;
    said[i].has_ended = true;
}

/* Three ask, the later ones after a step. Who was taken is served, whatever became of the next. */
static hn_status serve(void)
{
    static int which[N_ASKED] = { 0, 1, 2 };
    const hn_lm_sampling s = { .size = sizeof s, .temperature = 0.8f, .seed = 5 };
    const hn_lm_draft_options draft = { .size = sizeof draft, .ngram = 2, .most = 3 };
    const hn_lm_scheduler_options o = { .size = sizeof o, .draft = &draft };
    hn_lm_scheduler *scheduler = NULL;
    int64_t left = 0, live;
    memset(said, 0, sizeof said);
    hn_status status = hn_lm_scheduler_new(&scheduler, batch, &o);
    for (int i = 0; i < N_ASKED && status == HN_OK; i++) {
        int64_t number;
        const hn_lm_request r = { .size = sizeof r, .ids = ids, .n = n_ids - (size_t)i, .sampling = &s, .most = N_NEW, .goes_on = 1,
                                  .on_token = on_token, .on_end = on_end, .context = &which[i] };
        status = hn_lm_scheduler_ask(scheduler, &r, &number);
        if (status != HN_OK)
            break;
        const int64_t before = allocations(&live);
        CHECK_OK(hn_lm_scheduler_step(scheduler, &left));
        CHECK_INT(before, allocations(&live));
    }
    while (left)
        CHECK_OK(hn_lm_scheduler_step(scheduler, &left));
    hn_lm_scheduler_free(scheduler);
    return status;
}

static void refuse(void)
{
    static int32_t want[N_ASKED][N_NEW];
    int n_refused = 0, n_served = 0;
    serve(); /* and what a first step makes */
    if (!CHECK_OK(serve()))
        return;
    for (int i = 0; i < N_ASKED; i++)
        memcpy(want[i], said[i].ids, sizeof want[i]);
    for (int64_t nth = 1;; nth++) {
        int64_t before, live;
        const int64_t first = allocations(&before);
        hn_engine_fail_allocation(engine, nth);
        const hn_status status = serve();
        hn_engine_fail_allocation(engine, 0);
        const int64_t calls = allocations(&live);
        CHECK_THAT(live == before, "allocation %lld refused: %lld bytes left", (long long)nth, (long long)(live - before));
        for (int i = 0; i < N_ASKED; i++) {
            CHECK(!said[i].has_ended || (said[i].status == HN_OK && !memcmp(want[i], said[i].ids, sizeof want[i])));
            n_served += said[i].has_ended;
        }
        if (calls < first + nth) {
            CHECK_OK(status);
            break;
        }
        n_refused++;
        CHECK_THAT(status == HN_ERR_MEMORY, "allocation %lld refused: status %d: %s", (long long)nth, (int)status,
                   hn_error_message());
    }
    CHECK_THAT(n_refused > 20 && n_served > 20, "%d allocations refused, %d served beside them", n_refused, n_served);
}

int main(int argc, char **argv)
{
    static const char prompt[] = "Gordon had a pleated pram. Gordon had a pleated";
    int64_t before, live, of;
    check_open(argc, argv);
    if (CHECK_OK(hn_engine_new(&engine, &(hn_engine_options){ .size = sizeof(hn_engine_options), .n_threads = 1 }))) {
        allocations(&before);
        const hn_lm_batch_options b = { .size = sizeof b, .sequences = 4, .context = 128, .tokens = 48, .rows = 12 };
        if (CHECK_OK(hn_lm_open(&lm, engine, hn_lm_builtin(), NULL)) &&
            CHECK_OK(hn_lm_encode(lm, prompt, strlen(prompt), HN_LM_PLAIN, ids, MOST_IDS, &n_ids)) &&
            CHECK_OK(hn_lm_batch_new(&batch, lm, &b))) {
            refuse();
            CHECK(hn_lm_batch_blocks(batch, &of) == of);
        }
        hn_lm_batch_free(batch);
        hn_lm_close(lm);
        allocations(&live);
        CHECK_INT(before, live);
        hn_engine_free(engine);
    }
    return check_close();
}
