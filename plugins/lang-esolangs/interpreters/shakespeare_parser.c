/* The parser of Shakespeare: from the text to the instructions of shakespeare.h, without recursion. */

#include <stdlib.h>
#include <string.h>

#include "shakespeare.h"
#include "shakespeare_text.h"

#define ACTS (-1)

/* An act or a scene, or a jump to one: `act` is where a scene's number counts, and ACTS for the number of an act. */
struct place {
    int64_t act, number;
    size_t offset, instruction;
};

struct operator {
    enum operation operation;
    int missing; /* values */
};

static struct place *places, *jumps;
static size_t place_count, place_capacity, jump_count, jump_capacity;

static struct play play;
static size_t depth;

/* --- instructions --- */

static void emit(enum operation operation, int64_t argument, size_t offset) {
    APPEND(play.instructions, play.length, play.capacity, ((struct instruction){operation, argument, offset}));
    depth += operation <= LISTENER;
    depth -= operation >= SUM && operation <= REMAINDER;
    play.deepest = depth > play.deepest ? depth : play.deepest;
}

/* Ends a sentence, which takes its values from the stack. */
static void emit_sentence(enum operation operation, size_t offset) {
    emit(operation, 0, offset);
    depth = 0;
}

/* --- values --- */

static bool parse_operator(struct operator *operator) {
    static const struct {
        const char *phrase;
        struct operator operator;
    } operators[] = {
        {"the sum of", {SUM, 2}},
        {"the difference between", {DIFFERENCE, 2}},
        {"the product of", {PRODUCT, 2}},
        {"the quotient between", {QUOTIENT, 2}},
        {"the remainder of the quotient between", {REMAINDER, 2}},
        {"twice", {TWICE, 1}},
        {"the square of", {SQUARE, 1}},
        {"the cube of", {CUBE, 1}},
        {"the square root of", {SQUARE_ROOT, 1}},
        {"the factorial of", {FACTORIAL, 1}},
    };
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (accept(operators[i].phrase)) {
            *operator = operators[i].operator;
            return true;
        }
    }
    return false;
}

/* In the benchmark's dialect every word is an adjective that has no other use in a sentence. */
static bool accept_adjective(enum polarity *polarity) {
    const char *word = word_at(0);
    bool known = find_adjective(word, polarity);
    if (dialect == BENCHMARK && is_letter((unsigned char)*word) && !strpbrk(word, "0123456789"))
        known = known || !one_of(word, "a an the and as than not of is am are art be nothing zero i me you thou thee");
    next += known;
    return known;
}

static bool accept_noun(enum polarity *polarity) {
    char two_words[LONGEST_NAME + 1];
    if (join(two_words, 2) && find_noun(two_words, polarity))
        next += 2;
    else if (find_noun(word_at(0), polarity))
        next++;
    else
        return false;
    return true;
}

/* Every adjective doubles 1, or -1 for a noun that is negative. */
static int64_t parse_noun_phrase(void) {
    enum polarity noun, adjective;
    bool flatters = false, insults = false;
    int doubled = 0;
    accept_one_of("a an the my mine your thy thine his her its their");
    while (!accept_noun(&noun)) {
        if (!accept_adjective(&adjective))
            refuse("expected a noun or an adjective");
        flatters |= adjective == POSITIVE;
        insults |= adjective == NEGATIVE;
        if (++doubled > 62)
            refuse("number too large");
    }
    if (dialect == STANDARD && (noun == NEGATIVE ? flatters : insults))
        refuse("the adjectives do not suit the noun");
    return noun == NEGATIVE ? -((int64_t)1 << doubled) : (int64_t)1 << doubled;
}

static void parse_simple_value(void) {
    size_t offset = tokens[next].offset, character;
    if (accept_one_of("i me myself"))
        emit(SPEAKER, 0, offset);
    else if (accept_one_of("you thou thee yourself thyself"))
        emit(LISTENER, 0, offset);
    else if (accept_one_of("nothing zero"))
        emit(CONSTANT, 0, offset);
    else if (accept_character(&character))
        emit(CHARACTER, (int64_t)character, offset);
    else
        emit(CONSTANT, parse_noun_phrase(), offset);
}

static void parse_value(void) {
    static struct operator *open;
    static size_t capacity;
    size_t count = 0, offset = tokens[next].offset;
    struct operator operator;
    for (;;) {
        if (parse_operator(&operator)) {
            APPEND(open, count, capacity, operator);
            continue;
        }
        parse_simple_value();
        while (count && --open[count - 1].missing == 0)
            emit(open[--count].operation, 0, offset);
        if (!count)
            return;
        expect("and", "expected 'and'");
    }
}

/* --- sentences --- */

static void end_sentence(bool question) {
    if (!ends_sentence() || (dialect == STANDARD && question != (strcmp(word_at(0), "?") == 0)))
        refuse(question ? "expected '?'" : "expected '.' or '!'");
    next++;
}

static int64_t parse_roman(void) {
    int64_t number = 0, last = 0;
    const char *word = word_at(0);
    for (size_t i = strlen(word); i > 0; i--) {
        const char *letter = strchr("ivxlcdm", word[i - 1]);
        static const int64_t worth[] = {1, 5, 10, 50, 100, 500, 1000};
        if (!letter)
            refuse("expected a Roman numeral");
        int64_t value = worth[letter - "ivxlcdm"];
        number += value < last ? -value : value;
        last = value > last ? value : last;
    }
    if (!*word)
        refuse("expected a Roman numeral");
    next++;
    return number;
}

static void parse_jump(size_t offset, int64_t act) {
    struct place jump = {.offset = offset, .instruction = play.length};
    if (!accept("proceed to") && !accept("return to"))
        refuse("expected 'proceed to' or 'return to'");
    if (!accept("act") && !accept("scene"))
        refuse("expected 'act' or 'scene'");
    jump.act = strcmp(tokens[next - 1].word, "act") == 0 ? ACTS : act;
    jump.number = parse_roman();
    APPEND(jumps, jump_count, jump_capacity, jump);
    emit_sentence(GO_TO, offset);
    end_sentence(false);
}

static enum operation parse_comparison(void) {
    enum polarity polarity;
    bool negated = accept("not");
    enum operation better = negated ? ASK_NOT_BETTER : ASK_BETTER, worse = better + 1, equal = better + 2;
    if (accept("as")) {
        if (!accept_adjective(&polarity))
            refuse("expected an adjective");
        expect("as", "expected 'as'");
        return equal;
    }
    bool more = accept("more"), less = !more && accept("less");
    bool found = more || less ? accept_adjective(&polarity) : find_comparative(word_at(0), &polarity);
    if (!found)
        refuse("expected a comparison");
    next += !more && !less;
    expect("than", "expected 'than'");
    return (polarity == NEGATIVE) == less ? better : worse;
}

static void parse_question(size_t offset) {
    parse_value();
    enum operation operation = parse_comparison();
    parse_value();
    emit_sentence(operation, offset);
    end_sentence(true);
}

static void parse_assignment(size_t offset) {
    enum polarity polarity;
    accept_one_of("am are art be is");
    if (accept("as")) {
        if (!accept_adjective(&polarity))
            refuse("expected an adjective");
        expect("as", "expected 'as'");
    }
    parse_value();
    emit_sentence(ASSIGN, offset);
    end_sentence(false);
}

static void parse_input_or_output(enum operation operation, const char *object, size_t offset) {
    if (!accept_one_of("your thy thine"))
        refuse("expected 'your'");
    bool number = accept("heart");
    if (!number)
        expect("mind", "expected 'heart' or 'mind'");
    if (!one_of(number ? "heart" : "mind", object))
        refuse("one can open a heart or a mind, speak a mind and listen to a heart");
    if (operation == PUT_NUMBER)
        operation = number ? PUT_NUMBER : GET_CHARACTER;
    emit_sentence(operation, offset);
    end_sentence(false);
}

static void parse_plain_sentence(int64_t act) {
    size_t offset = tokens[next].offset;
    if (accept_one_of("you thou thee")) {
        parse_assignment(offset);
    } else if (accept_one_of("am are art be is")) {
        parse_question(offset);
    } else if (accept("let us") || accept("we shall") || accept("we must")) {
        parse_jump(offset, act);
    } else if (accept("open")) {
        parse_input_or_output(PUT_NUMBER, "heart mind", offset);
    } else if (accept("speak")) {
        parse_input_or_output(PUT_CHARACTER, "mind", offset);
    } else if (accept("listen to")) {
        parse_input_or_output(GET_NUMBER, "heart", offset);
    } else if (accept("recall")) {
        emit_sentence(RECALL, offset);
        skip_text();
    } else if (accept("remember")) {
        parse_value();
        emit_sentence(REMEMBER, offset);
        end_sentence(false);
    } else {
        refuse("no sentence begins like this");
    }
}

static void parse_sentence(size_t speaker, int64_t act) {
    emit(SPEAK, (int64_t)speaker, tokens[next].offset);
    bool if_so = accept("if so"), if_not = !if_so && accept("if not");
    if (!if_so && !if_not) {
        parse_plain_sentence(act);
        return;
    }
    size_t condition = play.length;
    emit(if_so ? SKIP_UNLESS_SO : SKIP_IF_SO, 0, tokens[next].offset);
    accept(",");
    parse_plain_sentence(act);
    play.instructions[condition].argument = (int64_t)play.length;
}

/* --- stage directions --- */

static void parse_characters(enum operation operation, size_t offset) {
    size_t character;
    do {
        if (!accept_character(&character))
            refuse("expected a character of the play");
        emit(operation, (int64_t)character, offset);
    } while (accept(", and") || accept(",") || accept("and"));
}

/* The words between the brackets, which the benchmark's dialect can do without. */
static void parse_direction(void) {
    size_t offset = tokens[next].offset, character, here = next + 1;
    if (accept("enter")) {
        parse_characters(ENTER, offset);
    } else if (accept("exit")) {
        parse_characters(EXIT, offset);
    } else {
        expect("exeunt", "expected 'Enter', 'Exit' or 'Exeunt'");
        if (!accept_character(&character)) {
            emit(EXEUNT, (int64_t)play.character_count, offset);
            return;
        }
        next = here;
        parse_characters(EXIT, offset);
    }
}

static bool parse_stage_direction(void) {
    if (accept("[")) {
        if (!accept("a pause"))
            parse_direction();
        expect("]", "expected ']'");
        return true;
    }
    if (dialect == STANDARD || !one_of(word_at(0), "enter exit exeunt"))
        return false;
    parse_direction();
    end_sentence(false);
    return true;
}

/* --- acts and scenes --- */

static int compare_places(const void *a, const void *b) {
    const struct place *left = a, *right = b;
    if (left->act != right->act)
        return left->act < right->act ? -1 : 1;
    return left->number < right->number ? -1 : left->number > right->number;
}

static bool at_header(const char *word) { return strcmp(word_at(0), word) == 0 && strcmp(word_at(2), ":") == 0; }

static void parse_header(int64_t act) {
    struct place place = {act, 0, tokens[next].offset, play.length};
    next++;
    place.number = parse_roman();
    next++;
    skip_text();
    APPEND(places, place_count, place_capacity, place);
    struct header header = {act == ACTS, place.number, place.instruction};
    APPEND(play.headers, play.header_count, play.header_capacity, header);
}

static void sort_places(void) {
    qsort(places, place_count, sizeof *places, compare_places);
    for (size_t i = 1; i < place_count; i++)
        if (compare_places(&places[i - 1], &places[i]) == 0)
            fail_at(places[places[i].offset > places[i - 1].offset ? i : i - 1].offset, "this number is given twice");
}

static void find_jumps(void) {
    for (size_t i = 0; i < jump_count; i++) {
        const struct place *found = bsearch(&jumps[i], places, place_count, sizeof *places, compare_places);
        if (!found)
            fail_at(jumps[i].offset, "there is no such %s", jumps[i].act == ACTS ? "act" : "scene");
        play.instructions[jumps[i].instruction].argument = (int64_t)found->instruction;
    }
}

/* Passes over `NAME:`. */
static bool accept_speaker(size_t *speaker) {
    size_t here = next;
    if (accept_character(speaker) && accept(":"))
        return true;
    next = here;
    return false;
}

/* The numbers of scenes begin anew with each act of the standard's dialect. */
static void parse_acts(void) {
    int64_t acts = 0;
    size_t speaker;
    bool in_scene = false, spoken = false;
    while (next < token_count) {
        int64_t act = dialect == STANDARD ? acts : 0;
        if (at_header("act")) {
            parse_header(ACTS);
            acts++;
            in_scene = false;
        } else if (at_header("scene") && acts) {
            parse_header(act);
            in_scene = true;
            spoken = false;
        } else if (!in_scene) {
            refuse(acts ? "expected 'Scene I:'" : "expected 'Act I:'");
        } else if (parse_stage_direction()) {
            continue;
        } else if (accept_speaker(&speaker)) {
            spoken = true;
        } else if (spoken) {
            parse_sentence(speaker, act);
        } else {
            refuse("nobody was named to speak");
        }
    }
    if (!acts)
        refuse("expected 'Act I:'");
}

struct play parse_play(void) {
    tokenize();
    skip_text();
    while (!at_header("act") && next < token_count)
        declare_character();
    sort_characters();
    play.character_count = name_count;
    parse_acts();
    sort_places();
    find_jumps();
    return play;
}
