/* Executes itself again and again with as many bytes of arguments as the kernel takes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **arguments) {
    static char block[100000];
    char *all[64] = {"prog", count > 1 ? arguments[1] : (char[]){'z', 0}};
    memset(block, 'x', sizeof block - 1);
    for (int i = 2; i < 20; i++) all[i] = block;
    if (all[1][0]-- > 'a') execv("./prog", all);
    puts("42");
}
