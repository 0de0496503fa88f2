/* Goes on with a text, through the installed library:
 *     cc run.c $(pkg-config --cflags --libs hone) -o run
 *     ./run MODEL TEXT [TOKENS [SEED]]
 * It says what `hone run` says with the same seed. */
#include <hone/hone.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IDS = 4096 };

/* The text's ids to the session; and to the decoder, which goes on after them. */
static hn_status begin(const hn_lm *lm, hn_lm_session *session, hn_lm_decoder *decoder, const char *text)
{
    int32_t ids[MOST_IDS];
    size_t n;
    const char *piece;
    hn_status status = hn_lm_encode(lm, text, strlen(text), HN_LM_PLAIN, ids, MOST_IDS, &n);
    for (size_t i = 0; i < n && status == HN_OK; i++)
        status = hn_lm_decoder_add(decoder, ids[i], &piece, NULL);
    return status == HN_OK ? hn_lm_session_feed(session, ids, n) : status;
}

static hn_status go_on(const hn_lm *lm, hn_lm_session *session, hn_lm_sampler *sampler, hn_lm_decoder *decoder,
                       long count)
{
    const char *text;
    int32_t id;
    for (long i = 0; i < count; i++) {
        hn_status status = hn_lm_sampler_draw(sampler, session, &id);
        if (status != HN_OK || hn_lm_ends(lm, id))
            return status;
        status = hn_lm_decoder_add(decoder, id, &text, NULL);
        if (status == HN_OK && i + 1 < count)
            status = hn_lm_session_feed(session, &id, 1);
        if (status != HN_OK)
            return status;
        fputs(text, stdout);
        fflush(stdout);
    }
    return HN_OK;
}

int main(int argc, char **argv)
{
    hn_engine *engine = NULL;
    hn_lm *lm = NULL;
    hn_lm_session *session = NULL;
    hn_lm_sampler *sampler = NULL;
    hn_lm_decoder *decoder = NULL;
    hn_lm_sampling sampling;
    if (argc < 3) {
        fprintf(stderr, "usage: run MODEL TEXT [TOKENS [SEED]]\n");
        return 2;
    }
    hn_lm_sampling_default(&sampling, sizeof sampling);
    sampling.seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    const int is_done = hn_engine_new(&engine, NULL) == HN_OK && hn_lm_open(&lm, engine, argv[1], NULL) == HN_OK &&
                        hn_lm_session_new(&session, lm, NULL) == HN_OK &&
                        hn_lm_sampler_new(&sampler, lm, &sampling) == HN_OK &&
                        hn_lm_decoder_new(&decoder, lm, 0) == HN_OK &&
                        begin(lm, session, decoder, argv[2]) == HN_OK &&
                        go_on(lm, session, sampler, decoder, argc > 3 ? atol(argv[3]) : 256) == HN_OK;
    puts("");
    if (!is_done)
        fprintf(stderr, "%s\n", hn_error_message());
    hn_lm_decoder_free(decoder);
    hn_lm_sampler_free(sampler);
    hn_lm_session_free(session);
    hn_lm_close(lm);
    hn_engine_free(engine);
    return is_done ? 0 : 1;
}
