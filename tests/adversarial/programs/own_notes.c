#include <stdio.h>
int main() {
    char text[8] = {0};
    FILE *notes = fopen("notes", "w+");
    fputs("42", notes), rewind(notes), fgets(text, sizeof text, notes);
    puts(text);
}
