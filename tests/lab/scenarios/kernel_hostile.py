"""Hand-made invalid messages to the kernel's NFS server and client, seen by tracepoints and by BPF, on two kernels."""
import kernel
from compare import BPF, decode, of_guest, same
from machines import HOST, check
from raw_nfs import FSSTAT, Call
from raw_peer import ERR_CHUNK, ERR_VERS, ERROR, MSG, RawServer, words
from scenarios import bad_client


def files(rpcrdma):
    return kernel.programs(rpcrdma)


class BadServer:
    """Grants one credit, then none; answers each FSSTAT in another wrong way."""

    # Messages that the client drops, after which the proper Reply follows; then errors for the Call.
    DROPPED = (
        lambda call: words(call.xid, 1, 1),  # too short for a header
        lambda call: words(call.xid, 9, 1, MSG, 0, 0, 0) + call.rpc_reply(),
        lambda call: words(call.xid ^ 0xffff, 1, 1, MSG, 0, 0, 0) + call.rpc_reply(),  # no such Call
    )
    FAILED = (
        lambda call: words(call.xid, 1, 1, ERROR, ERR_CHUNK),
        lambda call: words(call.xid, 1, 1, ERROR, ERR_VERS, 2, 3),
        lambda call: words(call.xid, 1, 1, ERROR, 99),
        lambda call: words(call.xid, 1, 1, MSG, 1, 0, 7, 64, 0, 0, 0, 0, 0) + call.rpc_reply(),  # a Read list
    )

    def __init__(self):
        self.calls, self.credits, self.scripted = 0, 1, []

    def answer(self, message):
        call = Call(message)
        self.calls += 1
        if call.procedure == FSSTAT and self.scripted:
            wrong, ends = self.scripted.pop(0)
            return [wrong(call)] + ([] if ends else [call.reply(self.credits)])
        return [call.reply(self.credits)]


# Reasons of the errors that tracepoints name.
NAMED = ("the version is not supported", "the message type is invalid", "the header is invalid",
         "the message type is ignored", "the chunk is too small", "remote access error",
         "the Reply is shorter than a header", "the Reply has version 9", "the Reply matches no Call",
         "the header of the Reply is invalid", "the peer sent ERR_CHUNK", "the peer supports other versions only",
         "the peer sent an RDMA_ERROR with an unknown code")


def attack_client(lab, guest):
    own = BadServer()
    port = 20049 + guest.number
    server = RawServer(lab, port, own.answer)
    # mountd over TCP is this guest's own.
    guest.run(f"mount.nfs {HOST}:/export /mnt -o vers=3,proto=rdma,port={port},nolock,soft,"
              f"mountproto=tcp,mountaddr={guest.address}", 120)
    for credits in (1, 0, 1):
        own.credits = credits
        before = own.calls
        text = guest.run("for i in 1 2 3 4; do (for j in 1 2 3; do stat -f /mnt || echo failed; done) & done; wait", 120)
        check("failed" not in text, "stat -f:", text)
        check(own.calls - before >= 12, "Calls:", own.calls - before)
    own.scripted = [(wrong, False) for wrong in own.DROPPED]
    for _ in own.DROPPED:
        guest.run("stat -f /mnt", 120)
    check(not own.scripted, "some wrong messages were not sent")
    for wrong in own.FAILED:
        own.scripted = [(wrong, True)]
        # EIO, or the client sends the Call again, on a new connection.
        guest.run("stat -f /mnt", 120, status=None)
        check(not own.scripted, "a wrong message was not sent")
    guest.run("stat -f /mnt && umount /mnt", 120)
    server.stop()


def header_rules(lab, path):
    """Returns the rules on single messages that are broken, and by whom."""
    return {(finding["rule"], finding["role"]) for finding in lab.analyze(path, errors=None)["findings"]
            if finding["rule"].startswith(("HDR-", "DEP-", "RD-", "ERR-", "CALL-REFUSED"))}


def judge(lab, watch):
    name, own = watch.name, of_guest(decode(lab, watch.guest.wire), watch.guest)
    for source, path, lost in watch.recordings:
        check(not lost, f"{path.name}: {lost} events lost")
        seen = decode(lab, path)
        if source == BPF:
            same(path.name, own, seen, source)
            wire, found = header_rules(lab, watch.guest.wire), header_rules(lab, path)
            check(wire == found, f"{name}: rules broken on the wire {sorted(wire)}, by BPF {sorted(found)}")
        else:
            # What the kernel could not decode is not in the fields of its tracepoints.
            same(path.name, own, seen, source, missing=12, extra=8, partial=6)
            text = lab.host("decode", [lab.rpcrdma, "decode", path]).wait()
            unnamed = [reason for reason in NAMED if reason not in text]
            check(not unnamed, f"{path.name}: not named:", unnamed)


def run(lab):
    guests = lab.boot(2, kernels=["6.1", "6.12"], wires=True)
    kernel.prepare(guests)
    watches = kernel.watch(lab, guests, "hostile")
    for guest in guests:
        bad_client.provoke(lab, guest)
        attack_client(lab, guest)
    kernel.stop(watches)
    for watch in watches:
        judge(lab, watch)
