#!/usr/bin/env python3
"""Writes the seeds of fuzz_pipeline: small captures, cut out of the large ones.

Usage: make_pipeline_corpus.py            (from anywhere; writes beside itself)
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
    # No set-up; the second of them has the server's packets only.
    "mid-connection": ("linux-nfs3", [*span(1209, 1226), *span(1345, 1367)]),
    "one-way": ("linux-nfs3", [120, *span(1211, 1217), 1221, 1225, 1366, 1378]),
    "reverse": ("linux-deleg", [*span(96, 110), *span(280, 302)]),
    "two-clients": ("linux-deleg", [*span(225, 240), *span(286, 296), *span(402, 418)]),
    "non-rpc": ("linux-non-rpc", [*span(1, 45)]),
    "no-set-up-no-rpc": ("roce-icrc-oracle", [*span(1, 12)]),
    # As if the capture had lost some, or had them in another order.
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


if __name__ == "__main__":
    main()
