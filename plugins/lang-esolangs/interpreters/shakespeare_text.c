/* The text of a play in words, and the names of its characters. */

#include "shakespeare_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shakespeare.h"

struct name {
    char text[LONGEST_NAME + 1];
    size_t offset, index;
};

struct token *tokens;
size_t token_count, next;
size_t name_count;

static struct name *names;
static size_t name_capacity, most_words;

bool is_letter(int byte) { return isalnum(byte) || byte == '\'' || byte == '-' || byte >= 128; }

void tokenize(void) {
    size_t capacity = 0;
    char *words = allocate(source.length * 2 + 1, 1);
    for (size_t i = 0; i < source.length;) {
        struct token token = {words, i};
        while (i < source.length && is_letter(source.text[i]))
            *words++ = (char)tolower(source.text[i++]);
        if (words == token.word && strchr(" \t\r\n\f\v", source.text[i++]))
            continue;
        if (words == token.word)
            *words++ = source.text[i - 1] ? (char)source.text[i - 1] : '?';
        words++;
        APPEND(tokens, token_count, capacity, token);
    }
    APPEND(tokens, token_count, capacity, ((struct token){words, source.length}));
    token_count--;
}

const char *word_at(size_t distance) {
    size_t left = token_count - next;
    return tokens[next + (distance < left ? distance : left)].word;
}

bool one_of(const char *word, const char *list) {
    size_t length = strlen(word);
    for (const char *place = list; length && (place = strstr(place, word)); place++)
        if ((place == list || place[-1] == ' ') && (place[length] == ' ' || !place[length]))
            return true;
    return false;
}

bool ends_sentence(void) { return one_of(word_at(0), ". ! ?"); }

_Noreturn void refuse(const char *what) {
    if (next == token_count)
        fail_at(source.length, "%s before the end of the play", what);
    fail_at(tokens[next].offset, "%s at '%.40s'", what, word_at(0));
}

bool accept(const char *phrase) {
    size_t count = 0;
    while (*phrase) {
        size_t length = strcspn(phrase, " ");
        const char *word = word_at(count++);
        if (strncmp(word, phrase, length) != 0 || word[length])
            return false;
        phrase += length + (phrase[length] == ' ');
    }
    next += count;
    return true;
}

bool accept_one_of(const char *list) {
    bool found = one_of(word_at(0), list);
    next += found;
    return found;
}

void expect(const char *phrase, const char *what) {
    if (!accept(phrase))
        refuse(what);
}

void skip_text(void) {
    while (!ends_sentence() && next < token_count)
        next++;
    if (next == token_count)
        refuse("expected the end of a sentence");
    next++;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

bool join(char text[LONGEST_NAME + 1], size_t count) {
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        int added = snprintf(text + length, LONGEST_NAME + 1 - length, "%s%s", i ? " " : "", word_at(i));
        length += (size_t)added;
        if (length > LONGEST_NAME)
            return false;
    }
    return true;
}

bool accept_character(size_t *index) {
    struct name name;
    for (size_t count = most_words; count > 0; count--) {
        const struct name *found = NULL;
        if (join(name.text, count))
            found = bsearch(&name, names, name_count, sizeof *names, compare_names);
        if (!found)
            continue;
        next += count;
        *index = found->index;
        return true;
    }
    return false;
}

void declare_character(void) {
    struct name name = {.offset = tokens[next].offset, .index = name_count};
    size_t count = 0;
    while (!one_of(word_at(count), ", . ! ? : [ ]") && *word_at(count))
        count++;
    if (count == 0 || !join(name.text, count) || strcmp(word_at(count), ",") != 0)
        refuse("expected 'NAME, description.' or 'Act I:'");
    if (dialect == STANDARD && !is_character_name(name.text))
        refuse("no character of Shakespeare's");
    most_words = count > most_words ? count : most_words;
    APPEND(names, name_count, name_capacity, name);
    next += count;
    skip_text();
}

size_t character_offset(size_t index) {
    size_t i = 0;
    while (names[i].index != index)
        i++;
    return names[i].offset;
}

void sort_characters(void) {
    qsort(names, name_count, sizeof *names, compare_names);
    for (size_t i = 1; i < name_count; i++)
        if (strcmp(names[i - 1].text, names[i].text) == 0)
            fail_at(names[names[i].index > names[i - 1].index ? i : i - 1].offset, "this character is declared twice");
}
