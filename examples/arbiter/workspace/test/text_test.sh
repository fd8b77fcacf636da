expect "upper of a word" "$(upper word)" WORD
