#!/usr/bin/env python3
"""Writes the seeds of fuzz_iwarp: connections as its commands, with and without set-up, markers and CRCs."""

import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus" / "iwarp"
LONG, SKIP, SYN, FIN, RST = 4, 16, 1 << 5, 2 << 5, 3 << 5


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def command(side, payload=b"", flags=0):
    return struct.pack("<BBB", side | flags | LONG, len(payload) & 255, len(payload) >> 8) + payload


def mpa(reply, flags=0x40, revision=1, enhanced=b""):
    data = enhanced + bytes.fromhex("f6ab0e1801010303")
    key = b"MPA ID Rep Frame" if reply else b"MPA ID Req Frame"
    return key + struct.pack(">BBH", flags, revision, len(data)) + data


def fpdu(ulpdu, good=True):
    plain = struct.pack(">H", len(ulpdu)) + ulpdu
    plain += bytes(-len(plain) % 4)
    return plain + struct.pack("<I", crc32c(plain) ^ (0 if good else 1))


def untagged(opcode, queue, msn, payload, offset=0, last=True, stag=0, good=True):
    return fpdu(struct.pack(">BBIIII", 0x41 if last else 1, 0x40 | opcode, stag, queue, msn, offset) + payload, good)


def tagged(opcode, stag, offset, payload, last=True):
    return fpdu(struct.pack(">BBIQ", 0xC1 if last else 0x81, 0x40 | opcode, stag, offset) + payload)


SET_UP = (command(0, flags=SYN) + command(1, flags=SYN) + command(0, mpa(False)) + command(1, mpa(True)))
SEND = command(0, untagged(3, 0, 1, bytes(40)))
READ = (command(1, untagged(1, 1, 1, struct.pack(">IQIIQ", 5, 64, 30, 7, 0))) + command(0, tagged(2, 5, 64, bytes(30))))
WRITE = command(1, tagged(0, 9, 0, bytes(20), last=False) + tagged(0, 9, 20, bytes(20)))
REPLY = command(1, untagged(4, 0, 1, bytes(20), last=False, stag=9) + untagged(4, 0, 1, bytes(20), 20, stag=9))
CLOSE = command(0, flags=FIN) + command(1, flags=FIN)
CASES = {
    "call": SET_UP + SEND + READ + WRITE + REPLY + CLOSE,
    "enhanced": command(0, flags=SYN) + command(1, flags=SYN)
    + command(0, mpa(False, 0x50, 2, bytes.fromhex("80108008")))
    + command(1, mpa(True, 0x50, 2, bytes.fromhex("80088010"))) + command(0, tagged(0, 1, 0, b"")) + SEND + REPLY,
    "markers": command(0, mpa(False, 0xC0)) + command(1, mpa(True, 0xC0))
    + command(0, bytes(4) + untagged(3, 0, 1, bytes(40))),
    "reject": command(0, mpa(False)) + command(1, mpa(True, 0x60)),
    "terminate": SET_UP + SEND + command(1, untagged(7, 2, 1, bytes.fromhex("01020000"))) + command(1, flags=RST),
    "middle": SEND + REPLY + WRITE + READ,
    "damaged": SET_UP + command(0, untagged(3, 0, 1, bytes(40), good=False)) + REPLY,
    "skip": SET_UP + SEND + command(0, flags=SKIP) + WRITE + REPLY,
    "other": SET_UP + command(0, untagged(8, 0, 1, bytes(8)) + untagged(10, 1, 1, bytes(52)))
    + command(1, untagged(11, 3, 1, bytes(12))),
}

if __name__ == "__main__":
    CORPUS.mkdir(parents=True, exist_ok=True)
    for name, data in CASES.items():
        (CORPUS / name).write_bytes(data)
