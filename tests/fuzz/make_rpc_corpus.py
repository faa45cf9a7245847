#!/usr/bin/env python3
"""Writes the seeds of fuzz_header, fuzz_rpc, fuzz_private_data and fuzz_rdmaconfig: one of every
message by hand, and what a Linux client and server sent, cut out of the captures.

Usage: make_rpc_corpus.py            (from any folder; writes next to itself)
"""
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
CAPTURES = HERE.parent / "captures"

V1 = "11223344 00000001 00000020 "
V2 = "11223344 00000002 00000020 "
NO_LISTS = "00000000 00000000 00000000 "
READ = "00000001 00000070 000006c4 00008000 447f06edcc5ad000 "
READ_ZERO = "00000001 00000000 00000007 00003000 0000000000001000 "
WRITE_TWO = "00000001 00000002 0000000a 00001000 0000000100000000 0000000b 00000400 0000000200000000 "
WRITE_ONE = "00000001 00000001 0000000c 00000001 fffffffffffffffe "
CHUNK = "00000001 00000001 0000000d 00002000 0000000300000004 "
END = "00000000 "
ALL_LISTS = READ + READ + END + WRITE_TWO + WRITE_ONE + END + CHUNK

HEADERS = {
    "v1-msg-shortest": V1 + "00000000" + NO_LISTS,
    "v1-msg-all-lists": V1 + "00000000" + ALL_LISTS,
    "v1-nomsg-position-zero": V1 + "00000001" + READ_ZERO + END + END + END,
    "v1-nomsg-empty-reply-chunk": V1 + "00000001" + END + END + "00000001 00000000",
    "v1-msgp": V1 + "00000002 00001000 00000800" + NO_LISTS,
    "v1-done": V1 + "00000003",
    "v1-err-vers": V1 + "00000004 00000001 00000001 00000001",
    "v1-err-chunk": V1 + "00000004 00000002",
    "v1-bad-proc": V1 + "00000005",
    "v1-bad-marker": V1 + "00000000 00000002 00000000 00000000",
    "v1-count-overflow": V1 + "00000000" + END + "00000001 10000001" + CHUNK + END,
    "v2-msg": V2 + "00000000 00000000 000006c4" + READ + END + END + END,
    "v2-nomsg-all-lists": V2 + "00000001 00000001 0000000a" + ALL_LISTS,
    "v2-err-vers": V2 + "00000004 00000001 00000001 00000002",
    "v2-err-bad-xdr": V2 + "00000004 00000002",
    "v2-err-cant-reply": V2 + "00000004 00000003 00000001 00000002 00010000",
    "v2-err-inval-proc": V2 + "00000004 00000004",
    "v2-err-inval-option": V2 + "00000004 00000005",
    "v2-optional": V2 + "00000005 00000001 00000063 00000005 6162636465000000",
    "v3": "11223344 00000003 00000020 00000000" + NO_LISTS,
}

AUTH_SYS = "00000001 00000024 01020304 00000006 286e6f6e65290000 000003e8 00000064 00000002 00000004 00000018"
GSS = "00000006 00000018 00000001 00000000 00000007 00000003 00000003 61626300"
CALL = "11223344 00000000 00000002 000186a3 00000003 00000007 "
NONE = "00000000 00000000 "
ACCEPTED = "11223344 00000001 00000000 " + NONE
DENIED = "11223344 00000001 00000001 "

RPCS = {
    "call-none": CALL + NONE + NONE,
    "call-sys": CALL + AUTH_SYS + NONE,
    "call-gss": CALL + GSS + "00000006 00000003 61626300",
    "call-cred-too-long": CALL + "00000001 00000191",
    "call-rdmaconfig": "11223344 00000000 00000002 00018841 00000001 00000001"
    + NONE + NONE + "00001000 00000400 00000010",
    "reply-success": ACCEPTED + "00000000",
    "reply-prog-unavail": ACCEPTED + "00000001",
    "reply-prog-mismatch": ACCEPTED + "00000002 00000003 00000004",
    "reply-proc-unavail": ACCEPTED + "00000003",
    "reply-garbage-args": ACCEPTED + "00000004",
    "reply-system-err": ACCEPTED + "00000005",
    "reply-rpc-mismatch": DENIED + "00000000 00000002 00000002",
    "reply-auth-error": DENIED + "00000001 0000000d",
}

PRIVATE_DATA = {
    "client": "f6ab0e18 01 01 03 03",
    "server": "f6ab0e18 01 00 03 03",
    "limits": "f6ab0e18 01 fe 00 ff",
    "version-two": "f6ab0e18 02 00 03 03",
    "other-magic": "180eabf6 01 00 03 03",
    "short": "f6ab0e18 01",
}

RDMACONFIG = {
    "linux-sizes": "00001000 00001000 00000010",
    "least": "00000400 00000400 00000000",
    "short": "00001000 00000400",
}

UDP_PAYLOAD = 14 + 20 + 8  # Ethernet, IPv4 without options, UDP
BTH = 12
ICRC = 4
SEND_ONLY = 0x04
UD_SEND_ONLY = 0x64


def roce_packets(path):
    data = path.read_bytes()
    at = 24
    while at + 16 <= len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        frame = data[at + 16 : at + 16 + length]
        at += 16 + length
        if len(frame) > UDP_PAYLOAD + BTH + ICRC and frame[12:14] == b"\x08\x00" and frame[23] == 17:
            if struct.unpack_from(">H", frame, 36) == (4791,):
                yield frame[UDP_PAYLOAD], frame[UDP_PAYLOAD + BTH : -ICRC]


def header_length(send):
    """Returns the header length of a version 1 RDMA_MSG or RDMA_NOMSG of Linux; None for anything else."""
    def word(i):
        return struct.unpack_from(">I", send, i)[0]

    try:
        if word(4) != 1 or word(12) > 1:
            return None
        at = 16
        while word(at) == 1:
            at += 24
        at += 4
        while word(at) == 1:
            at += 8 + 16 * word(at + 4)
        at += 4
        at += 8 + 16 * word(at + 4) if word(at) == 1 else 4
        return at
    except struct.error:
        return None


def shape(send, length):
    """Returns the key of a seed: rdma_proc, header length, Call or Reply. One Send for each key is enough."""
    return send[12:16], length, send[length + 4 : length + 8]


def cut_captures():
    headers, rpcs, private_data = {}, {}, {}
    for name in ("linux-nfs41", "linux-nfs3", "linux-deleg"):
        seen = set()
        for opcode, payload in roce_packets(CAPTURES / f"{name}.pcap"):
            if opcode == UD_SEND_ONLY:
                magic = payload.find(bytes.fromhex("f6ab0e18"))
                if magic >= 0:
                    private_data.setdefault(f"{name}-{payload[magic + 5]}", payload[magic : magic + 20])
            length = header_length(payload) if opcode == SEND_ONLY else None
            if length is None or shape(payload, length) in seen:
                continue
            seen.add(shape(payload, length))
            seed = f"{name}-{len(seen)}"
            headers[seed] = payload[:length]
            if length < len(payload):
                rpcs[seed] = payload[length : length + 160]
    return headers, rpcs, private_data


def write(corpus, seeds):
    folder = HERE / "corpus" / corpus
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        raw = content if isinstance(content, bytes) else bytes.fromhex(content)
        (folder / f"{name}.bin").write_bytes(raw)


def main():
    headers, rpcs, private_data = cut_captures()
    write("header", HEADERS | headers)
    write("rpc", RPCS | rpcs)
    write("private_data", PRIVATE_DATA | private_data)
    write("rdmaconfig", RDMACONFIG)


if __name__ == "__main__":
    main()
