#!/usr/bin/env python3
"""Writes the corpus of fuzz_call_check: handwritten Calls, and Calls of a Linux client from the
captures. Each follows the two bytes of limits that fuzz_call_check.cc describes.

Usage: make_call_check_corpus.py            (from any folder; writes next to itself)
"""
import make_rpc_corpus as rpc

LIMITS = bytes([64, 24])
MSG = rpc.V1 + "00000000"
NOMSG = rpc.V1 + "00000001"
CALL = "11223344 00000000 00000002 000186a3 00000003 00000007"
REPLY = "11223344 00000001 00000000"
WRITE_EMPTY = "00000001 00000000 "


def read(position, length, offset=0x1000, handle=7):
    return f"00000001 {position:08x} {handle:08x} {length:08x} {offset:016x} "


CALLS = {
    "short": MSG + rpc.NO_LISTS + CALL,
    "reply": MSG + rpc.NO_LISTS + REPLY,
    "another-xid": MSG + rpc.NO_LISTS + "11223345 00000000",
    "read": MSG + read(24, 5) + rpc.NO_LISTS + CALL,
    "read-segments": MSG + read(24, 8) + read(24, 1, 0x2000) + rpc.NO_LISTS + CALL,
    "reads": MSG + read(8, 5) + read(16, 4, 0x2000) + read(36, 4, 0x3000) + rpc.NO_LISTS + CALL,
    "overlap": MSG + read(8, 5) + read(12, 4, 0x2000) + rpc.NO_LISTS + CALL,
    "beyond": MSG + read(28, 5) + rpc.NO_LISTS + CALL,
    "wraps": MSG + read(24, 5, 0xFFFFFFFFFFFFFFFC) + rpc.NO_LISTS + CALL,
    "one-handle-twice": MSG + read(24, 8) + read(24, 8, 0x1004) + rpc.NO_LISTS + CALL,
    "writes": MSG + rpc.END + rpc.WRITE_TWO + WRITE_EMPTY + rpc.END + rpc.END + CALL,
    "all": MSG + read(24, 5) + rpc.END + rpc.WRITE_TWO + rpc.END + rpc.CHUNK + CALL,
    "reply-chunk": MSG + rpc.END + rpc.END + rpc.CHUNK + CALL,
    "reply-chunk-empty": MSG + rpc.END + rpc.END + "00000001 00000000" + CALL,
    "long": NOMSG + read(0, 64) + rpc.NO_LISTS,
    "long-reads": NOMSG + read(0, 64) + read(40, 9, 0x2000) + rpc.END + rpc.END + rpc.CHUNK,
    "long-without": NOMSG + rpc.NO_LISTS,
    "long-and-inline": NOMSG + read(0, 64) + rpc.NO_LISTS + CALL,
    "position-zero-and-inline": MSG + read(0, 64) + rpc.NO_LISTS + CALL,
    "msgp": rpc.V1 + "00000002 00001000 00000800" + rpc.NO_LISTS + CALL,
    "done": rpc.V1 + "00000003",
    "error": rpc.V1 + "00000004 00000002",
    "version-two": rpc.V2 + "00000000 00000000 00000000" + rpc.NO_LISTS + CALL,
    "version-nine": "11223344 00000009 00000020 00000000",
}


def linux_calls():
    seeds = {}
    for name in ("linux-nfs41", "linux-nfs3", "linux-deleg"):
        seen = set()
        for opcode, payload in rpc.roce_packets(rpc.CAPTURES / f"{name}.pcap"):
            length = rpc.header_length(payload) if opcode == rpc.SEND_ONLY else None
            if length is None or payload[length + 4 : length + 8] != b"\0\0\0\0":
                continue  # not a Call
            # A Read segment is as long as a Write chunk with one segment.
            shape = rpc.shape(payload, length), payload[16:20]
            if shape not in seen:
                seen.add(shape)
                seeds[f"{name}-{len(seen)}"] = LIMITS + payload
    return seeds


def main():
    calls = {name: LIMITS + bytes.fromhex(words) for name, words in CALLS.items()}
    few = {"few-segments": bytes([1, 24]) + calls["all"][2:]}
    short = {"few-bytes": bytes([64, 3]) + calls["reads"][2:]}
    rpc.write("call_check", calls | few | short | linux_calls())


if __name__ == "__main__":
    main()
