/* Harmless conversations have the ids they always had, which differential/tokenizers and differential/templates hold to
 * Transformers: each template on each conversation by each tokenizer, with whose words are whose and without. Ordinary tokens
 * form across the edge of the template's words and the conversation's, and are counted. What conversations hold of marks is
 * listed, and differs. */
#include "base/file.h"
#include "text/template/chat.h"
#include "text/tokenizer/tokenizer.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <string.h>

static hn_heap heap;
static const int64_t clock_at = 1753531200;
static const char folder[] = HN_SOURCE_DIR "/tests/differential";

static const char *const tokenizers[] = { "added", "bert", "bloom", "deepseek-v3", "falcon", "gemma4", "gpt2", "llama",
                                          "llama3", "o200k", "precompiled", "qwen2", "qwen35", "starcoder", "t5", "tekken", "viking" };
enum { N_TOKENIZERS = sizeof tokenizers / sizeof *tokenizers };

/* Conversations whose words are marks. */
static const char *const marked[] = { "think_tags", "think_last" };

static hn_json_text *read_json(const char *name)
{
    char path[1024];
    void *data = NULL;
    size_t bytes = 0;
    hn_json_text *text = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (CHECK_OK(hn_file_read(&heap, path, 1 << 26, &data, &bytes)))
        CHECK_OK(hn_json_read(&heap, path, data, bytes, &text));
    hn_free(&heap, data);
    return text;
}

static hn_tokenizer *open_tokenizer(const char *name)
{
    char path[200];
    hn_tokenizer *tok = NULL;
    snprintf(path, sizeof path, "tokenizers/%s.json", name);
    hn_json_text *text = read_json(path);
    if (text)
        CHECK_OK(hn_tokenizer_from_json(&heap, name, hn_json_root(text), NULL, NULL, &tok));
    hn_json_free(text);
    return tok;
}

static hn_chat_format *open_chat(const char *name)
{
    char path[1024];
    void *data = NULL;
    size_t bytes = 0;
    hn_chat_format *chat = NULL;
    snprintf(path, sizeof path, "%s/templates/real/%s.jinja", folder, name);
    CHECK_OK(hn_chat_format_new(&heap, name, &chat));
    if (CHECK_OK(hn_file_read(&heap, path, 1 << 22, &data, &bytes)))
        CHECK_OK(hn_chat_format_add(chat, "default", data, bytes));
    hn_free(&heap, data);
    CHECK_OK(hn_chat_format_set_token(chat, "bos_token", "<s>", 3));
    CHECK_OK(hn_chat_format_set_token(chat, "eos_token", "</s>", 4));
    return chat;
}

static bool render(const hn_chat_format *chat, const hn_json *given, hn_str *out, hn_template_origins *origins)
{
    static const char *const fixed[] = { "messages", "tools", "documents", "add_generation_prompt" };
    hn_template_var vars[16];
    const hn_json *prompt = hn_json_get(given, "add_generation_prompt");
    hn_chat_request request = { .messages = given, .vars = vars, .options.clock = &clock_at,
                                .no_generation_prompt = prompt && !prompt->as.boolean };
    for (const hn_json *v = given->as.children.first; v; v = v->next) {
        bool is_var = true;
        for (int i = 0; i < 4; i++)
            is_var = is_var && strcmp(v->key, fixed[i]) != 0;
        if (is_var && request.n_vars < 16)
            vars[request.n_vars++] = (hn_template_var){ .name = v->key, .json = v };
    }
    hn_str_clear(out);
    return hn_chat_render(chat, &request, out, NULL, origins) == HN_OK;
}

static bool is_marked(const char *name)
{
    return !strcmp(name, marked[0]) || !strcmp(name, marked[1]);
}

static bool is_own(const hn_template_origins *o, size_t at)
{
    for (size_t i = 0; i < o->own.n; i++)
        if (at >= o->own.at[i].begin && at < o->own.at[i].end)
            return true;
    return false;
}

/* Tokens that hold words of both. */
static int64_t count_crossing(const hn_encoding *e, const hn_template_origins *o)
{
    int64_t n = 0;
    for (size_t i = 0; i < e->n; i++)
        n += e->end[i] > e->begin[i] && is_own(o, e->begin[i]) != is_own(o, e->end[i] - 1);
    return n;
}

static void compare(const hn_tokenizer *tok, const char *which, const char *group, const hn_str *text,
                    const hn_template_origins *origins, int64_t *crossing)
{
    const hn_text_origins view = hn_template_origins_view(origins);
    hn_encode_options o = { .add_bos = HN_NO, .add_eos = HN_NO, .parse_special = true, .wants_offsets = true };
    hn_encoding plain = { 0 }, held = { 0 };
    if (CHECK_OK(hn_tokenizer_encode(tok, text->text, text->length, &o, &plain))) {
        o.origins = &view;
        CHECK_OK(hn_tokenizer_encode(tok, text->text, text->length, &o, &held));
        CHECK_THAT(plain.n == held.n && !memcmp(plain.ids, held.ids, plain.n * sizeof *plain.ids), "%s by %s: other ids", group, which);
        CHECK_THAT(plain.n == held.n && !memcmp(plain.begin, held.begin, plain.n * sizeof *plain.begin), "%s by %s: other places", group, which);
        *crossing += count_crossing(&held, origins);
    }
    hn_encoding_free(&plain);
    hn_encoding_free(&held);
}

int main(int argc, char **argv)
{
    hn_tokenizer *toks[N_TOKENIZERS];
    int64_t crossing[N_TOKENIZERS] = { 0 }, n = 0, all = 0;
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    for (int i = 0; i < N_TOKENIZERS; i++)
        toks[i] = open_tokenizer(tokenizers[i]);
    hn_json_text *text = read_json("templates/chats.json");
    hn_template_origins origins = { 0 };
    hn_str out = hn_str_on(&heap);
    const hn_json *root = hn_json_root(text), *chats = hn_json_get(root, "chats");
    for (const hn_json *t = hn_json_get(root, "results")->as.children.first; t; t = t->next) {
        hn_chat_format *chat = open_chat(t->key);
        for (const hn_json *c = chats->as.children.first; c; c = c->next) {
            char group[200];
            snprintf(group, sizeof group, "%s on %s", t->key, c->key);
            if (is_marked(c->key) || !render(chat, c, &out, &origins))
                continue;
            n++;
            for (int i = 0; i < N_TOKENIZERS; i++)
                if (toks[i])
                    compare(toks[i], tokenizers[i], group, &out, &origins, &crossing[i]);
        }
        hn_template_origins_free(&origins); /* its words are the template's */
        hn_chat_format_free(chat);
    }
    for (int i = 0; i < N_TOKENIZERS; i++)
        all += crossing[i];
    printf("%lld conversations, %d tokenizers, %lld tokens of both\n", (long long)n, N_TOKENIZERS, (long long)all);
    CHECK(n > 400);
    CHECK(all > 1000);
    for (int i = 0; i < N_TOKENIZERS; i++)
        hn_tokenizer_free(toks[i]);
    hn_str_free(&out);
    hn_json_free(text);
    CHECK_INT(0, atomic_load(&heap.live_blocks));
    return check_close();
}
