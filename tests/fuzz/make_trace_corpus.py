#!/usr/bin/env python3
"""Writes the corpora of the fuzzers of kernel traces: tracepoints, trace_text and trace_dat."""
import gzip
import os
import re
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
DEFINITIONS = os.path.join(HERE, "../../engine/kernel/tracepoints/include/rpcrdma/tracepoints")
CAPTURES = os.path.join(HERE, "../captures/kernel")


def names(file, pattern):
    with open(os.path.join(DEFINITIONS, file), encoding="ascii") as text:
        return re.findall(pattern, text.read())


EVENTS = names("events.def", r'RPCRDMA_TRACEPOINT\(\w+, "\w+", "(\w+)"')
FIELDS = names("fields.def", r'RPCRDMA_TRACEPOINT_FIELD\(\w+, "(\w+)"\)')
TEXTS = ["10.0.0.1", "20049", "nfs", "READ", "inline", "read list", "*read list", "nfs4_cb", "CB_COMPOUND", "nfsd",
         "COMPOUND", "[fe80::1]:20049", "", "RDMA_NOMSG"]


def write(corpus, name, data):
    folder = os.path.join(HERE, "corpus", corpus)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


def record(event, thread=0, text=False, **fields):
    """Encodes a record as fuzz_tracepoints.cc reads it."""
    data = bytearray([EVENTS.index(event), thread | (4 if text else 0), 1])
    last = max((FIELDS.index(name) for name in fields), default=-1)
    for name in FIELDS[:last + 1]:
        value = fields.get(name)
        if value is None:
            data.append(0xf0)
        elif isinstance(value, str):
            data.append(0xe0 | TEXTS.index(value))
        else:
            data.append(value)
    return bytes(data) + (b"\xff" if last + 1 < len(FIELDS) else b"")


def client_call(task, xid, error=None):
    who = {"task_id": task, "client_id": 0}
    segment = {"handle": 5 + task, "length": 16, "offset": task}
    data = record("rpc_request", 0, True, progname="nfs", version=3, procname="READ", **who)
    data += record("xprt_reserve", 0, xid=xid, **who)
    data += record("xprt_get_cong", 0, cong=0, cwnd=1, **who)
    data += record("xprtrdma_chunk_reply", 0, **who, **segment)
    data += record("xprtrdma_marshal", 0, True, xid=xid, hdrlen=0x1f, headlen=8, pagelen=0, taillen=0, rtype="inline",
                   **who)
    data += record("xprtrdma_post_send", 0, cq_id=1, completion_id=3, **who)
    data += record("xprtrdma_wc_receive", 1, cq_id=2, completion_id=4, status=0, received=0x1f)
    data += record("xprtrdma_reply", 1, xid=xid, credits=8, **who)
    if error:
        data += record(error, 1, xid=xid, min=1, max=2, **who)
    else:
        data += record("xprtrdma_mr_localinv", 1, mr_id=task, **who, **segment)
        data += record("xprtrdma_wc_li_done", 2, cq_id=1, completion_id=task, status=0)
        data += record("xprtrdma_decode_seg", 2, **segment)
    return data + record("rpc_stats_latency", 0, xid=xid, execute=3, **who)


def server_call(cid, xid):
    receive = {"cq_id": 4, "completion_id": cid}
    segment = {"handle": 7, "length": 16, "offset": 1, "segno": 0}
    data = record("svcrdma_wc_recv", 1, received=0x1f, **receive)
    data += record("svcrdma_decode_rseg", 3, position=4, **receive, **segment)
    data += record("svcrdma_decode_wseg", 3, **receive, **segment)
    data += record("svcrdma_decode_rqst", 3, xid=xid, vers=1, credits=8, proc=0, hdrlen=0x1f, **receive)
    data += record("svcrdma_post_read_chunk", 3, cq_id=3, completion_id=9)
    data += record("svcrdma_wc_read", 1, cq_id=3, completion_id=9, totalbytes=16)
    data += record("svc_process", 3, True, xid=xid, service="nfsd", vers=4, procedure="COMPOUND", addr="10.0.0.1")
    data += record("svc_xdr_sendto", 3, xid=xid, msg_len=16)
    data += record("svcrdma_post_write_chunk", 3, cq_id=3, completion_id=10)
    data += record("svcrdma_encode_wseg", 3, cq_id=3, completion_id=11, **segment)
    data += record("svcrdma_post_send", 3, cq_id=3, completion_id=12, inv_rkey=7)
    return data + record("svcrdma_wc_send", 1, cq_id=3, completion_id=12)


def connect():
    peer = {"addr": "10.0.0.1", "port": "20049"}
    data = record("rpc_clnt_new", 0, True, client_id=0, program="nfs", **peer)
    data += record("cq_alloc", 2, cq_id=1) + record("cq_alloc", 2, cq_id=2)
    return data + record("xprtrdma_connect", 2, True, rc=0, connect_status=1, **peer)


def make_tracepoints():
    write("tracepoints", "client.bin", connect() + client_call(1, 1) + client_call(2, 2, "xprtrdma_err_vers"))
    write("tracepoints", "server.bin", server_call(1, 1) + server_call(2, 2))
    write("tracepoints", "lost.bin", connect() + client_call(1, 1) + b"\xff\x05" + server_call(1, 1) + b"\xff\x01")
    write("tracepoints", "reverse.bin", connect() + client_call(1, 1) +
          record("xprtrdma_wc_receive", 1, cq_id=2, completion_id=5, status=0, received=20) +
          record("xprtrdma_cb_call", 1, True, xid=9, addr="10.0.0.1", port="20049") +
          record("xprtrdma_cb_reply", 2, xid=9) + record("xprtrdma_post_send", 2, task_id=0, client_id=9, cq_id=1))


def make_text():
    for side in ("client", "server"):
        with gzip.open(os.path.join(CAPTURES, f"k61-{side}.txt.gz"), "rb") as file:
            lines = [line for line in file.read().split(b"\n") if b"cq_" not in line and b"post_recv:" not in line]
        for part, first in (("begin", 0), ("middle", len(lines) // 2)):
            write("trace_text", f"{side}-{part}.txt", b"\n".join(lines[first:first + 70]) + b"\n")
    write("trace_text", "lost.txt", b"# tracer: nop\nCPU:2 [LOST 12 EVENTS]\nCPU:1 [EVENTS DROPPED]\n")


FORMAT = """name: xprt_reserve
ID: 7
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned int task_id;\toffset:8;\tsize:4;\tsigned:0;
\tfield:unsigned int client_id;\toffset:12;\tsize:4;\tsigned:0;
\tfield:u32 xid;\toffset:16;\tsize:4;\tsigned:0;

print fmt: "task:%08x@%08x xid=0x%08x", REC->task_id, REC->client_id, REC->xid
""".encode()
HEADER_PAGE = (b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
               b"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
               b"\tfield: char data;\toffset:16;\tsize:240;\tsigned:1;\n")
PAGE = 256


def page(order, lost=False):
    data = b""
    for n in range(5):
        head = 5 | 10 << 5 if order == "<" else 5 << 27 | 10
        data += struct.pack(order + "IHHiIII", head, 7, 0, 1, n, 0, 100 + n)
    commit = len(data) | (3 << 30 if lost else 0)
    data = struct.pack(order + "QQ", 1000, commit) + data + (struct.pack(order + "Q", 9) if lost else b"")
    return data.ljust(PAGE, b"\0")


def head(order, version):
    return b"\x17\x08\x44tracing" + version + b"\0" + struct.pack(order + "BBI", 1 if order == ">" else 0, 8, PAGE)


def info(order):
    return (b"header_page\0" + struct.pack(order + "Q", len(HEADER_PAGE)) + HEADER_PAGE + b"header_event\0" +
            struct.pack(order + "Q", 0))


def formats(order):
    return struct.pack(order + "I", 1) + b"sunrpc\0" + struct.pack(order + "IQ", 1, len(FORMAT)) + FORMAT


def version6(order):
    data = head(order, b"6") + info(order) + struct.pack(order + "I", 0) + formats(order)
    data += struct.pack(order + "IIQI", 0, 0, 0, 2) + b"options  \0"
    text = b"[mono]\0"
    data += struct.pack(order + "HI", 4, len(text)) + text + struct.pack(order + "H", 0) + b"flyrecord\0"
    at = len(data) + 32
    return data + struct.pack(order + "QQQQ", at, PAGE, at + PAGE, PAGE) + page(order) + page(order, True)


def version7(order):
    data = head(order, b"7") + b"none\0\0"
    options_at = len(data)
    data += bytes(8)
    places = []
    for number, content in ((16, info(order)), (18, formats(order)), (3, page(order))):
        places.append(len(data))
        data += struct.pack(order + "HHIQ", number, 0, 0, len(content)) + content
    buffer = struct.pack(order + "Q", places[2]) + b"\0mono\0" + struct.pack(order + "IIIQQ", PAGE, 1, 0, places[2] + 16,
                                                                             PAGE)
    options = b"".join(struct.pack(order + "HI", number, len(content)) + content for number, content in (
        (16, struct.pack(order + "Q", places[0])), (18, struct.pack(order + "Q", places[1])), (3, buffer), (0, bytes(8))))
    section = struct.pack(order + "HHIQ", 0, 0, 0, len(options)) + options
    return data[:options_at] + struct.pack(order + "Q", len(data)) + data[options_at + 8:] + section


def make_dat():
    for name, order in (("little", "<"), ("big", ">")):
        write("trace_dat", f"version6-{name}.bin", version6(order))
        write("trace_dat", f"version7-{name}.bin", version7(order))


make_tracepoints()
make_text()
make_dat()
