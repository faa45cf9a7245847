#!/usr/bin/env python3
"""Writes the corpus of fuzz_service: a Call and a result of each procedure of the echo program."""
import pathlib
import struct

out = pathlib.Path(__file__).parent / "corpus/service"
out.mkdir(parents=True, exist_ok=True)


def words(*values):
    return struct.pack(f">{len(values)}I", *values)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def pattern(length):
    mask, state, data = (1 << 64) - 1, 0, b""
    while len(data) < length:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = ((state ^ state >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        data += struct.pack("<Q", z ^ z >> 31)
    return data[:length]


def case(name, script, stream, rest=b""):
    (out / f"{name}.bin").write_bytes(bytes([len(stream) // 4, script]) + stream + rest)


def call(proc, arguments=b"", cred=words(0, 0)):
    return words(7, 0, 2, 0x20525244, 1, proc) + cred + words(0, 0) + arguments


sys_body = words(9, 2, 0x61620000, 1000, 100, 1, 4)
head = words(7, 1, 0, 0, 0, 0)
data = pattern(8)
case("null_sys", 0, call(0, cred=words(1, len(sys_body)) + sys_body))
case("echo", 0, call(1, words(crc32c(data), 8) + data))
case("sink_chunk", 12, call(2, words(crc32c(data), 8)), data)
case("source", 0, call(3, words(100, 5)))
case("echo_bulk_chunk", 12, call(4, words(crc32c(data), 8)), data)
case("list", 0, call(5, words(10, 20, 5)))
case("sleep", 0, call(6, words(1000)))
case("count", 0, call(7, words(1)))
case("mismatch", 0, words(7, 0, 2, 0x20525244, 9, 0, 0, 0, 0, 0))
case("rpc_mismatch", 0, words(7, 0, 3, 0x20525244, 1, 0, 0, 0, 0, 0))
case("tls", 0, call(0, cred=words(7, 0)))
# Results: length 1 + script % 64, 3 items, seed 0; 1000 ns of reading, 2000 ns of work.
ok = words(0, 0, 1000, 0, 2000)
for proc in range(8):
    length = 1 + proc
    data = pattern(length)
    padded = data + bytes(-length % 4)
    items = pattern(3 * length)
    body = {
        0: b"",
        1: ok + words(crc32c(data), length) + padded,
        2: ok + words(length, crc32c(data)),
        3: ok + words(crc32c(data), length) + padded,
        4: ok + words(crc32c(data), length),
        5: ok + words(crc32c(items), 3)
        + b"".join(words(length) + items[i * length:(i + 1) * length] + bytes(-length % 4)
                   for i in range(3)),
        6: ok,
        7: ok + words(0, 5),
    }[proc]
    case(f"result{proc}", 0x80 + proc, head + body, data if proc == 4 else b"")
