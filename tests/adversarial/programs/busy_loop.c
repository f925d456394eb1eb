int main() {
    for (;;);
}
