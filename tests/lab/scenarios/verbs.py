"""Our endpoints on the RDMA devices of two guests: every kind of Call, loss, a server killed and restarted."""
import re

from endpoints import LOAD, GuestServer, counted, need_verbs
from machines import check


def run(lab):
    need_verbs(lab)
    one, two = lab.boot(2)
    server = GuestServer(one, one.address)
    text = two.run("rpcrdma ping --provider verbs -c 1 --port 7 " + one.address, 30, status=1)
    check("rejected" in text, "expected a rejection:", text)
    text = two.run(f"rpcrdma ping --provider verbs -c 3 -i 50ms {one.address}", 30)
    check("3 sent, 3 answered" in text, "ping:", text)
    six = GuestServer(one, "fd77::1", "--port 20050")
    text = two.run("rpcrdma ping --provider verbs -c 3 -i 50ms --port 20050 fd77::1", 30)
    check("3 sent, 3 answered" in text, "ping over IPv6:", text)
    six.end()
    two.run(f"rpcrdma {LOAD} -c 500 --provider verbs {one.address}", 60)
    summary = server.end()
    check("503 Calls: 503 answered with success, 0 with an error" in summary, "the server's summary:", summary)
    counted(lab, 506)

    # With memory windows, which are not the default for this kind of device.
    windows = GuestServer(one, one.address, "--port 20051")
    two.run(f"rpcrdma {LOAD} -c 200 --handles windows --port 20051 --provider verbs {one.address}", 60)
    windows.end()
    connections = lab.analyze()["connections"]
    invalidation = [connection["client"]["private_data"]["remote_invalidation"] for connection in connections
                    if connection["port"] == 20051]
    check(invalidation == [True], "memory windows were not used:", invalidation)

    # Loss costs time, but no Call.
    server.start()
    two.run("modprobe sch_netem; tc qdisc add dev eth0 root netem loss 1%")
    text = two.run(f"rpcrdma {LOAD} -c 600 --provider verbs {one.address}", 120)
    two.run("tc qdisc del dev eth0 root")
    check(re.search(r"600 Calls in .*\n0 errors, 0 mismatches", text), "with loss:", text)
    check("1 connection was lost" not in text, "a connection was lost:", text)
    server.end()
    check(lab.analyze()["packets"]["retransmitted"] > 0, "no retransmissions despite loss")

    # The server is killed during Calls: the client reconnects, and resends Calls without a Reply.
    server.start()
    job = two.start(f"rpcrdma {LOAD} --rate 100 -c 1000 --provider verbs {one.address}")
    one.until(f"grep -q connected {server.name}.log")
    one.run("sleep 2")
    server.kill()
    server.start()
    status, text = two.wait(job, 90)
    check(status == 0, "the load failed:", text)
    check(re.search(r"1000 Calls in .*\n0 errors, 0 mismatches", text), "not every Call got a correct Reply:", text)
    check("connection 1: " in server.end(), "the client did not reconnect")
    lab.analyze()
