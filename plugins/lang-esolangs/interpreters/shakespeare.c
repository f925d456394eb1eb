/* Shakespeare. A step is a stage direction, a sentence, or a part of a value. */

#include <stdlib.h>
#include <string.h>

#include "shakespeare.h"
#include "trace.h"

struct character {
    int64_t value;
    int64_t *memories;
    size_t count, capacity;
    bool on_stage;
};

static struct character *characters;
static size_t present;          /* how many are on stage */
static size_t sum_of_present;   /* of their indices: of two, it tells the other */
static size_t speaker;
static int64_t *values;
static size_t value_count;
static bool answer, asked;
static const struct instruction *current;

#define COMPLAIN(...) fail_at(current->offset, __VA_ARGS__)

static struct character *listener(void) {
    if (present != 2)
        COMPLAIN("%zu characters on stage, where one speaks to one other", present);
    return &characters[sum_of_present - speaker];
}

static void push(int64_t value) { values[value_count++] = value; }

static int64_t pop(void) { return values[--value_count]; }

static int64_t times(int64_t a, int64_t b) {
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product))
        COMPLAIN("number too large");
    return product;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        COMPLAIN("number too large");
    return sum;
}

static int64_t minus(int64_t a, int64_t b) {
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        COMPLAIN("number too large");
    return difference;
}

/* The standard's quotient is rounded towards zero, the benchmark's down; the remainder is of either. */
static int64_t quotient(int64_t a, int64_t b) {
    if (b == 0)
        COMPLAIN("division by zero");
    if (b == -1)
        return minus(0, a);
    bool down = dialect == BENCHMARK && a % b != 0 && (a < 0) != (b < 0);
    return a / b - down;
}

static int64_t remainder_of(int64_t a, int64_t b) {
    if (b == 0)
        COMPLAIN("division by zero");
    int64_t rest = b == -1 ? 0 : a % b;
    bool down = dialect == BENCHMARK && rest != 0 && (rest < 0) != (b < 0);
    return down ? rest + b : rest;
}

static int64_t square_root(int64_t value) {
    int64_t root = 0;
    if (value < 0)
        COMPLAIN("square root of a negative number");
    for (int64_t bit = (int64_t)1 << 31; bit; bit >>= 1)
        if ((root | bit) <= value / (root | bit))
            root |= bit;
    return root;
}

static int64_t factorial(int64_t value) {
    int64_t product = 1;
    if (value < 0)
        COMPLAIN("factorial of a negative number");
    for (int64_t i = 2; i <= value; i++)
        product = times(product, i);
    return product;
}

INLINED void compute_from_one(enum operation operation) {
    int64_t a = pop();
    switch (operation) {
    case TWICE: push(times(a, 2)); break;
    case SQUARE: push(times(a, a)); break;
    case CUBE: push(times(times(a, a), a)); break;
    case SQUARE_ROOT: push(square_root(a)); break;
    default: push(factorial(a));
    }
}

INLINED void compute_from_two(enum operation operation) {
    int64_t b = pop(), a = pop();
    switch (operation) {
    case SUM: push(plus(a, b)); break;
    case DIFFERENCE: push(minus(a, b)); break;
    case PRODUCT: push(times(a, b)); break;
    case QUOTIENT: push(quotient(a, b)); break;
    default: push(remainder_of(a, b));
    }
}

INLINED void ask(enum operation operation) {
    int64_t b = pop(), a = pop();
    bool negated = operation >= ASK_NOT_BETTER;
    asked = true;
    switch (negated ? operation - ASK_NOT_BETTER + ASK_BETTER : operation) {
    case ASK_BETTER: answer = (a > b) != negated; break;
    case ASK_WORSE: answer = (a < b) != negated; break;
    default: answer = (a == b) != negated;
    }
}

/* In the benchmark's dialect nobody speaks without a listener. */
INLINED void speak(size_t character) {
    speaker = character;
    if (!characters[speaker].on_stage)
        COMPLAIN("one who is not on stage cannot speak");
    if (dialect == BENCHMARK)
        listener();
}

/* To enter twice, or to leave without being there, is an error in the standard's dialect, and nothing in the other. */
static void set_presence(size_t index, bool on_stage) {
    struct character *character = &characters[index];
    if (character->on_stage == on_stage && dialect == STANDARD)
        COMPLAIN("%s", on_stage ? "already on stage" : "not on stage");
    if (character->on_stage == on_stage)
        return;
    character->on_stage = on_stage;
    present += on_stage ? 1 : (size_t)-1;
    sum_of_present += on_stage ? index : -index;
}

static void clear_stage(size_t count) {
    charge(count);
    for (size_t i = 0; i < count; i++)
        characters[i].on_stage = false;
    present = sum_of_present = 0;
}

static void remember(struct character *character, int64_t value) {
    APPEND(character->memories, character->count, character->capacity, value);
}

static void recall(struct character *character) {
    if (!character->count)
        COMPLAIN("nothing to recall");
    character->value = character->memories[--character->count];
}

static void read_number(struct character *character) {
    if (!get_integer(&character->value))
        COMPLAIN("no number stands in the input");
}

INLINED void execute(enum operation operation, int64_t argument) {
    switch (operation) {
    case CONSTANT: push(argument); break;
    case CHARACTER: push(characters[argument].value); break;
    case SPEAKER: push(characters[speaker].value); break;
    case LISTENER: push(listener()->value); break;
    case SPEAK: speak((size_t)argument); break;
    case ASSIGN: listener()->value = pop(); break;
    case PUT_CHARACTER: put_byte((int)(listener()->value & 255)); break;
    case PUT_NUMBER: put_integer(listener()->value); break;
    case GET_CHARACTER: listener()->value = get_byte(); break;
    case GET_NUMBER: read_number(listener()); break;
    case REMEMBER: remember(listener(), pop()); break;
    case RECALL: recall(listener()); break;
    case ENTER: set_presence((size_t)argument, true); break;
    case EXIT: set_presence((size_t)argument, false); break;
    case EXEUNT: clear_stage((size_t)argument); break;
    case SUM: case DIFFERENCE: case PRODUCT: case QUOTIENT: case REMAINDER: compute_from_two(operation); break;
    case TWICE: case SQUARE: case CUBE: case SQUARE_ROOT: case FACTORIAL: compute_from_one(operation); break;
    default: ask(operation);
    }
}

/* --- the trace: an event for each sentence and stage direction --- */

static void tell_name(size_t index) {
    size_t from = character_offset(index), to = from;
    while (source.text[to] != ',')
        to++;
    trace_bytes(source.text + from, to - from);
}

static void tell_character(size_t index) {
    const struct character *character = &characters[index];
    size_t from = character_offset(index), size = 0;
    while (source.text[from + size] != ',')
        size++;
    trace_text("%lld", (long long)character->value);
    trace_variable(true, "%.*s", (int)size, source.text + from);
    if (!character->memories)
        return;
    trace_text("[");
    for (size_t i = character->count; i > 0 && trace_has_room(); i--)
        trace_text(i < character->count ? ", %lld" : "%lld", (long long)character->memories[i - 1]);
    trace_text("]");
    trace_variable(true, "%.*s's memories", (int)size, source.text + from);
}

static void tell_stage(size_t count) {
    size_t told = 0;
    trace_text("[");
    for (size_t i = 0; i < count; i++) {
        if (!characters[i].on_stage)
            continue;
        trace_text(told++ ? ", " : "");
        tell_name(i);
    }
    trace_text("]");
    trace_variable(true, "stage");
}

static void tell_scene(const struct play *play, size_t instruction) {
    const struct header *act = NULL, *scene = NULL;
    for (size_t i = 0; i < play->header_count && play->headers[i].instruction <= instruction; i++) {
        if (play->headers[i].is_act)
            act = &play->headers[i];
        else
            scene = &play->headers[i];
    }
    if (act && scene)
        trace_text("Act %lld, Scene %lld", (long long)act->number, (long long)scene->number);
    trace_variable(true, "scene");
}

static void tell_words(size_t offset) {
    size_t end = offset;
    while (end < source.length && !strchr(".!?]", source.text[end]))
        end++;
    end += end < source.length && source.text[end] != ']';
    for (size_t i = offset; i < end; i++) {
        unsigned char byte = source.text[i];
        if (byte > ' ')
            trace_bytes(&byte, 1);
        else if (source.text[i - 1] > ' ')
            trace_text(" ");
    }
    trace_action();
}

static void tell(const struct play *play, size_t instruction) {
    if (!trace_wanted())
        return;
    tell_scene(play, instruction);
    tell_stage(play->character_count);
    for (size_t i = 0; i < play->character_count; i++)
        tell_character(i);
    if (asked) {
        trace_text(answer ? "yes" : "no");
        trace_variable(true, "answer");
    }
    if (current->operation == SPEAK) {
        tell_name((size_t)current->argument);
        trace_variable(true, "speaker");
    }
    tell_words(current->offset);
    trace_line(line_of(current->offset));
}

/* A stage direction has an instruction for each character, and the same place in the source for all of them. */
static bool begins(const struct play *play, size_t instruction) {
    static const struct instruction *last;
    const struct instruction *now = &play->instructions[instruction];
    bool is_next = last && last + 1 == now && last->operation == now->operation && last->offset == now->offset;
    last = now;
    return now->operation == SPEAK || (now->operation >= ENTER && !is_next);
}

INLINED void run(const struct play *play, bool traced) {
    size_t i = 0;
    while (i < play->length) {
        current = &play->instructions[i++];
        if (traced && tracing && begins(play, i - 1))
            tell(play, i - 1);
        step();
        bool skips = (current->operation == SKIP_UNLESS_SO && !answer) || (current->operation == SKIP_IF_SO && answer);
        if (current->operation == GO_TO || skips)
            i = (size_t)current->argument;
        else if (current->operation != SKIP_UNLESS_SO && current->operation != SKIP_IF_SO)
            execute(current->operation, current->argument);
    }
}

int main(int argc, char **argv) {
    start(argc, argv);
    struct play play = parse_play();
    characters = allocate(play.character_count, sizeof *characters);
    values = allocate(play.deepest, sizeof *values);
    trace_start();
    if (tracing)
        run(&play, true);
    else
        run(&play, false);
    finish(0);
}
