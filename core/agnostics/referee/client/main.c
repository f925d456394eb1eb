/* session: the commands of an agent session.
 *
 * The referee answers in the folder $AGN_SESSION, /session by default: its socket is `referee`, and `key` names the
 * session. The last four commands need no referee: they carry connections and files for those who run the box.
 */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "session fetch                           show the open problem, or the next one\n"
    "session run FILE [--input TEXT | --input-file FILE]\n"
    "                                        run a program; it reads nothing without an input\n"
    "session submit PROBLEM FILE             submit a program to the hidden tests of a problem\n"
    "session status                          what is solved, and what is left\n"
    "session skip                            leave the open problem\n"
    "session export                          the whole session as JSON\n"
    "    --json                              the reply of any of them as JSON\n"
    "session forward PORT SOCKET -- COMMAND...\n"
    "                                        run a command, with a socket as a port of 127.0.0.1\n"
    "session read FILE | pack | unpack       a file, or the files of this folder as a tar archive\n";

const char *folder(void) {
    const char *given = getenv("AGN_SESSION");
    return given && *given ? given : "/session";
}

int fail(const char *subject, const char *reason) {
    fprintf(stderr, "session: %.500s: %s\n", subject, reason);
    return FAILED;
}

int fail_errno(const char *subject) { return fail(subject, strerror(errno)); }

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        int (*run)(int count, char **arguments);
    } commands[] = {{"forward", forward}, {"read", read_file}, {"pack", pack}, {"unpack", unpack}};
    if (count < 2 || !strcmp(arguments[1], "--help")) {
        fputs(usage, count < 2 ? stderr : stdout);
        return count < 2 ? FAILED : OK;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(arguments[1], commands[i].name)) return commands[i].run(count - 2, arguments + 2);
    return request(arguments[1], count - 2, arguments + 2);
}
