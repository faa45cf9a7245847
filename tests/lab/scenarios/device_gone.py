"""Removes the device of a server and of a load: both report it and exit; endpoints elsewhere continue."""
import re

from endpoints import GuestServer, need_verbs
from machines import check

GONE = "the device rxe0 is gone"


def run(lab):
    need_verbs(lab)
    one, two = lab.boot(2)
    server = GuestServer(one, one.address)
    job = two.start(f"rpcrdma load --procedure null --rate 50 -c 400 --timeout 60s --provider verbs {one.address}")
    one.until(f"grep -q connected {server.name}.log")
    one.run("rdma link del rxe0")
    one.until(f"! kill -0 $(cat {server.name}.pid)")
    text = one.run(f"cat {server.name}.log")
    check(f"error   {GONE}" in text and "connection 1: " in text, "the server:", text)
    one.run("rdma link add rxe0 type rxe netdev eth0")
    server.start()
    status, text = two.wait(job, 90)
    check(status == 0 and re.search(r"400 Calls in .*\n0 errors, 0 mismatches", text), "the load:", text)
    check("1 connection was lost" in text, "no connection was lost:", text)

    two.run(f"(rpcrdma load --procedure null --rate 50 -c 10000 --provider verbs {one.address} >load.log 2>&1; "
            "echo status $? >>load.log) &")
    one.until(f"grep -q 'connection 2: .*connected' {server.name}.log")
    two.run("rdma link del rxe0")
    two.until("grep -q status load.log")
    text = two.run("cat load.log")
    check(GONE in text and "status 0" not in text, "a load without a device:", text)
    two.run("rdma link add rxe0 type rxe netdev eth0")
    text = two.run(f"rpcrdma ping --provider verbs -c 3 -i 50ms {one.address}", 30)
    check("3 sent, 3 answered" in text, "ping:", text)
    server.end()
    lab.analyze()
