/* The parts of the library that holds an interpreter at its first use of the program's file (hold.c). */
#ifndef PRELOAD_H
#define PRELOAD_H

#include "fork_server.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

/* The function `name` that this library's stands before. */
#define NEXT(name)                                                                                                     \
    ({                                                                                                                 \
        static __typeof__(&name) known;                                                                                \
        if (!known) known = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                                \
        known;                                                                                                         \
    })

/* The program's file: its name, empty if nothing is held (any more), and its descriptor, -1 unless it is open and not
 * used yet. */
struct program_file {
    char name[256];
    int fd, flags;
};
extern struct program_file program_file;

/* hold.c */
void take_variables(void);

/* held.c: the held process. */
void hold(void);
void complain(char *reason, const char *text, const char *detail);

/* descriptors.c: what a held process has open; its forks get their own. */
void note_descriptors(char *reason);
bool remake_descriptors(void);

/* threads.c: the other threads of a held process; its forks start their own. */
void note_threads(char *reason);
bool restart_threads(void);

#endif
