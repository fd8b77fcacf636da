expect "gcd of coprime numbers" "$(gcd 9 4)" 1
expect "gcd of multiples" "$(gcd 12 18)" 6
