"""Runs a command at a terminal of its own: terminal.py '{"size": [COLUMNS, ROWS], "steps": [...]}' COMMAND...

A step waits until `after` was written, in whatever colours (behind what the step before it waited for), or until the file `file` is there,
and then sends the bytes `send`, or makes the terminal `size`. Prints JSON: the pieces that were written as hexadecimal
digits, with sizes where the terminal was resized; the exit code; and whether the terminal's modes are as before.
"""
import fcntl, json, os, pty, re, select, struct, sys, termios

plan, command = json.loads(sys.argv[1]), sys.argv[2:]
steps = plan["steps"]
child, terminal = pty.fork()
if child == 0:
    sys.stdin.readline()
    os.execv(command[0], command)


def resize(columns, rows):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


resize(*plan["size"])
before = termios.tcgetattr(terminal)
os.write(terminal, b"\n")
pieces, seen, begun, at = [], b"", False, 0
while True:
    if select.select([terminal], [], [], 0.01)[0]:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            break
        if not data:
            break
        pieces.append(data.hex())
        seen = re.sub(rb"\x1b\[[0-9;]*m", b"", seen + data)
    while steps:
        step = steps[0]
        if "after" in step:
            found = seen.find(step["after"].encode(), at)
            if found < 0:
                break
            at = found + len(step["after"].encode())
        elif not os.path.exists(step["file"]):
            break
        if "send" in step:
            os.write(terminal, step["send"].encode())
        if "size" in step:
            resize(*step["size"])
            pieces.append(step["size"])
        steps.pop(0)
after = termios.tcgetattr(terminal)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps({"pieces": pieces, "code": code, "restored": before == after, "left": len(steps)}))
