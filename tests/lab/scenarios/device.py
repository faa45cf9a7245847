"""Other users of a device: rping and perftest between two guests, which must not be taken for RPC-over-RDMA."""
from machines import check


def again_and_again(command, seconds):
    """A client that connects before its server listens fails at once. With rdma_cm perftest connects twice, so
    its server can be left waiting for a client that has exited."""
    tries = " ".join(str(i) for i in range(30))
    return f"for i in {tries}; do timeout {seconds} {command} && exit; sleep 0.5; done; exit 1"


def run(lab):
    server, client = lab.boot(2)
    for name, serve, ask in (
            ("rping", f"rping -s -a {server.address} -C 5 -S 500", f"rping -c -a {server.address} -C 5 -S 500"),
            ("ib_send_lat", "ib_send_lat -d rxe0 -n 20 -s 300 -F",
             f"ib_send_lat -d rxe0 -n 20 -s 300 -F {server.address}"),
            ("ib_write_bw", "ib_write_bw -R -n 10 -s 10000 -F", f"ib_write_bw -R -n 10 -s 10000 -F {server.address}"),
            ("ib_read_bw", "ib_read_bw -R -n 10 -s 10000 -F", f"ib_read_bw -R -n 10 -s 10000 -F {server.address}")):
        job = server.start(again_and_again(serve, 12))
        client.run(again_and_again(ask, 6), 60)
        status, text = server.wait(job, 20)
        check(status is not None, name, "is still running at the server:", text)
    report = lab.analyze()
    check(report["packets"]["roce"] > 100, "few packets:", report["packets"]["roce"])
    check(report["messages"]["call"] == 0, "unexpected messages:", report["messages"])
