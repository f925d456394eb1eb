#include <signal.h>
int main() { raise(SIGSTOP); }
