#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
static void litter(const char *where) {
    static char longest[256];
    memset(longest, 'n', 255);
    if (chdir(where)) return;
    mkfifo("fifo", 0600), mknod("plain", S_IFREG | 0600, 0);
    symlink("/etc", "link"), symlink("..", "up"), symlink("round", "round");
    mkdir("dark", 0700), mkdir("dark/inner", 0700), close(creat("dark/inner/file", 0600));
    chmod("dark/inner", 0), chmod("dark", 0);
    mkdir("tree", 0700), close(creat("tree/file", 0400)), chmod("tree", 0500);
    close(creat(".hidden", 0)), close(creat("-rf", 0)), close(creat("new\nline", 0)), close(creat("\xff\xfe", 0));
    close(creat(longest, 0)), close(creat(".wiped-0", 0)), close(creat(".wiped-1", 0));
    link(".hidden", "hard");
    struct sockaddr_un address = {AF_UNIX, "socket"};
    bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&address, sizeof address);
    int file = creat("marked", 0600), flags = FS_IMMUTABLE_FL | FS_APPEND_FL | FS_NODUMP_FL;
    if (!ioctl(file, FS_IOC_SETFLAGS, &flags)) puts("immutable");
    setxattr("marked", "user.x", longest, 255, 0);
    chmod(where, 0), rename(where, "/tmp/elsewhere"), rmdir(where);
}
int main() {
    if (!access("/w/fifo", F_OK) || !access("/tmp/fifo", F_OK)) puts("left over");
    litter("/w"), litter("/tmp");
    puts("42");
}
