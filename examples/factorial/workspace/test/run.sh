# Runs every test of this folder and prints a TAP report. A test is a line that begins with `expect`.
cd "$(dirname "$0")/.." || exit 1
for source in src/*.sh; do
    . "./$source"
done

# expect NAME ACTUAL EXPECTED
expect() {
    count=$((count + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        echo "  # got '$2', expected '$3'"
        failed=$((failed + 1))
    fi
}

count=0
failed=0
echo "TAP version 13"
for tests in test/*_test.sh; do
    . "./$tests"
done
echo "1..$count"
[ "$failed" -eq 0 ]
