/* Four kinds of keys: read, notes that are known to change nothing, what others say by it of which tokens count, and
 * others. Of others only those with words in them are refused, for a number or a truth value is nothing that a model
 * would have learned to say. */
#include "data/keys.h"

#include <string.h>

/* What hn_record_read reads of each format. */
static const char *const used_by[HN_N_DATA_FORMATS] = {
    [HN_DATA_MESSAGES] = "messages tools system system_prompt weight",
    [HN_DATA_PROMPT] = "prompt completion tools system system_prompt weight label",
    [HN_DATA_LABELLED] = "prompt completion tools system system_prompt weight label",
    [HN_DATA_ALPACA] = "instruction input context output response system system_prompt history weight",
    [HN_DATA_SHAREGPT] = "conversations tools system system_prompt weight",
    [HN_DATA_TEXT] = "text weight",
    [HN_DATA_PREFERENCE] =
        "chosen rejected prompt question instruction input context tools system system_prompt weight",
    [HN_DATA_PREFERRED] = "input preferred_output non_preferred_output weight",
    [HN_DATA_TOKENS] = "ids weights weight",
};

/* Collected from published data sets: whose they are, whence, when, and how they were judged. */
static const char notes[] =
    "id _id uid uuid guid idx index row_id example_id sample_id conversation_id conversation_hash "
    "prompt_id question_id message_id parent_id message_tree_id session_id task_id user_id turn_id "
    "hash sha256 md5 source sources source_id data_source dataset dataset_name origin subset split "
    "lang language locale license licence url urls link website domain category categories topic "
    "topics subject task task_type task_name type tags model model_name models generator annotator "
    "author created created_at updated_at date time timestamp timestamps version difficulty quality "
    "chosen_model rejected_model chosen-model rejected-model chosen_source rejected_source meta "
    "metadata";

/* By these, other programs' data sets say which tokens, turns or examples are trained, and how much: in numbers and
 * truth values, which carry no words, and without which something else is trained. In small letters, with '_'. */
static const char steering[] =
    "labels label_mask labels_mask loss loss_mask loss_masks loss_scale loss_weight loss_weights weights mask masks masked "
    "is_masked supervised is_supervised supervise trainable is_trainable attention_mask assistant_mask assistant_masks "
    "completion_mask prompt_mask response_mask target_mask token_weight token_weights sample_weight sample_weights "
    "example_weight example_weights instance_weight train_detail training_detail train_on_input train_on_inputs "
    "train_on_prompt mask_prompt mask_input mask_inputs mask_history no_loss ignore_loss skip_loss";

/* These are read where they are written just so. */
static const char read[] = "weight train training";

/* Whether `words`, with blanks between, have this one. */
static bool has_word(const char *words, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = words; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (length == n && !memcmp(at, word, n))
            return true;
        at += length;
    }
    return false;
}

bool hn_key_is_note(const char *key)
{
    return has_word(notes, key);
}

static bool has_words(const hn_json *v, int depth)
{
    if (v->kind == HN_JSON_STRING)
        return strspn(hn_json_string(v), " \t\r\n") < hn_json_bytes(v);
    if ((v->kind != HN_JSON_ARRAY && v->kind != HN_JSON_OBJECT) || depth > HN_JSON_MAX_DEPTH)
        return false;
    for (const hn_json *c = hn_json_first(v); c; c = c->next)
        if (has_words(c, depth + 1))
            return true;
    return false;
}

bool hn_json_has_words(const hn_json *value)
{
    return value && has_words(value, 0);
}

static bool is_ignored(const char *key, const hn_record_options *options)
{
    for (int i = 0; i < options->n_ignored; i++)
        if (!strcmp(options->ignored[i], key))
            return true;
    return false;
}

/* "Loss-Mask" is loss_mask: what is typed into a table's header is meant all the same. Long ones are cut, and none of these. */
static void fold(const char *key, char out[32])
{
    size_t n = 0;
    for (; key[n] && n < 31; n++)
        out[n] = key[n] >= 'A' && key[n] <= 'Z' ? (char)(key[n] | 32) : key[n] == '-' || key[n] == ' ' ? '_' : key[n];
    out[n] = 0;
}

static bool steers(const hn_json *v)
{
    char key[32];
    fold(v->key, key);
    return v->kind != HN_JSON_NULL && (has_word(steering, key) || (v->kind == HN_JSON_BOOL && !strcmp(key, "label")) ||
                                       (has_word(read, key) && strcmp(v->key, key) != 0));
}

static hn_status refuse_steering(const char *what, const char *key)
{
    return hn_fail(HN_ERR_FORMAT,
                   "%skey '%.60s': it says what is trained, and nothing reads it here: expected weight of an example or a "
                   "message, or weights beside ids; --ignore-field %.60s passes over it",
                   what, key, key);
}

hn_status hn_keys_check_message(const hn_json *message, const hn_record_options *options)
{
    for (const hn_json *v = hn_json_first(message); v; v = v->next)
        if (steers(v) && !is_ignored(v->key, options))
            return refuse_steering("a message: ", v->key);
    return HN_OK;
}

hn_status hn_keys_check_part(const hn_json *part, const char *what, const char *used,
                             const hn_record_options *options)
{
    if (part->kind != HN_JSON_OBJECT)
        return HN_OK;
    for (const hn_json *v = hn_json_first(part); v; v = v->next)
        if (steers(v) && !is_ignored(v->key, options))
            return refuse_steering("", v->key);
    for (const hn_json *v = hn_json_first(part); v; v = v->next)
        HN_REQUIRE(has_word(used, v->key) || hn_key_is_note(v->key) ||
                       is_ignored(v->key, options) || !hn_json_has_words(v),
                   HN_ERR_FORMAT,
                   "%s: key '%.60s': expected one of %s, found words that nothing reads: --ignore-field "
                   "%.60s leaves them",
                   what, v->key, used, v->key);
    return HN_OK;
}

/* A format that was asked for where the keys of two are there: those of the other were decided
 * against. */
static bool is_of_another(const hn_json *example, hn_data_format format, const char *key)
{
    for (int i = 0; i < HN_N_DATA_FORMATS; i++)
        if (i != (int)format && hn_data_format_fits(example, (hn_data_format)i) &&
            has_word(used_by[i], key))
            return true;
    return false;
}

hn_status hn_keys_check(const hn_json *example, hn_data_format format,
                        const hn_record_options *options)
{
    const char *used = used_by[format];
    static const char *const of_turns[] = { "train", "training" };
    for (int i = 0; i < 2; i++)
        HN_REQUIRE(!hn_json_get(example, of_turns[i]) || is_ignored(of_turns[i], options),
                   HN_ERR_FORMAT, "%s: expected it in a message, found it in the example: "
                   "--ignore-field %s passes over it", of_turns[i], of_turns[i]);
    for (const hn_json *v = hn_json_first(example); v; v = v->next)
        if (steers(v) && !has_word(used, v->key) && !is_ignored(v->key, options) &&
            !(options->is_forced && is_of_another(example, format, v->key)))
            return refuse_steering("", v->key);
    for (const hn_json *v = hn_json_first(example); v; v = v->next)
        HN_REQUIRE(has_word(used, v->key) || hn_key_is_note(v->key) ||
                       is_ignored(v->key, options) || !hn_json_has_words(v) ||
                       (options->is_forced && is_of_another(example, format, v->key)),
                   HN_ERR_FORMAT,
                   "key '%.60s': expected one that %s has (%s), found words that nothing reads: "
                   "--ignore-field %.60s leaves them",
                   v->key, hn_data_format_name(format), used, v->key);
    return HN_OK;
}
