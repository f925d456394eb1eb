#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **arguments) {
    int left = count > 1 ? atoi(arguments[1]) : 300;
    char text[16];
    sprintf(text, "%d", left - 1);
    if (left) execl("./prog", "prog", text, (char *)0);
    puts("42");
}
