/* What the debug information and the source say of the program: its procedures, their variables, and its statements. */

#define _GNU_SOURCE
#include "trace.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct procedure *procedures;
static size_t procedure_count;
static struct variable *module_variables;
static size_t module_count;

static bool *can_be_executed; /* by line */
static char **source_lines;
static size_t line_count;

void *trace_resize(void *block, size_t count, size_t size) {
    void *resized = realloc(block, (count ? count : 1) * size);
    if (!resized)
        abort();
    return resized;
}

static bool is_hidden(const char *name) { return *name == '_' || *name == '.' || !*name; }

static void add_variable(struct variable **variables, size_t *count, const struct entry *entry, uint64_t low, uint64_t high) {
    const char *name = (const char *)entry->attributes[NAME].bytes;
    if (name && strncmp(name, "__result_", 9) == 0)
        name += 9;
    if (!name || is_hidden(name) || entry->attributes[TYPE].kind != REFERENCE || !entry->attributes[LOCATION].kind)
        return;
    *variables = trace_resize(*variables, *count + 1, sizeof **variables);
    (*variables)[(*count)++] =
        (struct variable){name, entry->attributes[TYPE].number, entry->attributes[LOCATION], low, high};
}

static uint64_t high_of(const struct entry *entry) {
    return entry->attributes[LOW_PC].number + entry->attributes[HIGH_PC].number;
}

static void add_procedure(const struct entry *entry);

static void read_children(const struct entry *parent, struct procedure *procedure, uint64_t low, uint64_t high) {
    struct entry child;
    for (uint64_t place = parent->children; parent->has_children && read_entry(place, &child); place = place_after(&child)) {
        if (child.tag == TAG_PARAMETER || child.tag == TAG_VARIABLE)
            add_variable(&procedure->variables, &procedure->count, &child, low, high);
        else if (child.tag == TAG_LEXICAL_BLOCK && child.attributes[LOW_PC].kind)
            read_children(&child, procedure, child.attributes[LOW_PC].number, high_of(&child));
        else if (child.tag == TAG_LEXICAL_BLOCK)
            read_children(&child, procedure, low, high);
        else if (child.tag == TAG_PROCEDURE)
            add_procedure(&child);
    }
}

/* The name in `result(NAME)` of a function's first lines, or its own. */
static const char *result_name(const struct procedure *procedure) {
    const char *line = procedure->line <= line_count ? source_lines[procedure->line] : "", *found = strcasestr(line, "result");
    char name[64];
    if (found && sscanf(found + 6, " ( %63[A-Za-z0-9_]", name) == 1) {
        for (char *c = name; *c; c++)
            *c = (char)tolower(*c);
        return strdup(name);
    }
    return procedure->name;
}

static void add_procedure(const struct entry *entry) {
    struct procedure procedure = {.name = (const char *)entry->attributes[NAME].bytes};
    if (!procedure.name || !entry->attributes[LOW_PC].kind)
        return;
    procedure.low = entry->attributes[LOW_PC].number;
    procedure.high = high_of(entry);
    procedure.line = entry->attributes[DECL_LINE].number;
    procedure.is_main = entry->attributes[MAIN].kind;
    procedure.is_function = entry->attributes[TYPE].kind == REFERENCE;
    procedure.result = result_name(&procedure);
    read_children(entry, &procedure, procedure.low, procedure.high);
    if (strcmp(procedure.name, "main") == 0 || (is_hidden(procedure.name) && !procedure.is_main))
        return;
    procedures = trace_resize(procedures, procedure_count + 1, sizeof *procedures);
    procedures[procedure_count++] = procedure;
}

static void read_module(const struct entry *module) {
    struct entry child;
    for (uint64_t place = module->children; module->has_children && read_entry(place, &child); place = place_after(&child)) {
        if (child.tag == TAG_VARIABLE)
            add_variable(&module_variables, &module_count, &child, 0, UINT64_MAX);
        else if (child.tag == TAG_PROCEDURE)
            add_procedure(&child);
    }
}

/* A declaration, of which some have code that prepares the variable. */
static bool declares(const char *line) {
    static const char *const types[] = {"integer", "real", "character", "logical", "complex", "double", "type", "class"};
    char word[32] = "";
    sscanf(line, " %31[A-Za-z]", word);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcasecmp(word, types[i]) == 0)
            return strstr(line, "::") != NULL;
    return false;
}

/* `end`, and the ends of program units: what runs there is no statement of the program. */
static bool ends_unit(const char *line) {
    static const char *const units[] = {"", "program", "subroutine", "function", "module", "procedure", "submodule"};
    char word[32] = "", after[32] = "";
    sscanf(line, " %31[A-Za-z] %31[A-Za-z]", word, after);
    if (strncasecmp(word, "end", 3) != 0)
        return false;
    const char *unit = word[3] ? word + 3 : after;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(unit, units[i]) == 0)
            return true;
    return false;
}

static void read_source(const char *name) {
    FILE *file = fopen(name, "re");
    char *line = NULL;
    size_t room = 0;
    source_lines = trace_resize(NULL, 1, sizeof *source_lines);
    while (file && getline(&line, &room, file) >= 0) {
        source_lines = trace_resize(source_lines, ++line_count + 1, sizeof *source_lines);
        source_lines[line_count] = strdup(line);
    }
    can_be_executed = trace_resize(NULL, line_count + 1, sizeof *can_be_executed);
    for (size_t i = 1; i <= line_count; i++)
        can_be_executed[i] = !ends_unit(source_lines[i]) && !declares(source_lines[i]);
    free(line);
    if (file)
        fclose(file);
}

static void read_unit(uint64_t place) {
    struct entry unit, child;
    if (!read_entry(place, &unit) || !is_fortran(&unit))
        return;
    read_source((const char *)unit.attributes[NAME].bytes);
    for (uint64_t at = unit.children; unit.has_children && read_entry(at, &child); at = place_after(&child)) {
        if (child.tag == TAG_PROCEDURE)
            add_procedure(&child);
        else if (child.tag == TAG_MODULE)
            read_module(&child);
    }
    for (size_t i = 0; i < procedure_count; i++)
        if (procedures[i].line <= line_count)
            can_be_executed[procedures[i].line] = false;
}

static void add_module_variables(void) {
    for (size_t i = 0; i < procedure_count; i++) {
        struct procedure *main = &procedures[i];
        if (!main->is_main)
            continue;
        main->variables = trace_resize(main->variables, main->count + module_count, sizeof *main->variables);
        memcpy(main->variables + main->count, module_variables, module_count * sizeof *module_variables);
        main->count += module_count;
    }
}

void read_program(void) {
    uint64_t first;
    for (uint64_t unit = first_unit(), next; unit != UINT64_MAX; unit = next) {
        next = next_unit(unit, &first);
        read_unit(first);
    }
    add_module_variables();
}

bool is_statement(size_t line) { return line <= line_count && can_be_executed[line]; }

const struct procedure *find_procedure(uint64_t address) {
    for (size_t i = 0; i < procedure_count; i++)
        if (address >= procedures[i].low && address < procedures[i].high)
            return &procedures[i];
    return NULL;
}
