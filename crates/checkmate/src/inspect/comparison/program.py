# Written by Checkmate for one comparison; it is not part of the project.
import collections.abc
import hashlib
import importlib
import importlib.util
import itertools
import os
import re
import signal
import subprocess
import sys
import time

TOKEN = "@TOKEN@"
ROOT = os.path.dirname(os.path.abspath(__file__))
SECONDS_PER_CALL = 1.0
SECONDS = 4.5
LONGEST = 400
LEAVE = os._exit


class Slow(BaseException):
    pass


def plain(text):
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", text)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def show(value, above=()):
    if id(value) in above or len(above) > 8:
        return "..."
    kind, above = type(value), above + (id(value),)
    if kind is list:
        return "[" + ", ".join(show(item, above) for item in value) + "]"
    if kind is tuple:
        return "(" + ", ".join(show(item, above) for item in value) + ("," if len(value) == 1 else "") + ")"
    if kind is dict:
        return "{" + ", ".join(show(key, above) + ": " + show(item, above) for key, item in value.items()) + "}"
    if kind in (set, frozenset):
        return kind.__name__ + "{" + ", ".join(sorted(show(item, above) for item in value)) + "}"
    if isinstance(value, type):
        return "[class " + value.__name__ + "]"
    if isinstance(value, collections.abc.Iterator):
        return "iterator " + show(list(itertools.islice(value, 50)), above)
    if kind.__repr__ is object.__repr__:
        # What a class calls private is no behaviour.
        own = {name: part for name, part in getattr(value, "__dict__", {}).items() if not name.startswith("_")}
        return kind.__name__ + "(" + ", ".join(name + "=" + show(own[name], above) for name in sorted(own)) + ")"
    if callable(value) and hasattr(value, "__name__"):
        return "[function]"
    return plain(repr(value))


def short(text):
    text = plain(text)
    if len(text) <= LONGEST:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return text[: LONGEST - 60] + " ... " + str(len(text)) + " characters, " + digest


def load(path, names):
    full = os.path.join(ROOT, path)
    for name in names:
        try:
            module = importlib.import_module(name)
            if os.path.samefile(module.__file__, full):
                return module
        except Slow:
            raise
        except BaseException:
            continue
    try:
        spec = importlib.util.spec_from_file_location("checkmate_compared_" + str(len(sys.modules)), full)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
    except Slow:
        raise
    except BaseException:
        return None


def held(arguments):
    return show([item for positional, named in arguments for item in [*positional, *named.values()]])


def once(module, root, first, steps):
    """Returns the result of one call as text; None if there is nothing to call."""
    value = module
    for name in root.split("."):
        if not hasattr(value, name):
            return None
        value = getattr(value, name)
    arguments = [first()] + [make() for _, make in steps]
    before = held(arguments)
    try:
        subject = result = value(*arguments[0][0], **arguments[0][1])
        for (name, _), (positional, named) in zip(steps, arguments[1:]):
            if not hasattr(subject, name):
                return None
            result = getattr(subject, name)(*positional, **named)
        text = show(result)
    except Slow:
        raise
    except RecursionError:
        text = "raises RecursionError"
    except BaseException as error:
        text = "raises " + type(error).__name__ + ": " + plain(str(error))[:200]
    after = held(arguments)
    return short(text if after == before else text + " | args became " + after)


def stop(*_):
    raise Slow()


def stay(code=0):
    raise SystemExit(code)


def limited(work, *arguments):
    signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_CALL)
    try:
        return work(*arguments)
    except BaseException:
        # Too slow, or there is nothing to call: a module may answer for a missing name with any error.
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run():
    started, out = time.monotonic(), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout, os._exit = sys.stderr, stay
    signal.signal(signal.SIGALRM, stop)
    modules = {}
    for path, (folders, names) in MODULES.items():
        for folder in folders:
            sys.path.insert(0, os.path.join(ROOT, folder))
        modules[path] = limited(load, path, names)
    slow, late = set(), []
    for call in itertools.chain(CALLS, late):
        number, path, root, first, steps = call
        if time.monotonic() - started > SECONDS:
            break
        if modules[path] is None:
            continue
        if (path, root) in slow and call not in late:
            # Others come first.
            late.append(call)
            continue
        begun = time.monotonic()
        result = limited(once, modules[path], root, first, steps)
        again = None if result is None else limited(once, modules[path], root, first, steps)
        if again is not None:
            print(TOKEN, number, result if result == again else "unstable", file=out, flush=True)
        if time.monotonic() - begun > SECONDS_PER_CALL / 2:
            slow.add((path, root))
    out.flush()
    LEAVE(0)


def read(seed):
    """Runs all calls in a process of their own, with this seed for the order of sets."""
    environment = dict(os.environ, PYTHONHASHSEED=str(seed), PYTHONDONTWRITEBYTECODE="1", PYTHONIOENCODING="utf-8")
    argv = [sys.executable, os.path.abspath(__file__), TOKEN]
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment, cwd=ROOT)
    try:
        text, _ = child.communicate(timeout=SECONDS + 2)
    except subprocess.TimeoutExpired:
        child.kill()
        try:
            text, _ = child.communicate(timeout=1)
        except subprocess.TimeoutExpired as late:
            text = late.output or b""
    found = {}
    for line in text.decode("utf-8", "replace").splitlines():
        parts = line.split(" ", 2)
        if len(parts) == 3 and parts[0] == TOKEN:
            found[parts[1]] = parts[2]
    return found


def main():
    first = read(0)
    second = read(1) if first else {}
    for number, result in first.items():
        if number in second:
            print(TOKEN, number, result if result == second[number] else "unstable")


MODULES = {
@MODULES@}
CALLS = [
@CALLS@]

if __name__ == "__main__":
    if sys.argv[1:] == [TOKEN]:
        run()
    else:
        main()
