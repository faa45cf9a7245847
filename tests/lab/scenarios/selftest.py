"""`rpcrdma selftest` on guests' RDMA devices: both halves in one guest, one half in each, and with loss."""
import re

from endpoints import GuestServer, need_verbs
from machines import check


def passed(text):
    """Returns the number of cells that passed; fails unless all did."""
    counted = re.search(r"^(\d+) cells in .*: (\d+) passed, 0 failed$", text, re.MULTILINE)
    check(counted and counted[1] == counted[2], "a cell failed:", text)
    return int(counted[1])


def run(lab):
    need_verbs(lab)
    one, two = lab.boot(2)
    # RFC 5666's lengths differ from RFC 8166's, by which the packets are judged.
    modern = "--only rfc8166,draft-01"
    server = GuestServer(one, one.address, command="selftest")
    cells = passed(two.run(f"rpcrdma selftest --provider verbs {modern} {one.address}", 200))
    lab.analyze()
    cells += passed(two.run(f"rpcrdma selftest --provider verbs --only rfc5666 {one.address}", 100))

    # Every lost packet costs a timeout.
    two.run("modprobe sch_netem; tc qdisc add dev eth0 root netem loss 1%")
    lossy = "--only v1-v1,v2-v2,rfc8166,both"
    cells += passed(two.run(f"rpcrdma selftest --provider verbs {lossy} {one.address}", 200))
    two.run("tc qdisc del dev eth0 root")
    summary = server.end()
    check(f"{cells} cells, 0 of them with errors" in summary, "the server's recordings:", summary)

    passed(one.run(f"rpcrdma selftest --provider verbs --listen {one.address} --from {one.address}", 200))
