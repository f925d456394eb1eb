/* A play of the Shakespeare Programming Language, compiled for a machine with a stack. */

#ifndef SHAKESPEARE_H
#define SHAKESPEARE_H

#include "common.h"

enum operation {
    /* Values: each pushes one, from as many as it takes. */
    CONSTANT, CHARACTER, SPEAKER, LISTENER,
    SUM, DIFFERENCE, PRODUCT, QUOTIENT, REMAINDER,
    TWICE, SQUARE, CUBE, SQUARE_ROOT, FACTORIAL,
    /* Sentences. */
    SPEAK, ASSIGN, PUT_CHARACTER, PUT_NUMBER, GET_CHARACTER, GET_NUMBER, REMEMBER, RECALL,
    ASK_BETTER, ASK_WORSE, ASK_EQUAL, ASK_NOT_BETTER, ASK_NOT_WORSE, ASK_NOT_EQUAL,
    SKIP_UNLESS_SO, SKIP_IF_SO, GO_TO,
    /* Stage directions. */
    ENTER, EXIT, EXEUNT,
};

struct instruction {
    enum operation operation;
    int64_t argument; /* a constant, a character, or where to go on */
    size_t offset;    /* in the source */
};

/* An act or a scene, from its first instruction on. */
struct header {
    bool is_act;
    int64_t number;
    size_t instruction;
};

struct play {
    struct instruction *instructions;
    size_t length, capacity;
    size_t character_count;
    size_t deepest; /* values that a sentence has on the stack at most */
    struct header *headers; /* in the order of the text */
    size_t header_count, header_capacity;
};

/* Where the name of a character is declared in the source. */
size_t character_offset(size_t index);

/* The play in the source; a mistake in it is the end. */
struct play parse_play(void);

enum polarity { NEGATIVE = -1, NEUTRAL = 0, POSITIVE = 1 };

/* The word lists of the language's reference (Hasselström and Åslund, 2001), in lower case. */
bool is_character_name(const char *name);
bool find_noun(const char *word, enum polarity *polarity);
bool find_adjective(const char *word, enum polarity *polarity);
bool find_comparative(const char *word, enum polarity *polarity);

#endif
