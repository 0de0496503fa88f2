/* Texts as vectors, one a line, through the installed library:
 *     cc embed.c $(pkg-config --cflags --libs hone) -o embed
 *     ./embed MODEL TEXT ... */
#include <hone/hone.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_status embed(hn_lm_embedder *embedder, const char *text)
{
    const size_t width = (size_t)hn_lm_embedder_width(embedder);
    float *vector = malloc(width * sizeof *vector);
    if (!vector)
        return HN_ERR_MEMORY;
    const hn_status status = hn_lm_embedder_run(embedder, text, strlen(text), vector, NULL);
    for (size_t i = 0; i < width && status == HN_OK; i++)
        printf("%.9g%c", (double)vector[i], i + 1 < width ? ' ' : '\n');
    free(vector);
    return status;
}

int main(int argc, char **argv)
{
    hn_engine *engine = NULL;
    hn_lm *lm = NULL;
    hn_lm_embedder *embedder = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: embed MODEL TEXT ...\n");
        return 2;
    }
    int is_done = hn_engine_new(&engine, NULL) == HN_OK && hn_lm_open(&lm, engine, argv[1], NULL) == HN_OK &&
                  hn_lm_embedder_new(&embedder, lm, NULL) == HN_OK;
    for (int i = 2; i < argc && is_done; i++)
        is_done = embed(embedder, argv[i]) == HN_OK;
    if (!is_done)
        fprintf(stderr, "%s\n", hn_error_message());
    hn_lm_embedder_free(embedder);
    hn_lm_close(lm);
    hn_engine_free(engine);
    return is_done ? 0 : 1;
}
