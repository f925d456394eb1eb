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
    TRY(syscall(SYS_io_setup, 1, room));
    int pair[2];
    struct msghdr message = {0};
    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
    TRY(sendmsg(pair[0], &message, 0));
    TRY(sendmmsg(pair[0], (void *)room, 1, 0));
    TRY(socketpair(AF_INET, SOCK_STREAM, 0, pair) && errno != EAFNOSUPPORT ? 0 : -1);
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
