#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
int main() {
    char path[64], text[4096];
    int found = 0;
    for (int pid = 1; pid < 300; pid++) {
        if (pid == getpid()) continue;
        sprintf(path, "/proc/%d/mem", pid), found += open(path, O_RDONLY) >= 0;
        sprintf(path, "/proc/%d/maps", pid), found += open(path, O_RDONLY) >= 0;
        sprintf(path, "/proc/%d/environ", pid), found += open(path, O_RDONLY) >= 0;
        sprintf(path, "/proc/%d/auxv", pid), found += open(path, O_RDONLY) >= 0;
        sprintf(path, "/proc/%d/fd", pid), found += opendir(path) != 0;
        sprintf(path, "/proc/%d/map_files", pid), found += opendir(path) != 0;
        sprintf(path, "/proc/%d/root", pid), found += readlink(path, text, sizeof text) >= 0;
        sprintf(path, "/proc/%d/exe", pid), found += readlink(path, text, sizeof text) >= 0;
        sprintf(path, "/proc/%d/ns/pid", pid), found += open(path, O_RDONLY) >= 0;
        for (int fd = 0; fd < 16; fd++) sprintf(path, "/proc/%d/fd/%d", pid, fd), found += open(path, O_RDONLY) >= 0;
        found += ptrace(PTRACE_ATTACH, pid, 0, 0) == 0;
        found += ptrace(PTRACE_SEIZE, pid, 0, 0) == 0;
        struct iovec here = {text, 16}, there = {(void *)0x400000, 16};
        found += process_vm_readv(pid, &here, 1, &there, 1, 0) > 0;
        found += process_vm_writev(pid, &here, 1, &there, 1, 0) > 0;
        int handle = syscall(SYS_pidfd_open, pid, 0);
        for (int fd = 0; fd < 16; fd++) found += syscall(SYS_pidfd_getfd, handle, fd, 0) >= 0;
        close(handle);
    }
    for (int fd = 3; fd < 1024; fd++) found += fcntl(fd, F_GETFD) >= 0;
    printf("%d\n", found);
}
