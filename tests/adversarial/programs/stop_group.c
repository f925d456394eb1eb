#include <signal.h>
#include <unistd.h>
int main() { fork(), fork(), kill(0, SIGSTOP); }
