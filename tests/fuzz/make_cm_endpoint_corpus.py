#!/usr/bin/env python3
"""Writes the seeds of fuzz_cm_endpoint: exchanges of two connection managers as its instructions.

Usage: make_cm_endpoint_corpus.py    (from any folder; writes next to itself)
"""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent

CONNECT, ACCEPT, REJECT, ESTABLISH, DATA, DISCONNECT = range(6)
SLEEP, NEXT_DEADLINE, DELIVER, DELIVER_COPY, LOSE, OVERTAKE, CHANGE, INVENT, UNLISTEN, DELIVER_ALL = range(6, 16)
B = 0x80  # of side B, or to it; else A
REQ, MRA, REJ, REP, RTU, DREQ, DREP = range(7)

REQUESTED = [CONNECT, 8, DELIVER_ALL]
REPLIED = REQUESTED + [ACCEPT | B, 0, 196, DELIVER_ALL]
CONNECTED = REPLIED + [ESTABLISH, 0, DELIVER_ALL]

SEEDS = {
    "connect-and-disconnect": CONNECTED + [DISCONNECT, 0, DELIVER_ALL],
    "passive-disconnects": CONNECTED + [DISCONNECT | B, 0, DELIVER_ALL],
    "both-disconnect": CONNECTED + [DISCONNECT, 0, DISCONNECT | B, 0, DELIVER_ALL],
    "rejected": REQUESTED + [REJECT | B, 0, 148, DELIVER_ALL],
    "not-listening": [UNLISTEN | B] + REQUESTED,
    "req-lost": [CONNECT, 56, LOSE | B, NEXT_DEADLINE, DELIVER_ALL],
    "req-twice-mra": REQUESTED + [NEXT_DEADLINE, DELIVER_ALL, SLEEP, 100, ACCEPT | B, 0, 0, DELIVER_ALL],
    "rep-lost": REQUESTED + [ACCEPT | B, 0, 0, LOSE, NEXT_DEADLINE, DELIVER_ALL],
    "rep-twice-mra": REPLIED + [NEXT_DEADLINE, DELIVER_ALL, ESTABLISH, 0, DELIVER_ALL],
    "rtu-lost-data": REPLIED + [ESTABLISH, 0, LOSE | B, DATA | B, 0],
    "rtu-lost-time": REPLIED + [ESTABLISH, 0, LOSE | B] + [NEXT_DEADLINE, DELIVER_COPY, DELIVER, LOSE | B] * 9,
    "given-up-requesting": [CONNECT, 0, DISCONNECT, 0, DELIVER_ALL],
    "given-up-replied": REPLIED + [DISCONNECT, 0, DELIVER_ALL],
    "changed-qpn": [CONNECT, 0, DELIVER_COPY | B, CHANGE | B, 1, 58, 9, DELIVER_ALL],
    "changed-guid": [CONNECT, 0, DELIVER_COPY | B, CHANGE | B, 1, 40, 9, DELIVER_ALL],
    "changed-ip-cm": [CONNECT, 0, CHANGE | B, 1, 165, 0x60, DELIVER_ALL],
    "changed-id-same-qpn": [CONNECT, 0, DELIVER_COPY | B, CHANGE | B, 1, 24, 9, DELIVER_ALL],
    "invented-mra": [CONNECT, 0, INVENT, MRA, 0, 0, 2, 0, 0xF8, DELIVER, SLEEP, 255],
    "invented-rej": CONNECTED + [INVENT, REJ, 0, 0, 4, 0x80, 0, 0, 4, DELIVER],
    "invented-dreq": CONNECTED + [INVENT, DREQ, 0, 0, 4, 0, 0, 2, 0, DELIVER],
    "invented-drep": CONNECTED + [DISCONNECT, 0, INVENT, DREP, 0, 0, 0, DELIVER],
    "too-many": [CONNECT, 0] * 10 + [DELIVER_ALL],
    "overtaken": [CONNECT, 0, CONNECT, 0, OVERTAKE | B, DELIVER_ALL],
}


def main():
    folder = HERE / "corpus" / "cm_endpoint"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in SEEDS.items():
        (folder / f"{name}.bin").write_bytes(bytes(content))


if __name__ == "__main__":
    main()
