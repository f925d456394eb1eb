#include "snippet.c"
int main() {}
