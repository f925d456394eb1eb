char room[1L << 32] = {1};
int main() { return room[7]; }
