"""Checks the replies of the kernel's NFS server to invalid and to uncommon messages."""
import time

from machines import check
from raw_peer import (DONE, ERR_CHUNK, ERR_VERS, ERROR, MSG, MSGP, NOMSG, RawPeer, nfs4_read_call, null_call, null_reply,
                      words)

CREDITS = 64
NFS4ERR_FBIG = 27
NFS4ERR_GRACE = 10013


def header(xid, kind, *chunks, version=1):
    """Encodes a version 1 header, with the three chunk lists if they are given as bytes."""
    return words(xid, version, 32, kind) + (b"".join(chunks) or words(0, 0, 0))


def error_chunk(xid):
    return words(xid, 1, CREDITS, ERROR, ERR_CHUNK)


# Rules that the wire's report on provoke() names as errors.
ERRORS = {"CALL-REFUSED", "HDR-03", "DEP-01", "HDR-05", "HDR-06", "RD-02", "RD-12"}


def provoke(lab, guest):
    """Sends the messages, ends with a lost connection."""
    peer = RawPeer(lab, guest.address)
    check(peer.private_data[:8].hex() == "f6ab0e1801000303", "private data:", peer.private_data.hex())

    def answers(what, message, expected):
        got = peer.ask(message)
        check(got == expected, f"{what}: {got.hex()}, expected {expected.hex()}")

    # Errors that keep the connection open.
    answers("a version that is not 1", header(1, MSG, version=9) + null_call(1),
            # the caller's version in the version field, contrary to the RFC
            words(1, 9, CREDITS, ERROR, ERR_VERS, 1, 1))
    answers("RDMA_MSGP", header(2, MSGP, words(64, 4096, 0, 0, 0)) + null_call(2), error_chunk(2))
    answers("an unknown type", header(3, 9) + null_call(3), error_chunk(3))
    answers("a Read list that does not end", header(4, MSG, words(1, 0, 7, 64, 0, 0)), error_chunk(4))
    answers("Position 6", header(5, MSG, words(1, 6), peer.segment(0, 64), words(0, 0, 0)) + null_call(5),
            error_chunk(5))
    peer.put(0, bytes(64))
    answers("a Reply chunk of 8 bytes for 24", header(6, MSG, words(0, 0, 1, 1), peer.segment(0, 8)) + null_call(6),
            error_chunk(6))
    # Gets no answer.
    peer.send(words(7, 1, 32, DONE))
    peer.send(words(8, 1, 32, ERROR, ERR_CHUNK))
    # Uncommon but valid messages.
    answers("RDMA_MSG", header(9, MSG) + null_call(9), words(9, 1, CREDITS, MSG, 0, 0, 0) + null_reply(9))
    answers("an unused Write chunk",
            header(10, MSG, words(0, 1, 2), peer.segment(0, 1000), peer.segment(1000, 24), words(0, 0)) + null_call(10),
            words(10, 1, CREDITS, MSG, 0, 1, 2) + peer.segment(0, 0) + peer.segment(1000, 0) + words(0, 0) +
            null_reply(10))
    answers("a Reply chunk", header(11, MSG, words(0, 0), words(1, 2), peer.segment(0, 20), peer.segment(100, 20)) +
            null_call(11), words(11, 1, CREDITS, NOMSG, 0, 0, 1, 2) + peer.segment(0, 20) + peer.segment(100, 4))
    check(peer.get(0, 20) + peer.get(100, 4) == null_reply(11), "the Reply in the Reply chunk")
    check(peer.get(104, 16) == bytes(16), "the server wrote beyond the Reply")
    call = null_call(12)
    peer.put(200, call[:20])
    peer.put(300, call[20:])
    answers("a Position Zero Read chunk", header(12, NOMSG, words(1, 0), peer.segment(200, 20), words(1, 0),
                                                 peer.segment(300, 20), words(0, 0, 0)),
            words(12, 1, CREDITS, MSG, 0, 0, 0) + null_reply(12))
    # Reads a file of 1000 bytes into a Write chunk that is large enough.
    guest.run("yes rpcrdma | head -c 1000 >/export/file")
    peer.put(1000, bytes(1200))
    for xid in range(100, 160):
        reply = peer.ask(header(xid, MSG, words(0, 1, 2), peer.segment(1000, 600), peer.segment(1600, 600), words(0, 0)) +
                         nfs4_read_call(xid, "export/file", 1000))
        if not reply.endswith(words(NFS4ERR_GRACE)):
            break
        time.sleep(0.5)  # NFS does not announce the end of its grace period
    check(reply[:68] == words(xid, 1, CREDITS, MSG, 0, 1, 2) + peer.segment(1000, 600) + peer.segment(1600, 400) +
          words(0, 0), "READ by a Write chunk:", reply.hex())
    check(peer.get(1000, 1000) == (b"rpcrdma\n" * 125), "wrong file data")
    check(peer.get(2000, 200) == bytes(200), "the server wrote beyond the file data")
    # Into one that is too small: an NFS error, and nothing is written.
    peer.put(1000, bytes(1200))
    reply = peer.ask(header(14, MSG, words(0, 1, 2), peer.segment(1000, 600), peer.segment(1600, 396), words(0, 0)) +
                     nfs4_read_call(14, "export/file", 1000))
    check(reply[:68] == words(14, 1, CREDITS, MSG, 0, 1, 2) + peer.segment(1000, 0) + peer.segment(1600, 0) +
          words(0, 0), "a Write chunk that is too small:", reply.hex())
    check(reply.endswith(words(NFS4ERR_FBIG)), "READ by a Write chunk that is too small:", reply.hex())
    check(peer.get(1000, 1200) == bytes(1200), "the server wrote data")
    # An invalid handle: the server's RDMA Read fails, and with it the connection.
    peer.send(header(15, NOMSG, words(1, 0, 0xbad, 64, 0, 0, 0, 0, 0)))
    peer.line("disconnected")
    peer.close()


def run(lab):
    guest, = lab.boot()
    guest.run("knfsd")
    provoke(lab, guest)
    # Other connections are not affected.
    lab.host("ping", [lab.rpcrdma, "ping", "-c", "1", "--program", "nfs", guest.address]).wait()

    report = lab.analyze(errors=ERRORS)
    of_server = {finding["rule"]: finding["severity"] for finding in report["findings"] if finding["role"] == "server"}
    of_server.pop("SLOW-PEER", None)  # since the first READ waits for the guest's mountd
    check(not of_server, "findings about the server:", of_server)
    copied = [finding["severity"] for finding in report["findings"] if finding["rule"] == "ERR-04"]
    check(copied == ["note"], "ERR-04, that the server copies the version of what it refuses:", copied)
    # A client that advertises unregistered memory is itself at fault for the lost connection.
    lost = [finding["role"] for finding in report["findings"] if finding["rule"] == "CONN-LOST"]
    check(lost == ["client"], "CONN-LOST is attributed to", lost)
