static int deeper(int n) {
    volatile char room[1000];
    room[n % 1000] = n;
    return deeper(n + 1) + room[n % 999];
}
int main() { return deeper(0); }
