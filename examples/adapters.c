/* Goes on with a text by several adapters at once, and by none, in one batch, through the installed library:
 *     cc adapters.c $(pkg-config --cflags --libs hone) -o adapters
 *     ./adapters MODEL TEXT TOKENS [ADAPTER]...
 * A line for each, without an adapter first: what `hone run` says, with --lora ADAPTER, alone. */
#include <hone/hone.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_IDS = 1024, MOST_VOICES = 8, MOST_TEXT = 8192 };

typedef struct voice {
    int32_t sequence, ids[MOST_IDS];
    size_t n, fed; /* ids, and how many of them the batch has */
    hn_lm_sampler *sampler;
    hn_lm_decoder *decoder;
    char text[MOST_TEXT];
    int is_done;
} voice;

static voice voices[MOST_VOICES];

static hn_status begin(hn_lm *lm, hn_lm_batch *batch, voice *v, const char *adapter, const char *text)
{
    int32_t number = -1;
    const char *piece;
    hn_status status = adapter ? hn_lm_batch_add_adapter(batch, adapter, NULL, &number) : HN_OK;
    if (status == HN_OK)
        status = hn_lm_batch_open(batch, number, &v->sequence);
    if (status == HN_OK)
        status = hn_lm_sampler_new(&v->sampler, lm, NULL);
    if (status == HN_OK)
        status = hn_lm_decoder_new(&v->decoder, lm, 0);
    if (status == HN_OK)
        status = hn_lm_encode(lm, text, strlen(text), HN_LM_PLAIN, v->ids, MOST_IDS, &v->n);
    for (size_t i = 0; i < v->n && status == HN_OK; i++) /* the decoder goes on after them */
        status = hn_lm_decoder_add(v->decoder, v->ids[i], &piece, NULL);
    return status;
}

/* One token more; what it is goes into the next step. */
static hn_status speak(hn_lm *lm, voice *v, const float *logits)
{
    const char *text;
    int32_t id;
    hn_status status = hn_lm_sampler_next(v->sampler, logits, v->ids, v->n, &id);
    if (status != HN_OK)
        return status;
    v->is_done = hn_lm_ends(lm, id) || v->n == MOST_IDS;
    if (v->is_done)
        return HN_OK;
    v->ids[v->n++] = id;
    status = hn_lm_decoder_add(v->decoder, id, &text, NULL);
    strncat(v->text, status == HN_OK ? text : "", MOST_TEXT - 1 - strlen(v->text));
    return status;
}

/* Everybody who is not done says one token. */
static hn_status step(hn_lm *lm, hn_lm_batch *batch, int n)
{
    hn_lm_batch_piece pieces[MOST_VOICES];
    int whose[MOST_VOICES], n_pieces = 0;
    for (int i = 0; i < n; i++) {
        voice *v = &voices[i];
        if (v->is_done)
            continue;
        pieces[n_pieces] = (hn_lm_batch_piece){ sizeof *pieces, v->sequence, 1, v->ids + v->fed, v->n - v->fed };
        whose[n_pieces++] = i;
        v->fed = v->n;
    }
    hn_status status = n_pieces ? hn_lm_batch_step(batch, pieces, (size_t)n_pieces) : HN_OK;
    for (int i = 0; i < n_pieces && status == HN_OK; i++)
        status = speak(lm, &voices[whose[i]], hn_lm_batch_logits(batch, (size_t)i));
    return status;
}

static hn_status go_on(hn_lm *lm, hn_lm_batch *batch, int argc, char **argv)
{
    const int n = argc - 3;
    hn_status status = HN_OK;
    for (int i = 0; i < n && status == HN_OK; i++)
        status = begin(lm, batch, &voices[i], i ? argv[3 + i] : NULL, argv[2]);
    for (long i = strtol(argv[3], NULL, 10); i > 0 && status == HN_OK; i--)
        status = step(lm, batch, n);
    for (int i = 0; i < n; i++) {
        if (status == HN_OK)
            puts(voices[i].text);
        hn_lm_sampler_free(voices[i].sampler);
        hn_lm_decoder_free(voices[i].decoder);
    }
    return status;
}

int main(int argc, char **argv)
{
    hn_engine *engine = NULL;
    hn_lm *lm = NULL;
    hn_lm_batch *batch = NULL;
    if (argc < 4 || argc > 3 + MOST_VOICES) {
        fprintf(stderr, "usage: adapters MODEL TEXT TOKENS [ADAPTER]...\n");
        return 2;
    }
    const hn_lm_batch_options options = { .size = sizeof options, .sequences = argc - 3, .context = 512,
                                          .adapters = argc - 4, .max_rank = 64, .adapts_experts = 1,
                                          .adapts_head = 1 };
    const int is_done = hn_engine_new(&engine, NULL) == HN_OK && hn_lm_open(&lm, engine, argv[1], NULL) == HN_OK &&
                        hn_lm_batch_new(&batch, lm, &options) == HN_OK && go_on(lm, batch, argc, argv) == HN_OK;
    if (!is_done)
        fprintf(stderr, "%s\n", hn_error_message());
    hn_lm_batch_free(batch);
    hn_lm_close(lm);
    hn_engine_free(engine);
    return is_done ? 0 : 1;
}
