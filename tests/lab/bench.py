"""Measures Calls on the RDMA devices of two guests, alternating with perftest on the same devices."""
import json
import statistics

from endpoints import GuestServer, need_verbs

TURNS = 5
NULL_BYTES = 28 + 40  # length of a NULL Call's message
MIB = 1 << 20


def perftest(lab, command, column):
    """Returns a value from the table that perftest's client prints."""
    server, client = lab.guests
    job = server.start(f"{command} >/dev/null")
    text = client.run(f"for i in 1 2 3 4 5 6 7 8 9; do {command} {server.address} && exit; sleep 0.5; done; exit 1", 90)
    server.wait(job, 20)
    lines = [line.split() for line in text.splitlines()]
    table = next(i for i, words in enumerate(lines) if words and words[0] == "#bytes")
    return float(lines[table + 1][column])


def load(lab, *options):
    server, client = lab.guests
    return json.loads(client.run(f"rpcrdma load {server.address} --provider verbs --json {' '.join(options)} 2>/dev/null", 120))


def run(lab):
    need_verbs(lab)
    server, _ = lab.boot(2, mtu=4200)
    ours = {"null": [], "source": [], "sink": []}
    theirs = {"null": [], "source": [], "sink": []}
    for _ in range(TURNS):
        # ib_send_lat prints one-way latency; a Call takes a round trip.
        theirs["null"].append(2 * perftest(lab, f"ib_send_lat -d rxe0 -F -s {NULL_BYTES} -n 1000", 4))
        endpoint = GuestServer(server, server.address, "--busy-poll")
        ours["null"].append(load(lab, "--procedure null --busy-poll --count 1000")["latency_us"]["p50"])
        endpoint.end()
        theirs["source"].append(MIB * perftest(lab, f"ib_write_bw -d rxe0 -F -s {MIB} -n 60", 3))
        theirs["sink"].append(MIB * perftest(lab, f"ib_read_bw -d rxe0 -F -s {MIB} -n 60", 3))
        # A guest has one processor and a software device: polling takes processor time from the
        # device. (Here perftest can only poll.)
        endpoint = GuestServer(server, server.address)
        for procedure in ("source", "sink"):
            report = load(lab, f"--procedure {procedure} --size 1Mi --depth 8 --count 60")
            ours[procedure].append(report["bytes_per_second"])
        endpoint.end()
    ours, theirs = ({name: statistics.median(values) for name, values in of.items()} for of in (ours, theirs))
    print(f"NULL Call p50         {ours['null']:8.1f} us    ib_send_lat, there and back {theirs['null']:8.1f} us"
          f"    {ours['null'] / theirs['null']:.2f} times")
    for procedure, peer in (("source", "ib_write_bw"), ("sink", "ib_read_bw")):
        print(f"{procedure.upper():<6} of 1 MiB        {ours[procedure] / 1e6:8.1f} MB/s  {peer:<26}"
              f"  {theirs[procedure] / 1e6:8.1f} MB/s  {ours[procedure] / theirs[procedure]:.2f} times")
