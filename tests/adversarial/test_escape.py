"""Programs that look for the answers, for other programs, or for a way out."""

from __future__ import annotations

from typing import Any

SECRET = "a-string-that-only-the-expected-output-holds"
PEEK_C = r"""
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
        sprintf(path, "/proc/%d/fd", pid), found += opendir(path) != 0;
        sprintf(path, "/proc/%d/root", pid), found += readlink(path, text, sizeof text) >= 0;
        found += ptrace(PTRACE_ATTACH, pid, 0, 0) == 0;
        struct iovec here = {text, 16}, there = {(void *)0x400000, 16};
        found += process_vm_readv(pid, &here, 1, &there, 1, 0) > 0;
        int handle = syscall(SYS_pidfd_open, pid, 0);
        for (int fd = 0; fd < 16; fd++) found += syscall(SYS_pidfd_getfd, handle, fd, 0) >= 0;
        close(handle);
    }
    for (int fd = 3; fd < 1024; fd++) found += fcntl(fd, F_GETFD) >= 0;
    printf("%d\n", found);
}
"""
CALLS_C = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/vm_sockets.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
#define TRY(what) if ((what) >= 0) printf("allowed: %s\n", #what)
int main() {
    static char room[4096];
    TRY(socket(AF_INET, SOCK_STREAM, 0));
    TRY(socket(AF_INET6, SOCK_DGRAM, 0));
    TRY(socket(AF_VSOCK, SOCK_STREAM, 0));
    TRY(socket(AF_NETLINK, SOCK_RAW, 0));
    TRY(socket(AF_ALG, SOCK_SEQPACKET, 0));
    TRY(socket(AF_PACKET, SOCK_RAW, 0));
    TRY(mount("none", "/tmp", "tmpfs", 0, 0));
    TRY(umount2("/proc", MNT_DETACH));
    TRY(chroot("/tmp"));
    TRY(unshare(CLONE_NEWUSER));
    TRY(unshare(CLONE_NEWNS));
    TRY(syscall(SYS_clone, CLONE_NEWUSER | 17, 0, 0, 0, 0));
    TRY(syscall(SYS_clone3, room, 88));
    TRY(syscall(SYS_setns, 0, 0));
    TRY(syscall(SYS_io_uring_setup, 8, room));
    TRY(syscall(SYS_bpf, 0, room, 64));
    TRY(syscall(SYS_keyctl, 0, -3, 1));
    TRY(syscall(SYS_add_key, "user", "a", "b", 1, -3));
    TRY(syscall(SYS_userfaultfd, 0));
    TRY(syscall(SYS_perf_event_open, room, 0, -1, -1, 0));
    TRY(syscall(SYS_kexec_load, 0, 0, 0, 0));
    TRY(syscall(SYS_init_module, room, 10, ""));
    TRY(syscall(SYS_personality, 0x40000));
    TRY(syscall(SYS_shmget, 0, 4096, 01777));
    TRY(syscall(SYS_msgget, 0, 01777));
    TRY(syscall(SYS_semget, 0, 1, 01777));
    TRY(syscall(SYS_mq_open, "x", 0102, 0777, 0));
    TRY(syscall(SYS_quotactl, 0, 0, 0, 0));
    TRY(setuid(0));
    TRY(setgid(0));
    TRY(syscall(SYS_setfsuid, 0) - (int)getuid() ? 0 : -1);
    TRY(nice(-5) == -1 ? -1 : 0);
    TRY(sethostname("x", 1));
    TRY(syscall(SYS_reboot, 0xfee1dead, 672274793, 0, 0));
#ifdef __x86_64__
    TRY(syscall(0x40000000 | SYS_getpid));
    long answer;
    __asm__ volatile("int $0x80" : "=a"(answer) : "a"(20));
    TRY(answer);
    TRY(syscall(SYS_iopl, 3));
    TRY(syscall(SYS_modify_ldt, 0, room, 16));
#endif
    if (getuid() == 0 || geteuid() == 0 || getgid() == 0) puts("root");
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) puts("new privileges");
    struct sockaddr_un docker = {AF_UNIX, "/var/run/docker.sock"};
    if (!connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&docker, sizeof docker)) puts("docker");
    puts("end");
}
"""


def test_neither_the_harness_nor_its_answers_can_be_read(attack: Any) -> None:
    assert attack("c", PEEK_C, output="0", run_s=5.0).accepted
    result = attack("c", PEEK_C, output=SECRET, run_s=5.0)
    assert result.verdict == "wrong_answer"
    assert result.tests[0].stdout == "0\n"


def test_what_leads_out_is_refused(attack: Any) -> None:
    result = attack("c", CALLS_C, output="end")
    assert result.accepted, result.tests[0].stdout


def test_the_expected_output_stands_in_no_file(attack: Any) -> None:
    program = r"""
    local found = 0
    local secret = 'a-string-that-only' .. '-the-expected'
    for path in io.popen('find / -xdev -type f -size -64k; find /w /tmp /proc/1 /proc/self -type f'):lines() do
      local file = path:find('^/usr/share') == nil and path:find('pagemap') == nil and io.open(path, 'rb')
      local text = file and file:read(65536)
      if text and text:find(secret, 1, true) then found = found + 1 end
      if file then file:close() end
    end
    print(found)
    """
    assert attack("lua", program, output=f"0 {SECRET}", run_s=10.0).tests[0].stdout == "0\n"


def test_the_environment_tells_nothing_of_the_machine(attack: Any) -> None:
    program = "for line in io.popen('env'):lines() do print(line:match('^[^=]+')) end"
    result = attack("lua", program)
    allowed = {"HOME", "LANG", "PATH", "PWD", "TMPDIR", "HOSTNAME", "OLDPWD", "_", "SHLVL"}
    assert set(result.tests[0].stdout.split()) <= allowed


def test_an_answer_like_the_harnesss_own_is_only_text(attack: Any) -> None:
    program = "io.write('\\5\\0\\0\\0\\0\\0\\0\\0\\8') for fd = 3, 20 do "
    program += "local f = io.open('/proc/self/fd/' .. fd, 'w') if f then f:write('x') f:close() end end"
    assert attack("lua", program, output="42").verdict == "wrong_answer"


def test_there_is_no_network_but_ones_own_sockets(attack: Any) -> None:
    program = r"""
    #include <stdio.h>
    #include <sys/socket.h>
    #include <unistd.h>
    int main() {
        int pair[2];
        char byte = 0;
        socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        write(pair[0], "4", 1), read(pair[1], &byte, 1);
        putchar(byte);
    }
    """
    assert attack("c", program, output="4").accepted
