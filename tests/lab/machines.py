"""Guests under QEMU and programs of the host, all on one bridge in a network namespace of the lab's own.

The lab runs in namespaces of its own for the network and for processes: when its first process ends, however
that is, the kernel ends every process in them and removes bridge, taps and addresses.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "lab"
HOST = "10.77.0.100"
HOST_TOO = "10.77.0.101"  # for a client beside a server
INSIDE = "RPCRDMA_LAB_IMAGE"  # set in the namespaces, where no package can be had


class Failed(Exception):
    """What a check found, for a person."""


class Unavailable(Exception):
    """The lab, or one of its scenarios, cannot run here; nothing is wrong with the project."""


def check(condition, *what):
    """Fails with `what`, unless the condition holds."""
    if not condition:
        raise Failed(" ".join(str(part) for part in what))


def address(number):
    """The IPv4 address of a guest (1, 2)."""
    return f"10.77.0.{number}"


def enter_namespaces():
    """Starts this program anew in namespaces of its own, unless that is done."""
    if os.environ.get(INSIDE):
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return
    os.environ[INSIDE] = str(make_image())
    unshare = ["unshare", "--net", "--pid", "--mount-proc", "--fork", "--kill-child"]
    if os.geteuid() != 0:
        unshare += ["--user", "--map-root-user"]
    trial = subprocess.run([*unshare, "sh", "-c", "ip link add lab type bridge && ip tuntap add tap mode tap"],
                           capture_output=True, text=True)
    if trial.returncode:
        raise Unavailable(f"no network namespace with a bridge and taps: {trial.stderr.strip()}")
    os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])


def make_image():
    """The folder with the guests' kernel and initramfs."""
    for program in ("qemu-system-x86_64", "ip", "cpio", "unshare"):
        if not shutil.which(program):
            raise Unavailable(f"{program} is not installed")
    made = subprocess.run([ROOT / "tests/lab/image"], stdout=subprocess.PIPE, text=True)
    if made.returncode == 77:
        raise Unavailable("no image of the guests")
    if made.returncode:
        raise Failed("tests/lab/image failed")
    return ROOT / made.stdout.strip()


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def libraries(program):
    """The shared libraries that a program of this machine is linked with, and the loader."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", text)


class Guest:
    """A guest with its shell on a serial line."""

    def __init__(self, lab, number, mtu):
        self.lab, self.number, self.address = lab, number, address(number)
        self.console = lab.folder / f"guest{number}.console"
        self.log = open(lab.folder / f"guest{number}.log", "wb")
        self.text, self.ended, self.jobs = b"", False, 0
        self.news = threading.Condition()
        tap = f"tap{number}"
        ip("tuntap", "add", tap, "mode", "tap")
        ip("link", "set", tap, "mtu", str(mtu), "master", "lab", "up")
        # Offloads off: what leaves the guest is what is on the wire, checksums and all.
        device = (f"virtio-net-pci,netdev=net,mac=52:54:00:77:00:{number:02x},host_mtu={mtu},csum=off,gso=off,"
                  "guest_csum=off,host_tso4=off,guest_tso4=off")
        # Instructions that make checksums fast are emulated bit by bit: without them programs use tables.
        cpu = "max,-sse4.1,-sse4.2,-pclmulqdq"
        command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", cpu, "-smp", "1", "-m", "600",
                   "-display", "none", "-monitor", "none", "-no-reboot",
                   "-serial", f"file:{self.console}", "-serial", "stdio",
                   "-kernel", lab.image / "vmlinuz", "-initrd", lab.initramfs,
                   "-append", f"console=ttyS0 panic=-1 quiet lab.guest={number} lab.mtu={mtu}",
                   "-netdev", f"tap,id=net,ifname={tap},script=no,downscript=no,vnet_hdr=off", "-device", device]
        if number == 1:  # every packet of a scenario passes the first guest
            command += ["-object", f"filter-dump,id=dump,netdev=net,file={lab.wire},maxlen=9200"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(lab.folder / f"guest{number}.qemu", "wb"))
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while data := os.read(self.process.stdout.fileno(), 65536):
            self.log.write(data)
            self.log.flush()
            with self.news:
                self.text += data
                self.news.notify_all()
        with self.news:
            self.ended = True
            self.news.notify_all()

    def start(self, command):
        """Begins a command for sh; for wait()."""
        self.jobs += 1
        own = 'ip() { /bin/ip "$@"; }; tc() { /bin/tc "$@"; }'  # not busybox's
        line = f"(\n{own}\n{command}\n) </dev/null 2>&1; status=$?; echo; echo @{self.jobs} $status\n"
        try:
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # wait() tells
        return self.jobs

    def wait(self, job, seconds):
        """Status and text of what was begun; None as the status when it has not ended in time."""
        end = re.compile(rb"\n@%d (\d+)\n" % job)
        with self.news:
            self.news.wait_for(lambda: self.ended or end.search(self.text), seconds)
            found = end.search(self.text)
            if not found:
                if self.ended:
                    raise Failed(f"guest {self.number} has ended, see {self.console}")
                return None, self.text.decode(errors="replace")
            text, self.text = self.text[:found.start()], self.text[found.end():]
            return int(found[1]), text.decode(errors="replace")

    def run(self, command, seconds=30, status=0):
        """The text of a command that has to end in time with this status (None: with any)."""
        got, text = self.wait(self.start(command), seconds)
        if got is None:
            raise Failed(f"guest {self.number}: not ended after {seconds} s: {command}\n{text}")
        if status is not None and got != status:
            raise Failed(f"guest {self.number}: status {got}: {command}\n{text}")
        return text

    def until(self, condition, seconds=30):
        """Waits until a command's status is 0."""
        self.run(f"until {condition} >/dev/null 2>&1; do sleep 0.2; done", seconds)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Lab:
    """The network, the guests and the host's programs of one scenario; leaving it ends them."""

    def __init__(self, name, rpcrdma, files=()):
        self.folder = BUILD / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.wire = self.folder / "wire.pcap"
        self.rpcrdma = str(rpcrdma)
        self.image = Path(os.environ[INSIDE])
        self.initramfs = self.folder / "initramfs"
        self.pack(files)
        self.environment = dict(os.environ, PATH=f"{Path(rpcrdma).resolve().parent}:{os.environ['PATH']}")
        self.guests, self.programs = [], []
        ip("link", "set", "lo", "up")
        ip("link", "add", "lab", "type", "bridge", "mcast_snooping", "0")
        ip("link", "set", "lab", "up")
        for own in (HOST, HOST_TOO):
            ip("address", "add", f"{own}/24", "dev", "lab")
        ip("address", "add", "fd77::100/64", "dev", "lab", "nodad")

    def pack(self, files):
        """The initramfs: the image's, then init, our program with its libraries, FILES (SOURCE or SOURCE:TARGET)."""
        tree = self.folder / "files"
        places = [(ROOT / "tests/lab/guest/init", "init"), (ROOT / "tests/lab/guest/knfsd", "bin/knfsd"),
                  (self.rpcrdma, "bin/rpcrdma")]
        places += [(source, (target or f"root/{Path(source).name}").lstrip("/"))
                   for source, _, target in (str(file).partition(":") for file in files)]
        for source, target in places:
            to = tree / target
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, to)
            for library in libraries(source):
                folder = tree / ("lib64" if "ld-linux" in library else "usr/lib/x86_64-linux-gnu")
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copy(library, folder)
        names = subprocess.run(["find", "."], cwd=tree, capture_output=True, check=True).stdout
        packed = subprocess.run(["cpio", "-o", "-H", "newc", "-R", "0:0", "--quiet"], cwd=tree, input=names,
                                capture_output=True, check=True).stdout
        image = (self.image / "initramfs").read_bytes()
        self.initramfs.write_bytes(image + bytes(-len(image) % 4) + packed)
        shutil.rmtree(tree)

    def boot(self, count=1, mtu=1500, seconds=120):
        """Boots guests 1 to COUNT, and waits until their RDMA devices are there."""
        ip("link", "set", "lab", "mtu", str(mtu))
        self.guests = [Guest(self, number, mtu) for number in range(1, count + 1)]
        for guest in self.guests:
            guest.wait(0, seconds)
            if "rxe0" not in guest.run("rdma link show"):
                raise Failed(f"guest {guest.number} has no RDMA device, see {guest.console}")
        self.initramfs.unlink()
        return self.guests

    def host(self, name, command):
        """Starts a program on the host, among the guests (a list, or a text for sh); its text goes to a file."""
        program = Program(name, command, self.folder, self.environment)
        self.programs.append(program)
        return program

    def analyze(self, path=None, errors=()):
        """The report on a capture or recording (the wire), which has findings of severity error of these rules only."""
        path = path or self.wire
        analyzed = subprocess.run([self.rpcrdma, "analyze", "--json", "--all", path], capture_output=True, text=True)
        if analyzed.returncode not in (0, 1):
            raise Failed(f"analyze {path}: {analyzed.stderr}")
        report = json.loads(analyzed.stdout)
        found = {finding["rule"] for finding in report["findings"] if finding["severity"] == "error"}
        if found != set(errors):
            raise Failed(f"analyze {path}: errors of {sorted(found)}, expected {sorted(errors)}")
        if report["packets"]["icrc_bad"] or report["capture_quality"]["damaged"]:
            raise Failed(f"analyze {path}: damaged packets")
        return report

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in self.programs:
            program.stop()
        for guest in self.guests:
            guest.stop()
        self.initramfs.unlink(missing_ok=True)
        subprocess.run(["ip", "link", "del", "lab"])
        for guest in self.guests:
            subprocess.run(["ip", "link", "del", f"tap{guest.number}"])


class Program:
    """A program on the host, and its text."""

    def __init__(self, name, command, folder, environment):
        self.name, self.path = name, folder / f"{name}.log"
        shell = isinstance(command, str)
        with open(self.path, "wb") as log:
            self.process = subprocess.Popen(command, shell=shell, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=folder, env=environment, start_new_session=True)

    def text(self):
        return self.path.read_text(errors="replace")

    def until(self, text, seconds=10):
        """Waits until it has said this."""
        end = time.monotonic() + seconds
        while text not in self.text():
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed(f"{self.name} did not say '{text}':\n{self.text()}")
            time.sleep(0.05)

    def wait(self, seconds=30, status=0):
        """Its text, after it has ended in time with this status (None: with any)."""
        try:
            got = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} has not ended after {seconds} s:\n{self.text()}") from None
        if status is not None and got != status:
            raise Failed(f"{self.name} ended with {got}:\n{self.text()}")
        return self.text()

    def stop(self):
        """Ends it as Ctrl-C does, and by force when that does nothing."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
