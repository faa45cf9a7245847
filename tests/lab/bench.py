"""Measures Calls on the RDMA devices of two guests, alternating with perftest on the same devices, and with an older
program of ours if there is one."""
import json
import statistics

from endpoints import GuestServer, need_verbs
from machines import check

TURNS = 3
NULL_BYTES = 28 + 40  # length of a NULL Call's message
NULL_CALLS = 1000
KIB, MIB = 1 << 10, 1 << 20
SIZES = {4 * KIB: 300, 64 * KIB: 100, MIB: 32}  # with the number of transfers
DEPTHS = (1, 4, 16)
PEERS = {"source": "ib_write_bw", "sink": "ib_read_bw"}
OLD = "/root/old"  # the older program, in the guests
COUNTS = ("send_posts", "send_requests", "signaled", "receive_posts", "completions", "notifications", "registrations")


def perftest(lab, command, column):
    """Returns a value from the table that perftest's client prints."""
    server, client = lab.guests
    job = server.start(f"{command} >/dev/null")
    text = client.run(f"for i in 1 2 3 4 5 6 7 8 9; do {command} {server.address} && exit; sleep 0.5; done; exit 1", 90)
    server.wait(job, 20)
    lines = [line.split() for line in text.splitlines()]
    table = next(i for i, words in enumerate(lines) if words and words[0] == "#bytes")
    return float(lines[table + 1][column])


class Program:
    """One of our programs in the guests, with its server, and what was measured of it."""

    def __init__(self, lab, name, port):
        self.lab, self.name, self.port = lab, name, port
        self.null, self.rates, self.counts = [], {}, {}

    def serve(self, *options):
        server, _ = self.lab.guests
        return GuestServer(server, server.address, f"--port {self.port}", *options, program=self.name)

    def load(self, row, *options):
        server, client = self.lab.guests
        report = json.loads(client.run(f"{self.name} load {server.address} --port {self.port} --provider verbs --json "
                                       f"{' '.join(options)} 2>/dev/null", 180))
        self.note(row, report.get("device_work"), report["calls"])
        return report

    def note(self, row, work, calls):
        """Keeps what a Call asked of the device; an older program does not report it."""
        self.counts[row] = {name: work[name] / calls for name in COUNTS} if work else {}

    def measure_null(self):
        endpoint = self.serve("--busy-poll", "--json")
        self.null.append(self.load("null", f"--procedure null --busy-poll --count {NULL_CALLS}")["latency_us"]["p50"])
        summary = json.loads(endpoint.end().splitlines()[-1])
        self.note("null, server", summary.get("device_work"), summary["calls"])

    def measure_rate(self, row):
        procedure, size, depth = row
        report = self.load(row, f"--procedure {procedure} --size {size} --depth {depth} --count {SIZES[size]}")
        self.rates.setdefault(row, []).append(report["bytes_per_second"])


def name_of(row):
    """Returns what chooses a row: "source/64/4" for 64 KiB and 4 Calls in flight."""
    return row if isinstance(row, str) else f"{row[0]}/{row[1] // KIB}/{row[2]}"


def measure(lab, programs, rows):
    """Returns perftest's values by row: the time there and back, and bytes per second."""
    theirs = {}
    for _ in range(TURNS):
        if "null" in rows:
            # ib_send_lat prints one-way latency; a Call takes a round trip.
            latency = 2 * perftest(lab, f"ib_send_lat -d rxe0 -F -s {NULL_BYTES} -n {NULL_CALLS}", 4)
            theirs.setdefault("null", []).append(latency)
            for program in programs:
                program.measure_null()
        if rows == ["null"]:
            continue
        # A guest has one processor and a software device: polling takes processor time from the
        # device. (Here perftest can only poll.)
        endpoints = [program.serve() for program in programs]
        for row in rows:
            if row == "null":
                continue
            procedure, size, depth = row
            command = f"{PEERS[procedure]} -d rxe0 -F -s {size} -t {depth} -n {SIZES[size]}"
            theirs.setdefault(row, []).append(MIB * perftest(lab, command, 3))
            for program in programs:
                program.measure_rate(row)
        for endpoint in endpoints:
            endpoint.end()
    return theirs


def against(ours, theirs):
    """The median of the ratios of the same turns, and all of them."""
    ratios = [own / other for own, other in zip(ours, theirs)]
    return f"{statistics.median(ratios):5.2f} times ({', '.join(f'{ratio:.2f}' for ratio in ratios)})"


def show(program, theirs):
    for row, others in theirs.items():
        if row == "null":
            print(f"{'null, p50':<16} {statistics.median(program.null):8.1f} us    {'ib_send_lat':<11} "
                  f"{statistics.median(others):8.1f} us    {against(program.null, others)}")
            continue
        rates = program.rates[row]
        print(f"{name_of(row):<16} {statistics.median(rates) / 1e6:8.2f} MB/s  {PEERS[row[0]]:<11} "
              f"{statistics.median(others) / 1e6:8.2f} MB/s  {against(rates, others)}")
    counted = {row: counts for row, counts in program.counts.items() if counts}
    if counted:
        print(f"{'per Call':<16}" + "".join(f"{name:>17}" for name in COUNTS))
    for row, counts in counted.items():
        print(f"{name_of(row):<16}" + "".join(f"{counts[count]:17.2f}" for count in COUNTS))


def run(lab, old=None, wanted=()):
    need_verbs(lab)
    rows = ["null", *((procedure, size, depth) for procedure in PEERS for size in SIZES for depth in DEPTHS)]
    if wanted:
        rows = [row for row in rows if any(name_of(row).startswith(name) for name in wanted)]
    check(rows, "no such row:", *wanted)
    lab.boot(2, mtu=4200)
    programs = [Program(lab, "rpcrdma", 20049)]
    if old:
        programs.append(Program(lab, OLD, 20050))
    theirs = measure(lab, programs, rows)
    for program in programs:
        if old:
            print("this program" if program is programs[0] else old)
        show(program, theirs)
    if not old:
        return
    new, before = programs
    print("this program by the other one")
    if new.null:
        print(f"{'null, p50':<16} {against(new.null, before.null)}")
    for row, rates in new.rates.items():
        print(f"{name_of(row):<16} {against(rates, before.rates[row])}")
