/* The debug information of the program: DWARF 5, as far as gfortran writes it (DWARF Debugging Information Format 5). */

#include "trace.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct section {
    const uint8_t *bytes;
    size_t size;
};

uint64_t load_bias;

static struct section info, abbreviations, strings, line_strings;
static int memory = -1;

/* --- the file --- */

static void find_section(const uint8_t *file, const Elf64_Shdr *section, const char *name) {
    struct section found = {file + section->sh_offset, section->sh_size};
    if (section->sh_flags & SHF_COMPRESSED)
        return;
    if (strcmp(name, ".debug_info") == 0)
        info = found;
    else if (strcmp(name, ".debug_abbrev") == 0)
        abbreviations = found;
    else if (strcmp(name, ".debug_str") == 0)
        strings = found;
    else if (strcmp(name, ".debug_line_str") == 0)
        line_strings = found;
}

static void find_bias(const uint8_t *file) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
    const Elf64_Phdr *segments = (const Elf64_Phdr *)(file + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_PHDR)
            load_bias = getauxval(AT_PHDR) - segments[i].p_vaddr;
}

bool debug_open(void) {
    struct stat status;
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status))
        return false;
    const uint8_t *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (bytes == MAP_FAILED)
        return false;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);
    const char *names = (const char *)bytes + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++)
        find_section(bytes, &sections[i], names + sections[i].sh_name);
    find_bias(bytes);
    int opened = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    memory = fcntl(opened, F_DUPFD_CLOEXEC, 500); /* the program's own descriptors have low numbers */
    if (memory >= 0)
        close(opened);
    else
        memory = opened;
    return info.size > 0;
}

bool read_memory(uint64_t address, void *to, size_t size) {
    return memory >= 0 && pread(memory, to, size, (off_t)address) == (ssize_t)size;
}

/* --- entries --- */

static uint64_t fixed(const uint8_t **at, size_t size) {
    uint64_t value = 0;
    memcpy(&value, *at, size);
    *at += size;
    return value;
}

static uint64_t unsigned_number(const uint8_t **at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

static int64_t signed_number(const uint8_t **at) {
    uint64_t value = 0;
    for (int shift = 0;;) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        shift += 7;
        if (byte < 128)
            return (int64_t)(shift < 64 && byte & 64 ? value | ~(uint64_t)0 << shift : value);
    }
}

static uint64_t unit_of(uint64_t place) {
    uint64_t unit = 0, first, next;
    while ((next = next_unit(unit, &first)) <= place)
        unit = next;
    return unit;
}

static const uint8_t *find_abbreviation(uint64_t unit, uint64_t code) {
    const uint8_t *header = info.bytes + unit + 8;
    static uint64_t cached_unit = UINT64_MAX;
    static const uint8_t *cached[4096];
    if (unit != cached_unit)
        memset(cached, 0, sizeof cached);
    cached_unit = unit;
    if (code < 4096 && cached[code])
        return cached[code];
    const uint8_t *at = abbreviations.bytes + fixed(&header, 4);
    for (uint64_t found; (found = unsigned_number(&at));) {
        if (found < 4096)
            cached[found] = at;
        if (found == code)
            return at;
        unsigned_number(&at);
        at++;
        for (uint64_t name = 1, form; name;) {
            name = unsigned_number(&at);
            form = unsigned_number(&at);
            if (form == 0x21)
                signed_number(&at);
        }
    }
    return NULL;
}

static struct value block(const uint8_t **at, uint64_t size) {
    struct value value = {EXPRESSION, size, *at};
    *at += size;
    return value;
}

static struct value number(uint64_t value) { return (struct value){NUMBER, value, NULL}; }

static struct value reference(uint64_t place) { return (struct value){REFERENCE, place, NULL}; }

static struct value text_at(const uint8_t *bytes) { return (struct value){TEXT, 0, bytes}; }

static struct value read_form(uint64_t form, uint64_t unit, int64_t constant, const uint8_t **at) {
    switch (form) {
    case 0x01: return number(fixed(at, 8) + load_bias); /* an address */
    case 0x0b: return number(fixed(at, 1));
    case 0x05: return number(fixed(at, 2));
    case 0x06: return number(fixed(at, 4));
    case 0x07: return number(fixed(at, 8));
    case 0x0d: return number((uint64_t)signed_number(at));
    case 0x0f: return number(unsigned_number(at));
    case 0x21: return number((uint64_t)constant);
    case 0x0c: return number(fixed(at, 1));
    case 0x19: return number(1);
    case 0x11: return reference(unit + fixed(at, 1));
    case 0x12: return reference(unit + fixed(at, 2));
    case 0x13: return reference(unit + fixed(at, 4));
    case 0x14: return reference(unit + fixed(at, 8));
    case 0x15: return reference(unit + unsigned_number(at));
    case 0x10: return reference(fixed(at, 4));
    case 0x17: return number(fixed(at, 4)); /* an offset in another section */
    case 0x0e: return text_at(strings.bytes + fixed(at, 4));
    case 0x1f: return text_at(line_strings.bytes + fixed(at, 4));
    case 0x08: {
        struct value value = text_at(*at);
        *at += strlen((const char *)*at) + 1;
        return value;
    }
    case 0x18: case 0x09: return block(at, unsigned_number(at));
    case 0x0a: return block(at, fixed(at, 1));
    case 0x03: return block(at, fixed(at, 2));
    case 0x04: return block(at, fixed(at, 4));
    case 0x1e: return block(at, 16);
    case 0x20: *at += 8; return (struct value){0};
    case 0x22: case 0x23: case 0x1b: return number(unsigned_number(at));
    default: abort(); /* no form that gcc writes */
    }
}

static enum attribute attribute_of(uint64_t name) {
    static const uint8_t names[ATTRIBUTES] = {
        [NAME] = 0x03, [TYPE] = 0x49, [LOCATION] = 0x02, [BYTE_SIZE] = 0x0b, [ENCODING] = 0x3e, [LOWER] = 0x22,
        [UPPER] = 0x2f, [COUNT] = 0x37, [STRIDE] = 0x51, [DATA] = 0x50, [ALLOCATED] = 0x4e, [ASSOCIATED] = 0x4f,
        [STRING_LENGTH] = 0x19, [LENGTH_SIZE] = 0x70, [MEMBER] = 0x38, [LOW_PC] = 0x11, [HIGH_PC] = 0x12,
        [DECL_LINE] = 0x3b, [LANGUAGE] = 0x13, [MAIN] = 0x6a,
    };
    int i = 0;
    while (i < ATTRIBUTES && names[i] != name)
        i++;
    return (enum attribute)i;
}

bool read_entry(uint64_t place, struct entry *entry) {
    uint64_t unit = unit_of(place);
    const uint8_t *at = info.bytes + place;
    memset(entry, 0, sizeof *entry);
    entry->place = place;
    uint64_t code = unsigned_number(&at);
    entry->children = (uint64_t)(at - info.bytes);
    if (!code)
        return false;
    const uint8_t *layout = find_abbreviation(unit, code);
    entry->tag = unsigned_number(&layout);
    entry->has_children = *layout++;
    for (;;) {
        uint64_t name = unsigned_number(&layout), form = unsigned_number(&layout);
        int64_t constant = form == 0x21 ? signed_number(&layout) : 0;
        if (!name)
            break;
        struct value value = read_form(form, unit, constant, &at);
        enum attribute attribute = attribute_of(name);
        if (attribute < ATTRIBUTES)
            entry->attributes[attribute] = value;
    }
    entry->children = (uint64_t)(at - info.bytes);
    return true;
}

uint64_t place_after(const struct entry *entry) {
    struct entry child;
    uint64_t place = entry->children;
    if (!entry->has_children)
        return place;
    while (read_entry(place, &child))
        place = place_after(&child);
    return child.children;
}

uint64_t first_unit(void) { return 0; }

/* The place of the unit after `unit`, or UINT64_MAX. */
uint64_t next_unit(uint64_t unit, uint64_t *first_entry) {
    if (unit >= info.size)
        return UINT64_MAX;
    const uint8_t *at = info.bytes + unit;
    *first_entry = unit + 12;
    uint64_t next = unit + 4 + fixed(&at, 4);
    return next >= info.size ? UINT64_MAX : next;
}

bool is_fortran(const struct entry *unit) {
    uint64_t language = unit->attributes[LANGUAGE].number;
    return language == 0x07 || language == 0x08 || language == 0x0e || language == 0x22 || language == 0x23;
}

/* --- expressions --- */

#define DEEPEST_STACK 64

struct machine {
    uint64_t stack[DEEPEST_STACK];
    int size;
    bool failed;
};

static uint64_t pop(struct machine *machine) {
    if (machine->size == 0)
        machine->failed = true;
    return machine->size ? machine->stack[--machine->size] : 0;
}

static void push(struct machine *machine, uint64_t value) {
    if (machine->size == DEEPEST_STACK)
        machine->failed = true;
    else
        machine->stack[machine->size++] = value;
}

static uint64_t at_depth(struct machine *machine, uint64_t depth) {
    if (depth >= (uint64_t)machine->size)
        machine->failed = true;
    return machine->failed ? 0 : machine->stack[machine->size - 1 - (int)depth];
}

static uint64_t deref(struct machine *machine, size_t size) {
    uint64_t value = 0;
    machine->failed |= size > 8 || !read_memory(pop(machine), &value, size);
    return value;
}

static uint64_t combine(struct machine *machine, uint8_t operation) {
    uint64_t b = pop(machine), a = pop(machine);
    int64_t x = (int64_t)a, y = (int64_t)b;
    switch (operation) {
    case 0x1a: return a & b;
    case 0x1b: machine->failed |= y == 0 || (y == -1 && x == INT64_MIN); return machine->failed ? 0 : (uint64_t)(x / y);
    case 0x1c: return a - b;
    case 0x1d: machine->failed |= b == 0; return machine->failed ? 0 : a % b;
    case 0x1e: return a * b;
    case 0x21: return a | b;
    case 0x22: return a + b;
    case 0x24: return b < 64 ? a << b : 0;
    case 0x25: return b < 64 ? a >> b : 0;
    case 0x26: return (uint64_t)(x >> (b < 63 ? b : 63));
    case 0x27: return a ^ b;
    case 0x29: return x == y;
    case 0x2a: return x >= y;
    case 0x2b: return x > y;
    case 0x2c: return x <= y;
    case 0x2d: return x < y;
    default: return x != y; /* 0x2e */
    }
}

static void call(struct machine *machine, uint64_t place, const struct context *context) {
    struct entry entry;
    uint64_t result = 0;
    machine->failed |= !read_entry(place, &entry) || !evaluate(&entry.attributes[LOCATION], context, &result);
    push(machine, result);
}

static void run_operation(struct machine *machine, uint8_t operation, const uint8_t **at, const struct context *context) {
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8};
    uint64_t a, b;
    if (operation >= 0x30 && operation <= 0x4f) {
        push(machine, operation - 0x30u);
    } else if ((operation >= 0x1a && operation <= 0x1e) || operation == 0x21 || operation == 0x22 ||
               (operation >= 0x24 && operation <= 0x27) || (operation >= 0x29 && operation <= 0x2e)) {
        push(machine, combine(machine, operation));
    } else if (operation >= 0x08 && operation <= 0x0f) {
        size_t size = sizes[operation - 8];
        a = fixed(at, size);
        if (operation & 1 && size < 8) /* signed */
            a = (uint64_t)((int64_t)(a << (64 - 8 * size)) >> (64 - 8 * size));
        push(machine, a);
    } else {
        switch (operation) {
        case 0x03: push(machine, fixed(at, 8) + load_bias); break;
        case 0x06: push(machine, deref(machine, 8)); break;
        case 0x94: push(machine, deref(machine, fixed(at, 1))); break;
        case 0x10: push(machine, unsigned_number(at)); break;
        case 0x11: push(machine, (uint64_t)signed_number(at)); break;
        case 0x12: push(machine, at_depth(machine, 0)); break;
        case 0x13: pop(machine); break;
        case 0x14: push(machine, at_depth(machine, 1)); break;
        case 0x15: push(machine, at_depth(machine, fixed(at, 1))); break;
        case 0x16: a = pop(machine); b = pop(machine); push(machine, a); push(machine, b); break;
        case 0x1f: push(machine, 0 - pop(machine)); break;
        case 0x20: push(machine, ~pop(machine)); break;
        case 0x23: push(machine, pop(machine) + unsigned_number(at)); break;
        case 0x28: { /* bra */
            int16_t distance = (int16_t)fixed(at, 2);
            *at += pop(machine) ? distance : 0;
            break;
        }
        case 0x2f: { int16_t distance = (int16_t)fixed(at, 2); *at += distance; break; }
        case 0x91: push(machine, context->frame + (uint64_t)signed_number(at)); break;
        case 0x97: push(machine, context->object); break;
        case 0x99: call(machine, unit_of((uint64_t)(*at - info.bytes)) + fixed(at, 4), context); break;
        case 0x9f: case 0x96: break;
        default: machine->failed = true;
        }
    }
}

bool evaluate(const struct value *value, const struct context *context, uint64_t *result) {
    struct machine machine = {.size = 0};
    *result = value->number;
    if (value->kind == NUMBER)
        return true;
    if (value->kind != EXPRESSION)
        return false;
    const uint8_t *at = value->bytes, *end = at + value->number;
    for (int steps = 0; at >= value->bytes && at < end && !machine.failed && steps < 1000; steps++) {
        uint8_t operation = *at++;
        run_operation(&machine, operation, &at, context);
    }
    *result = pop(&machine);
    return !machine.failed;
}
