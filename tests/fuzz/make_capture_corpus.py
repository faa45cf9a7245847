#!/usr/bin/env python3
"""Writes the seeds of fuzz_capture_file and fuzz_link: a file of every format, byte order and
compression, and a frame of every link type, around packets cut out of the captures.

Usage: make_capture_corpus.py            (from any folder; writes next to itself; needs zstd, lz4)
"""
import bz2
import gzip
import lzma
import pathlib
import struct
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CAPTURES = HERE.parent / "captures"


def write(corpus, name, data):
    folder = HERE / "corpus" / corpus
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (name + ".bin")).write_bytes(data)


def frames(path, count):
    data = path.read_bytes()
    at = 24
    for _ in range(count):
        size = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16 : at + 16 + size]
        at += 16 + size


def pcap(order, magic, link, packets, head=16):
    out = struct.pack(order + "IHHIIII", magic, 2, 4, 0, 0, 65535, link)
    for i, p in enumerate(packets):
        out += struct.pack(order + "IIII", 1700000000 + i, i, len(p), len(p))
        out += bytes(head - 16) + p
    return out


def block(order, kind, body):
    body += bytes(-len(body) % 4)
    total = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + total + body + total


def option(order, code, value):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def padded(p):
    return p + bytes(-len(p) % 4)


def pcapng(order, packets, length=-1):
    out = block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, length))
    for tsresol in (6, 9, 0x94):
        options = option(order, 9, bytes([tsresol])) + option(order, 14, struct.pack(order + "q", -1))
        out += block(order, 1, struct.pack(order + "HHI", 1, 0, 128) + options)
    for i, p in enumerate(packets):
        drops = option(order, 4, struct.pack(order + "Q", 1)) if i == 0 else b""
        fields = struct.pack(order + "IIIII", i % 3, 1, i, len(p), len(p))
        out += block(order, 6, fields + padded(p) + drops)
    p = packets[0]
    out += block(order, 3, struct.pack(order + "I", len(p)) + p[:128])
    out += block(order, 2, struct.pack(order + "HHIIII", 1, 2, 1, 2, len(p), len(p)) + p)
    stats = option(order, 5, struct.pack(order + "Q", 3)) + option(order, 7, struct.pack(order + "Q", 4))
    out += block(order, 5, struct.pack(order + "III", 0, 1, 2) + stats)
    return out + block(order, 0x0BAD, b"unknown")


def erf(packets):
    out = struct.pack("<Q", 0) + struct.pack(">BBHHH", 48, 0, 24, 2, 0) + bytes(8)
    for i, p in enumerate(packets):
        extensions = bytes([0x85]) + bytes(7) + bytes([5]) + bytes(7) if i == 1 else b""
        pad = bytes(-(18 + len(extensions) + len(p)) % 8)
        size = 18 + len(extensions) + len(p) + len(pad)
        kind = 0x82 if extensions else 2
        out += struct.pack("<Q", (1700000000 + i) << 32 | i * 4295)
        out += struct.pack(">BBHHH", kind, 4 + i % 4, size, i % 2, len(p)) + extensions
        out += bytes(2) + p + pad
    return out


def snoop(packets):
    out = b"snoop\0\0\0" + struct.pack(">II", 2, 4)
    for i, p in enumerate(packets):
        body = padded(p)
        out += struct.pack(">IIIIII", len(p) + i, len(p), 24 + len(body), i, 1700000000 + i, i) + body
    return out


def files():
    some = list(frames(CAPTURES / "linux-nfs41.pcap", 6))
    little = pcap("<", 0xA1B2C3D4, 1, some)
    yield "pcap-little-us", little
    yield "pcap-big-us", pcap(">", 0xA1B2C3D4, 1, some)
    yield "pcap-little-ns", pcap("<", 0xA1B23C4D, 1, some)
    yield "pcap-big-ns", pcap(">", 0xA1B23C4D, 1, some)
    yield "pcap-modified", pcap("<", 0xA1B2CD34, 1, some, head=24)
    yield "pcap-version-2.2", little[:6] + b"\2" + little[7:]
    yield "pcap-version-2.3", little[:6] + b"\3" + little[7:]
    nano = pcap("<", 0xA1B23C4D, 1, some)
    for i in range(6):
        at = 24 + sum(16 + len(p) for p in some[:i]) + 4
        nano = nano[:at] + struct.pack("<I", 60000000 + i) + nano[at + 4 :]
    yield "pcap-nanoseconds-as-micro", little[:4] + nano[4:]
    yield "erf", erf(some)
    yield "erf-hole", erf(some)[:700] + bytes(50) + erf(some)[700:]
    yield "snoop", snoop(some)
    yield "snoop-cut", snoop(some)[:-5]
    yield "pcap-cut", little[:-7]
    hole = 24 + 16 + len(some[0])
    yield "pcap-hole", little[:hole] + b"\xff" * 50 + little[hole:]
    yield "pcapng-little", pcapng("<", some)
    yield "pcapng-sections", pcapng("<", some[:2]) + pcapng(">", some[2:4])
    yield "gzip", gzip.compress(little, mtime=0)
    yield "gzip-members", gzip.compress(little[:100], mtime=0) + gzip.compress(little[100:], mtime=0)
    zstd = subprocess.run(["zstd", "-q", "-c"], input=little, capture_output=True, check=True).stdout
    yield "zstd", zstd
    yield "zstd-cut", zstd[:-20]
    for name, packed in ("xz", lzma.compress(little)), ("bzip2", bz2.compress(little)):
        yield name, packed
        yield name + "-parts", packed + packed
        yield name + "-cut", packed[:-20]
    lz4 = subprocess.run(["lz4", "-q", "-c"], input=little, capture_output=True, check=True).stdout
    yield "lz4", lz4
    yield "lz4-cut", lz4[:-20]


def links():
    roce = next(f for f in frames(CAPTURES / "linux-nfs41.pcap", 400) if f[36:38] == b"\x12\xb7")
    ip = roce[14:]
    ib = ip[28:]
    ipv6 = bytes([0x60, 0, 0, 0]) + struct.pack(">H", len(ip) - 20) + b"\x11\x40" + bytes(32) + ip[20:]
    hops = struct.pack(">H", len(ip) - 12) + b"\x00\x40" + bytes(32) + b"\x11" + bytes(7)
    grh = bytes([0x60, 0, 0, 0]) + struct.pack(">H", len(ib)) + b"\x1b\x40" + bytes(32)
    lrh = bytes([0, 2, 0, 4]) + struct.pack(">H", (len(ib) + 8) // 4) + bytes([0, 5])
    lrh_grh = bytes([0, 3, 0, 4]) + struct.pack(">H", (len(ib) + 48) // 4) + bytes([0, 5])
    yield "ethernet", 1, roce
    yield "ethernet-vlan", 1, roce[:12] + bytes.fromhex("88a80001 81000002") + roce[12:]
    yield "ethernet-roce-v1", 1, roce[:12] + b"\x89\x15" + grh + ib
    yield "fragment", 1, roce[:20] + b"\x20\x00" + roce[22:]
    yield "raw-ipv4", 101, ip
    yield "raw-ipv6", 229, ipv6
    yield "ipv6-hop-by-hop", 229, bytes([0x60, 0, 0, 0]) + hops + ip[20:]
    yield "sll", 113, bytes(14) + b"\x08\x00" + ip
    yield "sll2", 276, b"\x08\x00" + bytes(18) + ip
    yield "erf-ethernet", 197, bytes(8) + b"\x82" + bytes(7) + bytes(8) + b"\0\0" + roce
    yield "erf-infiniband", 197, bytes(8) + b"\x15" + bytes(7) + lrh + ib
    yield "infiniband", 247, lrh + ib + b"\0\0"
    yield "infiniband-grh", 247, lrh_grh + grh + ib + b"\0\0"


for name, data in files():
    write("capture_file", name, data)
for name, link, data in links():
    write("link", name, struct.pack(">HB", link, 0) + data[:400])
