#!/usr/bin/env python3
"""Writes the corpus of fuzz_channel: fuzz_channel.cc describes its commands."""

import pathlib

CORPUS = pathlib.Path(__file__).parent / "corpus" / "channel"
REQUESTER, RESPONDER, BOTH = 0, 1, 2
CALL, REPLY, NEITHER = 1, 2, 0  # type of the RPC message
MSG, NOMSG, DONE, ERROR = 10, 11, 13, 14  # rdma_proc modulo 5; none is a multiple of 3


def message(xid, proc, stream, more=b"", reads=(), chunks=(), reply=False, changes=b"\0", how=2):
    """`reads`: position / 4, handle, length / 40, offset; `chunks`: segments of handle, length / 20, offset."""
    out = bytes([1, len(reads)]) + b"".join(map(bytes, reads)) + bytes([len(chunks)])
    for chunk in chunks:
        out += bytes([len(chunk)]) + b"".join(map(bytes, chunk))
    proc = {(MSG, True): 15, (NOMSG, True): 21}.get((proc, reply), proc)
    return out + bytes([xid, 4, proc, stream + 4 * len(more)]) + more + changes + bytes([how])


def call(cookie, shape=0, length=0):
    return bytes([5, cookie, shape, length])


def returned(how=1, written=(), changes=b"", arrival=2):
    return bytes([2, how, *written, 4]) + changes + bytes([arrival])


def reply(which=0, shape=0, length=0):
    return bytes([6, which, shape, length])


DONE_OK = bytes([3, 0])
WITHDRAWN = bytes([4, 0])
LATER = bytes([7, 100])
AGAIN = bytes([8])
FILL = bytes(12)
BIG = 1 | 4 | 8  # one registered DDP-eligible item
RESULTS = 64  # two
LONG = 128
INVALIDATED = 200


def read_done(xid):
    return bytes([3, 0]) + bytes([0, 0, 0, xid, 0, 0, 0, 0])


CASES = {
    "inline": bytes([REQUESTER]) + call(0) + returned() + DONE_OK + call(0) + call(1) + returned(),
    "read-chunk": bytes([REQUESTER]) + call(0, BIG, 200) + returned() + WITHDRAWN * 2 + DONE_OK,
    "long-call": bytes([REQUESTER]) + call(0, 3, 100) + DONE_OK + returned() + WITHDRAWN * 3,
    "write-chunks": bytes([REQUESTER]) + call(0, RESULTS | 16, 110) + returned(1, (100, 3)) + WITHDRAWN * 4,
    "reply-chunk": bytes([REQUESTER]) + call(0, LONG) + returned(0) + WITHDRAWN * 3 + DONE_OK,
    "all-chunks": bytes([REQUESTER]) + call(0, LONG | RESULTS | BIG, 90) + returned(0, (9, 9)) + WITHDRAWN * 8,
    "invalidated": bytes([REQUESTER]) + call(0, BIG, 100) + returned(1, (), b"", INVALIDATED) + WITHDRAWN,
    "changed": bytes([REQUESTER]) + call(0, RESULTS, 0) + returned(65, (9, 9), bytes([2, 20, 1, 24, 255])) + WITHDRAWN * 5,
    "errors": bytes([REQUESTER]) + call(0) + message(0, ERROR, NEITHER) + call(1) + message(1, 19, NEITHER),
    "time-out": bytes([REQUESTER]) + call(0, 0) + call(1, 16) + LATER + AGAIN + returned() + call(2) + returned(),
    "full-queue": bytes([REQUESTER, 9, 4]) + call(0, BIG, 99) + bytes([9, 12, 9, 255]) + returned() + WITHDRAWN,
    "no-exposure": bytes([REQUESTER, 9, 1 + 8 + 32]) + call(0, LONG | RESULTS, 90) + bytes([9, 7]) + WITHDRAWN * 2,
    "lost": bytes([REQUESTER]) + call(0, RESULTS, 9) + returned(1, (1, 1)) + AGAIN + call(1, BIG, 200) + AGAIN + AGAIN,
    "serve": bytes([RESPONDER]) + message(130, MSG, CALL, FILL) + reply() + DONE_OK + message(131, MSG, CALL, FILL) * 3,
    "serve-reads": bytes([RESPONDER])
    + message(130, MSG, CALL, FILL, [(3, 1, 9, 0), (3, 2, 1, 0)])
    + DONE_OK * 2
    + reply()
    + DONE_OK,
    "serve-long": bytes([RESPONDER]) + message(130, NOMSG, NEITHER, b"", [(0, 1, 9, 0)]) + read_done(130) + reply(),
    "serve-writes": bytes([RESPONDER])
    + message(130, MSG, CALL, FILL, (), [[(1, 20, 0), (2, 20, 0)], [(3, 90, 0)]])
    + reply(0, 2 | 8, 80)
    + DONE_OK * 4,
    "serve-long-reply": bytes([RESPONDER])
    + message(130, MSG, CALL, FILL, (), [[(1, 255, 0), (2, 255, 0)]], True)
    + reply(0, 3 | 4, 200)
    + DONE_OK * 6,
    "serve-too-small": bytes([RESPONDER]) + message(130, MSG, CALL, FILL, (), [[(1, 1, 0)]]) + reply(0, BIG, 80),
    "over-credit": bytes([RESPONDER]) + message(130, MSG, CALL, FILL) * 2 + AGAIN + message(130, MSG, CALL, FILL),
    "slots": bytes([RESPONDER, 6, 255, 0, 0]) + message(130, MSG, CALL, FILL) * 12 + DONE_OK * 4,
    "refused": bytes([RESPONDER]) + message(130, 250, NEITHER) + message(131, 12, CALL) + DONE_OK * 2,
    "grants": bytes([RESPONDER, 11, 1]) + message(130, MSG, CALL, FILL) + reply() + bytes([11, 7]),
    "both": bytes([BOTH]) + call(0) + message(0, MSG, CALL, FILL) + returned() + reply() + message(9, DONE, NEITHER),
    "read-reply": bytes([9]) + call(0, LONG) + DONE_OK + message(0, MSG, REPLY, FILL, [(3, 1, 9, 0)])
    + DONE_OK * 3,
    "read-long-reply": bytes([9]) + call(0, LONG) + DONE_OK + message(0, NOMSG, NEITHER, b"", [(0, 1, 9, 0)])
    + DONE_OK * 3,
    "serve-read-reply": bytes([4]) + message(130, MSG, CALL, FILL) + reply(0, 3 | 8, 250) + DONE_OK
    + message(130, DONE, NEITHER) + WITHDRAWN * 3,
    "serve-late-done": bytes([4]) + message(130, MSG, CALL, FILL) + reply(0, 3, 250) + DONE_OK + bytes([7, 201]),
    "serve-padded": bytes([4]) + message(130, 2 + 60, CALL, FILL) + reply() + DONE_OK,
    "both-5666": bytes([5]) + call(0) + message(0, DONE, NEITHER) + message(0, MSG, REPLY, FILL, [(3, 1, 9, 0)]),
    "noise": bytes([BOTH, 0, 5]) + b"12345" + bytes([2, 10, 2, 1, 0, 10, 4, 0, 250]),
}

CORPUS.mkdir(exist_ok=True)
for name, data in CASES.items():
    (CORPUS / f"{name}.bin").write_bytes(data)
