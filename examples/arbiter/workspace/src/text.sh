# upper TEXT: prints the text in capital letters.
upper() {
    printf '%s\n' "$1" | tr '[:lower:]' '[:upper:]'
}
