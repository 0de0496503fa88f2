/* A conversation, a line of standard input at a time, through the installed library:
 *     cc chat.c $(pkg-config --cflags --libs hone) -o chat
 *     ./chat MODEL [TOKENS [ADAPTER]]
 * It says what `hone chat` says with the same options. */
#include <hone/hone.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print(void *context, const char *text, size_t bytes)
{
    (void)context;
    fwrite(text, 1, bytes, stdout);
    fflush(stdout);
}

static hn_status talk(hn_lm_chat *chat)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        const hn_status status = hn_lm_chat_ask(chat, line, NULL, 0);
        puts("");
        if (status != HN_OK)
            return status;
    }
    return HN_OK;
}

int main(int argc, char **argv)
{
    hn_engine *engine = NULL;
    hn_lm *lm = NULL;
    hn_lm_chat *chat = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: chat MODEL [TOKENS [ADAPTER]]\n");
        return 2;
    }
    const hn_lm_chat_options options = { .size = sizeof options, .on_text = print,
                                         .max_answer = argc > 2 ? atol(argv[2]) : 0 };
    const int is_done = hn_engine_new(&engine, NULL) == HN_OK && hn_lm_open(&lm, engine, argv[1], NULL) == HN_OK &&
                        (argc < 4 || hn_lm_add_adapter(lm, argv[3], NULL) == HN_OK) &&
                        hn_lm_chat_new(&chat, lm, &options) == HN_OK && talk(chat) == HN_OK;
    if (!is_done)
        fprintf(stderr, "%s\n", hn_error_message());
    hn_lm_chat_free(chat);
    hn_lm_close(lm);
    hn_engine_free(engine);
    return is_done ? 0 : 1;
}
