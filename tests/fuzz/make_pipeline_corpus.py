#!/usr/bin/env python3
"""Writes the seeds of fuzz_pipeline: small captures, cut out of the large ones, and recordings.

Usage: make_pipeline_corpus.py            (from any folder; writes next to itself)
"""
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
CAPTURES = HERE.parent / "captures"
FILE_HEADER = 24
RECORD_HEADER = 16


def span(first, last):
    return range(first, last + 1)


# Name: capture, frames.
SEEDS = {
    # CM set-up, Calls without chunks, Reply chunks with Remote Invalidation.
    "set-up": ("linux-nfs41", [*span(57, 79)]),
    "write-chunk": ("linux-nfs41", [*span(57, 62), *span(479, 498)]),
    "read-chunk": ("linux-nfs41", [*span(57, 62), *span(811, 838)]),
    "tear-down": ("linux-nfs41", [*span(868, 881)]),
    "reply-chunk-segments": ("linux-nfs41", [*span(125, 136)]),
    "two-reads-at-once": ("linux-nfs41", [*span(499, 530), *span(640, 648)]),
    # Without set-up; the second one has only the server's packets.
    "mid-connection": ("linux-nfs3", [*span(1209, 1226), *span(1345, 1367)]),
    "one-way": ("linux-nfs3", [120, *span(1211, 1217), 1221, 1225, 1366, 1378]),
    "reverse": ("linux-deleg", [*span(96, 110), *span(280, 302)]),
    "two-clients": ("linux-deleg", [*span(225, 240), *span(286, 296), *span(402, 418)]),
    "non-rpc": ("linux-non-rpc", [*span(1, 45)]),
    "no-set-up-no-rpc": ("roce-icrc-oracle", [*span(1, 12)]),
    # Lost or reordered frames.
    "lost": ("linux-nfs41", [n for n in [*span(57, 62), *span(817, 838)] if n % 5 != 0]),
    "reordered": ("linux-nfs3", [n ^ 1 for n in span(1352, 1367)]),
    "again": ("linux-nfs3", [*span(1209, 1217), *span(1211, 1217)]),
}
CUT_TO = 400  # bytes kept of each frame of the seed "cut-short"


def records(path):
    data = path.read_bytes()
    at = FILE_HEADER
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at : at + RECORD_HEADER + size]
        at += RECORD_HEADER + size


def cut_short(record):
    kept = record[:RECORD_HEADER + CUT_TO]
    return kept[:8] + struct.pack("<I", len(kept) - RECORD_HEADER) + kept[12:]


# An endpoint's recording (engine/trace: event.h, upper_pdu.h).
TYPES = ["", "endpoint", "connection", "connection_end", "message", "operation", "operation_end", "expose",
         "withdraw", "receives", "credits", "credit_wait", "call", "call_end", "error", "fabric", "fault",
         "loss"]
STRUCTS = {
    "endpoint": "<HHIqq", "connection": "<16s16sIIHBBIIHBBBB6x", "connection_end": "<BBHI",
    "message": "<BBHIII", "operation": "<BBHIQIIQ", "operation_end": "<BBBBIQ", "expose": "<IIQIB3x",
    "withdraw": "<IB3x", "receives": "<II", "credits": "<B3xIIIII", "credit_wait": "<IB3x",
    "call": "<IIIIB7x", "call_end": "<IBBHqqqq", "error": "<IB3x", "fabric": "<BBBBIII", "fault": "<BBHI",
    "loss": "<QQ",
}
CONNECTION = 0x01000001
XID = 0x1234


def event(kind, *fields, tail=b"", ring=1, time=0, connection=CONNECTION):
    fixed = struct.pack(STRUCTS[kind], *fields)
    head = struct.pack("<HHIIIq", TYPES.index(kind), len(fixed), len(tail), connection, ring, time)
    return time, head + fixed + tail + bytes(-len(tail) % 8)


def words(*values):
    return struct.pack(f">{len(values)}I", *values)


def private_data():
    return words(0xF6AB0E18) + bytes([1, 1, 3, 3])


def recorded_exchange(first_time=0):
    """The events of a client for an NFSv3 WRITE with a Read chunk."""
    ipv4 = bytes(10) + b"\xff\xff"
    call = (words(XID, 1, 32, 0, 1, 68, 0x77, 4096, 0, 0x1000, 0, 0, 0)
            + words(XID, 0, 2, 100003, 3, 7, 0, 0, 0, 0) + words(4) + b"file" + bytes(8)
            + words(4096, 2, 4096))
    reply = words(XID, 1, 16, 0, 0, 0, 0) + words(XID, 1, 0, 0, 0, 0, 0, 0, 0, 4096, 2, 0, 0)
    events = [
        ("receives", 32, 32),
        ("call", XID, 100003, 3, 7, 0),
        ("credit_wait", XID, 1),
        ("credit_wait", XID, 0),
        ("expose", 0x77, 4096, 0x1000, XID, 1),
        ("message", 0, 0, 0, len(call), 0, 0, call),
        ("credits", 0, 32, 16, 1, 0, 0),
        ("operation", 1, 1, 0, 0x77, 0x1000, 4096, XID, 9),
        ("fabric", 2, 1, 0, 0, 77, 1, 0),
        ("operation_end", 1, 1, 0, 0, 4096, 9, bytes(64)),
        ("operation", 2, 1, 0, 0x77, 0x1000, 4096, 0, 10, bytes(16)),
        ("message", 1, 1, 0, len(reply), 0x77, 0, reply),
        ("withdraw", 0x77, 1),
        ("call_end", XID, 0, 0, 1, 1000, 2000, 8000, 9000),
        ("fault", 1, 1, 0, 3, b"drop op=send"),
        ("error", XID, 1, b"a Reply without its Call"),
        ("connection_end", 1, 1, 0, 0, b"disconnected"),
        ("loss", 24, 5),
    ]
    time = first_time
    yield event("endpoint", 1, 4, 42, 10**18 + time, 10**18, tail=b"nfsdclient", ring=0, time=time,
                connection=0)
    data = private_data()
    yield event("connection", ipv4 + bytes([192, 0, 2, 1]), ipv4 + bytes([192, 0, 2, 2]), 17, 18, 20049, 1, 1,
                4096, 4096, len(data), 16, 16, 1, 0, tail=2 * data, time=time)
    for kind, *fields in events:
        time += 1000
        tail = fields.pop() if isinstance(fields[-1], bytes) else b""
        yield event(kind, *fields, tail=tail, time=time, connection=0 if kind == "loss" else CONNECTION)


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def pcapng(events):
    tags = struct.pack(">HH16sI", 12, 16, b"rpcrdma_scope", 0)
    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack("<HHIHHB3xHH", 252, 0, 0, 9, 1, 9, 0, 0))
    for time, data in events:
        wall = 10**18 + time
        data = tags + data
        out += block(6, struct.pack("<IIIII", 0, wall >> 32, wall & 0xFFFFFFFF, len(data), len(data)) + data)
    return out


def recordings():
    whole = list(recorded_exchange())
    yield "recorded", pcapng(whole)
    yield "recorded-anew", pcapng(whole[:12] + list(recorded_exchange(50000)))
    yield "recorded-late", pcapng(whole[1:])
    yield "recorded-lossy", pcapng([e for n, e in enumerate(whole) if n % 5 != 3])
    yield "recorded-cut", pcapng(whole)[:-150]


def main():
    folder = HERE / "corpus" / "pipeline"
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for name, (capture, frames) in SEEDS.items():
        path = CAPTURES / f"{capture}.pcap"
        all_records = list(records(path))
        files[name] = (path.read_bytes()[:FILE_HEADER], [all_records[n - 1] for n in frames])
    header, kept = files["read-chunk"]
    files["cut-short"] = (header, [cut_short(r) for r in kept])
    for name, (header, kept) in files.items():
        (folder / f"{name}.bin").write_bytes(header + b"".join(kept))
    for name, recording in recordings():
        (folder / f"{name}.bin").write_bytes(recording)


if __name__ == "__main__":
    main()
