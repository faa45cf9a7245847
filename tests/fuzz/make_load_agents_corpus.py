#!/usr/bin/env python3
"""Writes the corpus of fuzz_load_agents: the length of pieces less one, then a stream of frames."""

import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus" / "load_agents"


def text(value):
    raw = value.encode()
    return struct.pack(">I", len(raw)) + raw + b"\0" * (-len(raw) % 4)


def words(values):
    return struct.pack(">I", len(values)) + b"".join(map(text, values))


def frame(kind, body=b""):
    return b"\0rpcload" + struct.pack(">II", kind, len(body)) + body


HELLO = frame(1, struct.pack(">I", 1) + text("1.0 (abc)") + text("192.0.2.1"))
PONG = frame(2, struct.pack(">Qq", 7, -5))
REFUSAL = frame(7, text("no"))
OPTIONS = frame(17, struct.pack(">I", 3) + text("h#2") + words(["--listen", "192.0.2.1"]) + words(["--size", "4k"]))
CONNECT = frame(18, struct.pack(">I", 1) + words(["a", "b"]) + struct.pack(">qq", -1, 2))
START = frame(19, struct.pack(">qq", 1, 2))

INPUTS = {
    "agent": b"\x03Welcome\n" + HELLO + PONG + frame(3) + frame(4) + frame(5, b"tick") + frame(6, b"result"),
    "refusal": b"\xff" + HELLO + REFUSAL,
    "coordinator": b"\x0f" + frame(16, struct.pack(">Q", 7)) + frame(21, text("ib0")) + OPTIONS + CONNECT + START + frame(20),
    "noise": b"\x07" + HELLO + b"broadcast\n" + PONG,
    "long": b"\x07" + b"\0rpcload" + struct.pack(">II", 6, 0xFFFFFFFF),
    "type": b"\x07" + frame(99, b"x"),
    "banner": b"\x07" + b"x" * 200 + HELLO,
    "hosts": b"\0host1,root@host2:4,[2001:db8::1]:2,host1",
    "command": b"\0ssh -i 'a key' \"b\\\"\" c\\ d",
}

CORPUS.mkdir(parents=True, exist_ok=True)
for name, data in INPUTS.items():
    (CORPUS / name).write_bytes(data)
