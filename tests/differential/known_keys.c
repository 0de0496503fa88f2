/* Keys of config.json that are known: every attribute of Transformers' configuration classes has a
 * row (tools/reference/config_attributes.py), and published files (known_keys/published.json, each
 * with its origin; of towers of other senses but the name) are read as they are, or refused for the
 * one key that says their weights are in a format that hone does not read. */
#include "base/json.h"
#include "models/models.h"
#include "tests/harness/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hn_heap heap;

static bool read_json(const char *name, hn_json_text **out)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/differential/known_keys/%s", HN_SOURCE_DIR, name);
    FILE *f = fopen(path, "rb");
    if (!CHECK_THAT(f != NULL, "%s is not there", path))
        return false;
    fseek(f, 0, SEEK_END);
    const long n = ftell(f);
    rewind(f);
    char *text = hn_alloc(&heap, HN_TAG_TEXT, (size_t)n + 1);
    const bool ok = text && fread(text, 1, (size_t)n, f) == (size_t)n &&
                    CHECK_OK(hn_json_read(&heap, path, text, (size_t)n, out));
    hn_free(&heap, text);
    fclose(f);
    return ok;
}

static const char *text_of(const hn_json *object, const char *key)
{
    const hn_json *found = hn_json_get(object, key);
    return found && found->kind == HN_JSON_STRING ? found->as.string.text : "";
}

static const hn_arch *arch_of(const char *class)
{
    for (int i = 0; hn_archs[i]; i++)
        for (int k = 0; hn_archs[i]->classes[k]; k++)
            if (!strcmp(hn_archs[i]->classes[k], class))
                return hn_archs[i];
    return NULL;
}

static void check_names(const hn_key_row *const *tables, const char *class, const hn_json *names)
{
    for (const hn_json *v = names ? names->as.children.first : NULL; v; v = v->next)
        CHECK_THAT(hn_key_named(tables, class, v->as.string.text), "%s: %s is in no table", class,
                   v->as.string.text);
}

static void attributes(void)
{
    hn_json_text *text;
    if (!read_json("attributes.json", &text))
        return;
    for (const hn_json *c = hn_json_root(text)->as.children.first; c; c = c->next) {
        const char *class = text_of(c, "class");
        const hn_arch *arch = arch_of(class);
        if (!CHECK_THAT(arch, "%s has no architecture", class))
            continue;
        check_names(arch->tables, class, hn_json_get(c, "keys"));
        if (hn_json_get(c, "outer") && CHECK_THAT(arch->outer, "%s has no outer table", class))
            check_names(arch->outer, class, hn_json_get(c, "outer"));
    }
    hn_json_free(text);
}

/* Each class that is read has been asked about. */
static void all_classes(void)
{
    hn_json_text *text;
    if (!read_json("attributes.json", &text))
        return;
    for (int i = 0; hn_archs[i]; i++)
        for (int k = 0; hn_archs[i]->classes[k]; k++) {
            bool is_there = !strcmp(hn_archs[i]->classes[k], "LLaMAForCausalLM"); /* its old name */
            for (const hn_json *c = hn_json_root(text)->as.children.first; c; c = c->next)
                is_there = is_there || !strcmp(text_of(c, "class"), hn_archs[i]->classes[k]);
            CHECK_THAT(is_there, "%s: attributes.json lacks it", hn_archs[i]->classes[k]);
        }
    hn_json_free(text);
}

static bool open_config(const hn_json *c, hn_hparams *hp)
{
    const hn_json *config = hn_json_get(c, "config");
    const char *name = text_of(c, "model"), *refused = text_of(c, "refused");
    const hn_arch *arch;
    hn_arch_tensor *tensors;
    size_t n;
    CHECK_THAT(text_of(c, "origin")[0], "%s: no origin", name);
    if (!CHECK_OK(hn_arch_of_config(config, &arch)))
        return false;
    const hn_status status = hn_arch_read_config(arch, config, NULL, hp);
    if (refused[0]) {
        CHECK_THAT(status != HN_OK && strstr(hn_error_message(), refused),
                   "%s: expected %s refused: %s", name, refused,
                   status == HN_OK ? "it was read" : hn_error_message());
        return false;
    }
    if (!CHECK_THAT(status == HN_OK, "%s: %s", name, hn_error_message()) ||
        !CHECK_OK(hn_arch_tensors(arch, hp, &heap, &tensors, &n)))
        return false;
    CHECK(n > 0);
    hn_free(&heap, tensors);
    return true;
}

static void published(void)
{
    hn_json_text *text;
    int opened = 0;
    hn_hparams *hp = hn_alloc(&heap, HN_TAG_FILE, sizeof *hp);
    if (!read_json("published.json", &text))
        return;
    for (const hn_json *c = hn_json_root(text)->as.children.first; c; c = c->next)
        opened += open_config(c, hp);
    printf("%d published configurations are read as they are\n", opened);
    CHECK_THAT(opened >= 40, "%d: expected 40 or more", opened);
    hn_json_free(text);
    hn_free(&heap, hp);
}

int main(int argc, char **argv)
{
    check_open(argc, argv);
    hn_heap_init(&heap, NULL);
    check_group("attributes");
    attributes();
    all_classes();
    check_group("published");
    published();
    CHECK_INT(0, heap.live_blocks);
    return check_close();
}
