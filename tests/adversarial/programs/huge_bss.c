#include <string.h>
static char room[1 << 30];
int main(int count, char **arguments) {
    memset(room, count, sizeof room);
    return room[count] - 1;
}
