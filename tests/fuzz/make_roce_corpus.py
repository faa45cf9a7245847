#!/usr/bin/env python3
"""Writes the seeds of fuzz_roce, fuzz_cm and fuzz_icrc: some by hand, and one of every opcode and of every
MAD, cut out of the captures.

Usage: make_roce_corpus.py            (from any folder; writes next to itself)
"""
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
CAPTURES = HERE.parent / "captures"

NAMES = ("linux-nfs41", "linux-nfs3", "linux-non-rpc", "roce-icrc-oracle")
ETHERNET, IPV4, UDP, BTH, DETH, ICRC, MAD = 14, 20, 8, 12, 8, 4, 256
UD_SEND_ONLY = 0x64
MAX_SEED = 400  # bytes: longer seeds do not help a fuzzer

HEADERS = " 00 ffff 40 000012 80 000007 "
RETH = "0000000000000001 00000002 00000004 "
ICRC_BYTES = "01020304"
PACKETS = {
    "read-request": "0c" + HEADERS + RETH + ICRC_BYTES,
    "write-only-imm": "0b" + HEADERS + RETH + "0a0b0c0d 61626364" + ICRC_BYTES,
    "atomic-ack": "12" + HEADERS + "1f000003 0000000000000009" + ICRC_BYTES,
    "compare-swap": "13" + HEADERS + "0000000000000001 00000002 0000000000000003 0000000000000004"
    + ICRC_BYTES,
    "uc-write-first": "26" + HEADERS + RETH + "61626364" + ICRC_BYTES,
    "ud-imm": "65" + HEADERS + "80010000 00000001 0a0b0c0d" + ICRC_BYTES,
    "cnp": "81" + HEADERS + "00000000 00000000 00000000 00000000" + ICRC_BYTES,
    "nak": "11" + HEADERS + "62000003" + ICRC_BYTES,
    "unknown": "ac" + HEADERS + "61626364" + ICRC_BYTES,
    "pad-without-payload": "04 30 ffff 40 000012 80 000007" + ICRC_BYTES,
}

MAD_HEADER = "01070203 00000000 1122334455667788 "
MADS = {
    "mra": MAD_HEADER + "0011 0000 00000000 01020304 05060708 4098",
    "rej": MAD_HEADER + "0012 0000 00000000 01020304 05060708 8006 001c a1a2a3",
    "rej-info-too-long": MAD_HEADER + "0012 0000 00000000 01020304 05060708 80fe 001c a1a2a3",
    "sidr": MAD_HEADER + "0017",
}
IP_CM = {
    "ip-cm-v6": "0060 4e51 fe80000000000000505400fffe770002 fe80000000000000505400fffe770001",
}

GRH = "60297979 0014 1b 40 fe80000000000000505400fffe770002 fe80000000000000505400fffe770001"
ACK = "11 00 ffff 40 000012 00 000007 1f000003"
ICRCS = {  # kind, offset of the BTH, packet
    "ipv6": "01 0030" + GRH + "d872 12b7 001c abcd" + ACK,
    "roce-v1": "02 0028" + GRH + ACK,
    "native-grh": "03 0030 2303 0005 0011 0006" + GRH + ACK,
    "native": "04 0008 2302 0005 0007 0006" + ACK,
    "ipv4-options": "00 0020 46020034 b1714000 4011 73ab 0a4d0002 0a4d0001 01010101"
    "d872 12b7 001c abcd" + ACK,
    "ipv6-extension": "01 0080" + GRH + "00" * 80 + "d872 12b7 001c abcd" + ACK,
    "bth-beyond": "00 ffff" + GRH + ACK,
}


def ip_packets(path):
    data = path.read_bytes()
    at = 24
    while at + 16 <= len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        ip = data[at + 16 + ETHERNET : at + 16 + length]
        at += 16 + length
        if len(ip) >= IPV4 + UDP + BTH + ICRC and ip[0] == 0x45 and ip[9] == 17:
            if struct.unpack_from(">H", ip, 22) == (4791,):
                yield ip[: struct.unpack_from(">H", ip, 2)[0]]


def with_wire_length(packet):
    return struct.pack(">H", len(packet)) + packet


def cut_captures():
    packets, mads, icrcs = {}, {}, {}
    for name in NAMES:
        for ip in ip_packets(CAPTURES / f"{name}.pcap"):
            packet = ip[IPV4 + UDP :]
            opcode = f"opcode-{packet[0]:02x}"
            if packet[0] == UD_SEND_ONLY:
                mad = packet[BTH + DETH :][:MAD]
                mads.setdefault(f"attribute-{mad[17]:02x}", mad)
            packets.setdefault(opcode, with_wire_length(packet)[:MAX_SEED])
            if len(ip) < MAX_SEED:
                icrcs.setdefault(opcode, b"\0" + struct.pack(">H", IPV4 + UDP) + ip[:-ICRC])
    return packets, mads, icrcs


def write(corpus, seeds):
    folder = HERE / "corpus" / corpus
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (folder / f"{name}.bin").write_bytes(content)


def raw(texts):
    return {name: bytes.fromhex(text) for name, text in texts.items()}


def main():
    packets, mads, icrcs = cut_captures()
    by_hand = {name: with_wire_length(packet) for name, packet in raw(PACKETS).items()}
    cut_short = {"cut-short": by_hand["write-only-imm"][:-6]}
    write("roce", by_hand | cut_short | packets)
    write("cm", {name: mad.ljust(MAD, b"\0") for name, mad in raw(MADS).items()} | raw(IP_CM) | mads)
    write("icrc", raw(ICRCS) | icrcs)


if __name__ == "__main__":
    main()
