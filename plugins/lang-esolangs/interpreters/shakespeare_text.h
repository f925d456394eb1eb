/* The text of a play in words, which the parser passes over one after the other, and the names of its characters. */

#ifndef SHAKESPEARE_TEXT_H
#define SHAKESPEARE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define LONGEST_NAME 100

/* A word in lower case, or a sign of punctuation; `word` is empty at the end. */
struct token {
    const char *word;
    size_t offset;
};

extern struct token *tokens;
extern size_t token_count, next;
extern size_t name_count;

void tokenize(void);

/* Says what is wrong with the next word. */
_Noreturn void refuse(const char *what);

/* The word that stands `distance` words ahead. */
const char *word_at(size_t distance);
bool is_letter(int byte);

/* True if `word` is one of the words of `list`, which stand in it with a space between. */
bool one_of(const char *word, const char *list);
bool ends_sentence(void);

/* Passes over the words of `phrase`, or over a word of `list`, if they stand here; `expect` refuses what else does. */
bool accept(const char *phrase);
bool accept_one_of(const char *list);
void expect(const char *phrase, const char *what);

/* Passes over any words up to the end of the sentence. */
void skip_text(void);

/* The next `count` words, with a space between; false if that is too long for a name. */
bool join(char text[LONGEST_NAME + 1], size_t count);

/* Passes over `NAME, description.`; when all are declared, they are sorted. */
void declare_character(void);
void sort_characters(void);

/* Passes over the longest name of a character that stands here. */
bool accept_character(size_t *index);

#endif
