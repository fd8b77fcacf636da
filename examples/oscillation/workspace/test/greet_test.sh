expect "greet names the person" "$(greet Ada | cut -c1-10)" "Hello, Ada"
