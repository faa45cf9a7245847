#!/usr/bin/env python3
"""Writes the corpus of fuzz_rc_pair: fuzz_rc_pair.cc describes its commands."""

import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus" / "rc_pair"
ACK_REQ = 1
RECEIVE = bytes([3, 255])
ALL_OUT = bytes([4, 255])
EXPIRE = bytes([5])
TAKE = bytes([7])


def packet(opcode, headers=b"", payload=0, delta=0, flags=ACK_REQ):
    """`payload`: units of 5 bytes; with a pad of 1 they are 4 of 256."""
    return bytes([0, opcode, flags, delta & 255, len(headers), payload]) + headers


def reth(which, length, offset=0):
    return struct.pack(">QII", offset, which, length)


def ack(syndrome, msn=0):
    return struct.pack(">I", syndrome << 24 | msn)


def send(operation, length):
    return bytes([2, operation, length, 1])


WRITE, READ, INVALIDATE = 0, 1, 6
CASES = {
    "send": RECEIVE + packet(0x04, payload=4) + ALL_OUT + TAKE,
    "send-without-receive": packet(0x04, payload=4) + ALL_OUT + RECEIVE + packet(0x04, delta=-1),
    "send-invalidate": RECEIVE + packet(0x17, struct.pack(">I", READ)) + ALL_OUT,
    "write": packet(0x0A, reth(WRITE, 20), 4) + packet(0x0A, reth(WRITE, 20), 4, -1) + ALL_OUT,
    "write-outside": packet(0x0A, reth(WRITE, 20, 1005), 4) + ALL_OUT,
    "write-of-anothers": packet(0x0A, reth(2, 20), 4) + ALL_OUT,
    "write-of-what-is-read": packet(0x0A, reth(READ, 20), 4) + ALL_OUT,
    "read": packet(0x0C, reth(READ, 1024)) + bytes([4, 2]) + packet(0x0C, reth(READ, 512, 512), delta=-1) + ALL_OUT,
    "read-withdrawn": packet(0x0C, reth(READ, 1024)) + bytes([4, 2, INVALIDATE, 1]) + ALL_OUT,
    "reads-too-many": packet(0x0C, reth(READ, 4)) * 3 + ALL_OUT,
    "gap": RECEIVE * 2 + packet(0x04, delta=1) + ALL_OUT + packet(0x04, delta=-2) + ALL_OUT,
    "own-send": send(0, 200) + ALL_OUT + packet(0x11, ack(0x1F)) + TAKE,
    "own-send-refused": send(0, 20) + ALL_OUT + packet(0x11, ack(0x62)) + TAKE,
    "own-send-rnr": send(0, 20) + ALL_OUT + packet(0x11, ack(0x2C)) + EXPIRE + ALL_OUT,
    "own-read": send(5, 5) + ALL_OUT + packet(0x10, ack(0x1F), 4) + TAKE,
    "own-read-timeouts": send(5, 250) + (ALL_OUT + EXPIRE) * 4 + TAKE,
    "own-read-gap": send(5, 250) + send(0, 4) + ALL_OUT + packet(0x11, ack(0x1F), delta=4) + ALL_OUT,
}

CORPUS.mkdir(exist_ok=True)
for name, data in CASES.items():
    (CORPUS / f"{name}.bin").write_bytes(data)
