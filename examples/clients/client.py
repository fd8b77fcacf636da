#!/usr/bin/env python3
"""Asks a daemon of Checkmate for a change, follows the run, and exits 0 if it was approved.

    client.py "GOAL" [PORT]        needs Python 3.8 or later and nothing else
"""
import base64, json, os, pathlib, socket, struct, sys


class Socket:
    """A WebSocket that speaks text frames (RFC 6455), as much of it as a client of a daemon on this machine needs."""

    def __init__(self, port, token):
        self.stream = socket.create_connection(("localhost", port))
        key = base64.b64encode(os.urandom(16)).decode()
        self.stream.sendall(
            f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
        self.bytes = self.stream.makefile("rb")
        status = self.bytes.readline().decode().strip()
        while self.bytes.readline().strip():
            pass
        if " 101 " not in status + " ":
            sys.exit(f"The daemon does not let this client in: {status}")

    def send(self, message):
        data, mask = json.dumps(message).encode(), os.urandom(4)
        length = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))
        self.stream.sendall(b"\x81" + length + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def frames(self):
        while head := self.bytes.read(2):
            length = head[1] & 0x7F
            if length >= 126:
                length = int.from_bytes(self.bytes.read(2 if length == 126 else 8), "big")
            data = self.bytes.read(length)
            if head[0] & 0x0F == 1:
                yield json.loads(data)


def main():
    state = pathlib.Path(os.environ.get("XDG_STATE_HOME", pathlib.Path.home() / ".local/state")) / "checkmate/daemon"
    port = int(sys.argv[2]) if len(sys.argv) > 2 else json.loads((state / "daemon.json").read_text())["port"]
    daemon = Socket(port, (state / "token").read_text().strip())
    daemon.send({"type": "hello", "version": 1})
    daemon.send({"type": "run_cycle", "request": sys.argv[1], "id": 1})
    for frame in daemon.frames():
        event, kind = frame["event"], frame["event"]["type"]
        if kind == "stream_chunk":
            print(event["chunk"], end="", file=sys.stderr)
        elif kind == "verdict":
            print(f"verdict: {event['verdict']['decision']}")
        elif kind == "error":
            sys.exit(event["error"])
        elif kind == "cycle_complete":
            print(event["message"])
            sys.exit(0 if event["success"] else 2)


main()
