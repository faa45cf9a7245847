"""iWARP, by the kernel's siw, on two kernels, each as client and as server: our endpoints, and Linux's NFS."""
import subprocess

import kernel
from endpoints import LOAD, GuestServer, need_verbs
from machines import Failed, check


def read_is_equal(lab, mounts):
    """The RDMA Writes of the packets carry the bytes of the file that each client read."""
    found = lab.folder / "extracted"
    found.mkdir()
    done = subprocess.run([lab.rpcrdma, "extract", "--kind", "write", "-d", found, lab.wire], capture_output=True,
                          text=True)
    if done.returncode:
        raise Failed(f"extract: {done.stderr}")
    big = b"rpcrdma\n" * 32768
    parts = [path.read_bytes() for path in found.iterdir()]
    total = sum(len(part) for part in parts if part and part == big[:len(part)])
    check(total >= mounts * len(big), f"{total} bytes of the file are in the packets")


def whole(report):
    """Every message was read, and nothing is missing."""
    check(report["packets"]["iwarp"] > 0 and report["packets"]["crc_bad"] == 0, "packets:", report["packets"])
    for connection in report["connections"]:
        check(connection["transport"] == "iwarp", "a connection is not iWARP:", connection)
        check(connection["forward"]["unmatched_replies"] == 0 and connection["malformed"] == 0, "connection:", connection)
        for side in ("client", "server"):
            counters = connection[side]["counters"]
            check(counters["lost_capture"] == 0 and counters["orphans"] == 0, side, "counters:", counters)


def ours(server, client):
    """Our endpoints: every kind of Call, each answered with the right bytes."""
    serve = GuestServer(server, server.address, "--port 20050")
    # siw may not see the first message of a connection. A ping that gets no answer is repeated.
    client.until(f"rpcrdma ping --provider verbs -c 1 --port 20050 {server.address}")
    text = client.run(f"rpcrdma {LOAD} -c 300 --port 20050 --provider verbs {server.address}", 60)
    check("0 errors, 0 mismatches" in text and "was lost" not in text, "load:", text)
    summary = serve.end()
    check("301 Calls: 301 answered with success, 0 with an error" in summary, "the server's summary:", summary)


def run(lab):
    need_verbs(lab)
    guests = lab.boot(2, kernels=["6.1", "6.12"], device="siw")
    ours(*guests)
    ours(*reversed(guests))
    kernel.prepare(guests)
    mounts = 0
    for client, server in (guests, reversed(guests)):
        for version in ("3", "4.2"):
            # siw may not see the first message of a connection. Linux sends it again after a minute.
            kernel.mount(client, server.address, version, seconds=400)
            kernel.use(client)
            kernel.unmount(client)
            mounts += 1
    whole(lab.analyze())
    read_is_equal(lab, mounts)
