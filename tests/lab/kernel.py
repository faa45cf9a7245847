"""Linux's own NFS client and server as what a scenario observes: traffic between them, recorders in the guests,
and the comparison with the wire."""
import json
import os
import re
from pathlib import Path

from compare import BPF, TRACEPOINTS, decode, of_guest, same
from machines import Failed, Unavailable, check, libraries

EVENTS = ("rpcrdma", "sunrpc", "rdma_core")
BIG, ODD = "cbfdd5c784255d4998147db68f1ed158", "bb34fcc1ee84d4a7c5253fb35158c1ed"  # md5
NFS_VERSIONS = ("3", "4.0", "4.1", "4.2")


def together(guests, command, seconds=60):
    """Runs a command in all guests at the same time; fails unless it succeeds in each."""
    jobs = [(guest, guest.start(command)) for guest in guests]
    for guest, job in jobs:
        status, text = guest.wait(job, seconds)
        check(status == 0, f"guest {guest.number}: status {status}: {command}\n{text}")


def prepare(guests):
    """Starts the kernel's NFS server, with some files, and what its client needs."""
    together(guests, """knfsd
        yes rpcrdma | head -c 262144 >/export/big
        yes odd | head -c 5003 >/export/odd
        mkdir /export/dir
        for i in $(seq 1 100); do : >/export/dir/a_rather_long_file_name_number_$i; done
        modprobe -a rpcrdma nfsv3 nfsv4
        mkdir -p /mnt
        mount -t rpc_pipefs rpc /var/lib/nfs/rpc_pipefs""", 120)


def mount(guest, server, version, *options, seconds=120):
    """Mounts the server's /export at /mnt over RPC-over-RDMA."""
    options = ",".join([f"vers={version}", "proto=rdma", "port=20049", "rsize=65536", "wsize=65536", *options]
                       + (["nolock"] if version == "3" else []))
    guest.run(f"mount.nfs {server}:/export /mnt -o {options}", seconds)


USE = """cd /mnt
    ls dir | wc -l
    md5sum <big
    md5sum <odd
    yes w | dd of=w bs=32768 count=3 iflag=fullblock conv=fsync 2>/dev/null
    echo small >s; cat s; rm s
    wc -c <w; rm w"""


def used(text):
    check(text.split() == ["100", BIG, "-", ODD, "-", "small", "98304"], "files:", text)


def use(guest):
    """Uses /mnt with small and large arguments and results: all kinds of chunks."""
    used(guest.run(USE, 120))


def unmount(guest):
    guest.run("umount /mnt", 120)


def unanswered_requests(lab):
    """Says that the kernels' latest connection requests are not answered, if so. Linux 6.1 and 6.12 can come to this
    after lost packets and lost connections; no program of ours takes part in connecting."""
    report = lab.analyze(errors=None)
    latest = max(report["connections"], key=lambda c: c["first_frame"], default={})
    found = [f["text"] for f in report["findings"] if f["rule"] == "CONN-LOST" and "did not answer the REQ" in f["text"]]
    return found[-1] if found and latest.get("state") == "opening" else ""


class Load:
    """Uses a guest's /mnt over and over, until it is ended."""

    def __init__(self, guest):
        self.guest, self.log = guest, "/tmp/load.log"
        guest.run(f"""touch /tmp/load
            (while [ -e /tmp/load ]; do
                cd /mnt && ls dir && cat odd odd >/dev/null && dd if=big of=w bs=32768 count=2 conv=fsync && rm w && echo turn ||
                    echo failed
                echo 3 >/proc/sys/vm/drop_caches
                sleep 2 # the guest has more to do
            done; echo ended) >{self.log} 2>&1 &""")

    def turns(self, count, seconds=240):
        """Waits until it has used everything this many times more."""
        try:
            self.guest.run(f"""wanted=$(($(grep -c turn {self.log}) + {count}))
                until [ $(grep -c turn {self.log}) -ge $wanted ]; do sleep 0.1; done""", seconds)
        except Failed as failed:
            unanswered = unanswered_requests(self.guest.lab)
            raise Failed(f"{failed}\non the wire {unanswered}") if unanswered else failed

    def end(self, seconds=180):
        self.guest.run("rm /tmp/load")
        self.guest.until(f"grep -q ended {self.log}", seconds)
        text = self.guest.run(f"grep -v -e '^a_rather' -e turn -e ended {self.log} | head -20", status=None)
        check("failed" not in text, "the load:", text)


class TraceCmd:
    """`trace-cmd record` in a guest, as the kernel's maintainers ask for it."""

    def __init__(self, guest, name, kib=None, events=EVENTS):
        """`kib`: records in an instance of its own with a buffer of this size."""
        self.guest, self.name = guest, name
        wanted = " ".join(f"-e {event}" for event in events)
        folder, instance = "/sys/kernel/tracing", ""
        if kib:
            folder, instance = f"{folder}/instances/{name}", f"-B {name} -b {kib}"
        guest.run(f"cd /tmp; trace-cmd record -q -C mono {instance} {wanted} -o {name}.dat "
                  f">{name}.log 2>&1 & echo $! >/tmp/{name}.pid")
        # Its events are enabled before its reader starts; nothing is lost in between.
        guest.until(f"[ $(cat {folder}/tracing_on) = 1 ] && [ $(cat {folder}/events/{events[-1]}/enable) = 1 ] && "
                    f"p=$(cat /tmp/{name}.pid) && grep -q . /proc/$p/task/$p/children")

    def stall(self, on):
        """Stops or continues its reader, so that the kernel's ring overflows."""
        self.guest.run(f"p=$(cat /tmp/{self.name}.pid); kill -{'STOP' if on else 'CONT'} "
                       "$(cat /proc/$p/task/$p/children)")

    def interrupt(self):
        self.guest.run(f"kill -INT $(cat /tmp/{self.name}.pid)")

    def stop(self):
        """Ends it, and returns its file on the host."""
        self.interrupt()
        return self.ended()

    def ended(self):
        self.guest.until(f"! kill -0 $(cat /tmp/{self.name}.pid)", 180)
        self.guest.run(f"cp /tmp/{self.name}.dat /host/ && rm /tmp/{self.name}.dat", 120)
        return self.guest.files / f"{self.name}.dat"


def programs(rpcrdma):
    """Returns what to copy into the guests: `rpcrdma-kernel`. Skips the scenario if it was built without libbpf."""
    program = Path(rpcrdma).resolve().parent / "rpcrdma-kernel"
    if not os.access(program, os.X_OK) or not any("libbpf" in library for library in libraries(program)):
        raise Unavailable("there is no rpcrdma-kernel, or it was built without libbpf")
    return [f"{program}:bin/rpcrdma-kernel"]


class Endpoint:
    """`rpcrdma-kernel` in a guest: by BPF, or with --tracefs by tracepoints. It traces after ready()."""

    ENDED = re.compile(r"(\d+) events, (\d+) lost in the kernel, (\d+) lost to readers")

    def __init__(self, guest, name, *options, record=True):
        self.guest, self.name, self.text = guest, name, ""
        self.log, self.recording = f"/tmp/{name}.log", f"/tmp/{name}.pcapng" if record else None
        recorded = f"--record {self.recording}" if record else ""
        guest.run(f"rpcrdma-kernel --name {name} {recorded} {' '.join(options)} >{self.log} 2>&1 & "
                  f"echo $! >/tmp/{name}.pid")

    def ready(self, kind):
        """Waits until it traces; fails unless it does so by `kind`."""
        self.guest.until(f"grep -q 'tracing the' {self.log} || ! kill -0 $(cat /tmp/{self.name}.pid)", 180)
        self.text = self.guest.run(f"cat {self.log}")
        check(f"by {kind}" in self.text, f"{self.guest.kernel}: rpcrdma-kernel does not trace by {kind}:", self.text)
        return self

    def stall(self, on):
        """Stops or continues it, so that the kernel's ring overflows."""
        self.guest.run(f"kill -{'STOP' if on else 'CONT'} $(cat /tmp/{self.name}.pid)")

    def interrupt(self):
        self.guest.run(f"kill -INT $(cat /tmp/{self.name}.pid)", status=None)

    def stop(self):
        """Ends it; returns the recording on the host and the number of events lost in the kernel."""
        self.interrupt()
        return self.ended()

    def ended(self):
        """Waits for its end; returns the recording on the host and the number of events lost in the kernel."""
        self.guest.until(f"! kill -0 $(cat /tmp/{self.name}.pid)", 180)
        self.text = self.guest.run(f"cat {self.log}")
        counts = self.ENDED.search(self.text)
        check(counts, f"{self.guest.kernel}: rpcrdma-kernel:", self.text)
        if not self.recording:
            return None, int(counts[2])
        self.guest.run(f"cp {self.recording} /host/ && rm {self.recording}", 120)
        return self.guest.files / f"{self.name}.pcapng", int(counts[2])


class Watch:
    """What watches a guest: `rpcrdma-kernel` by BPF and by tracepoints, trace-cmd, and the wire."""

    def __init__(self, lab, guest, name, tracefs=True):
        self.lab, self.guest, self.name = lab, guest, f"{name}-{guest.kernel}"
        self.bpf = Endpoint(guest, f"{self.name}-bpf")
        self.tracefs = Endpoint(guest, f"{self.name}-tracefs", "--tracefs") if tracefs else None
        self.trace_cmd = None
        self.recordings = []  # kind of source, path, lost events

    def ready(self):
        self.bpf.ready("BPF")
        if self.tracefs:
            self.tracefs.ready("tracepoints")
        self.trace_cmd = TraceCmd(self.guest, self.name)

    def interrupt(self):
        for one in (self.bpf, self.tracefs, self.trace_cmd):
            if one:
                one.interrupt()

    def collect(self):
        self.recordings = [(TRACEPOINTS, self.trace_cmd.ended(), 0), (BPF, *self.bpf.ended())]
        if self.tracefs:
            self.recordings.append((TRACEPOINTS, *self.tracefs.ended()))

    def equals_wire(self, wire=None, missing=0, extra=0, partial=0):
        """Fails unless each recording has the guest's messages of the wire, and nothing else."""
        wire = of_guest(wire or decode(self.lab, self.guest.wire), self.guest)
        for source, path, lost in self.recordings:
            check(not lost, f"{path.name}: {lost} events lost")
            result = same(path.name, wire, decode(self.lab, path), source, missing, extra, partial)
            with open(self.lab.folder / "compared", "a") as file:
                print(json.dumps(result), file=file)


def watch(lab, guests, name):
    """Watches guests, from when this returns."""
    watches = [Watch(lab, guest, name) for guest in guests]
    for one in watches:
        one.ready()
    return watches


def stop(watches):
    for one in watches:
        one.interrupt()
    for one in watches:
        one.collect()
