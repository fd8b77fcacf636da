# gcd A B: prints the greatest common divisor of two numbers.
gcd() {
    if [ "$2" -eq 0 ]; then
        echo "$1"
    else
        gcd "$2" $(($1 % $2))
    fi
}
