"""Guests under QEMU and programs of the host, on one bridge in the lab's own network namespace.

The lab has its own network and process namespaces: when its first process ends for any reason, the kernel
ends every process in them and removes bridge, taps and addresses.
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
KERNELS = ("6.1", "6.12")
HOST = "10.77.0.100"
HOST_TOO = "10.77.0.101"  # for a client on the server's machine
INSIDE = "RPCRDMA_LAB_IMAGE"  # set inside the namespaces, where packages cannot be downloaded


class Failed(Exception):
    """A failed check, with a message for a person."""


class Unavailable(Exception):
    """The lab, or a scenario, cannot run on this machine; this is not a failure of the project."""


def check(condition, *what):
    """Raises Failed with `what` unless the condition holds."""
    if not condition:
        raise Failed(" ".join(str(part) for part in what))


def address(number):
    """Returns the IPv4 address of a guest (1, 2)."""
    return f"10.77.0.{number}"


def enter_namespaces():
    """Restarts this program in its own namespaces, unless it already runs there."""
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
    """Returns the directory with the guests' kernels and the parts of their initramfs."""
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
    """Returns the shared libraries of a program of this machine, and the loader."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return re.findall(r"(/\S+) \(0x", text)


class Guest:
    """A guest with its shell on a serial line."""

    def __init__(self, lab, number, mtu, kernel, wires, options, rdma):
        self.lab, self.number, self.address, self.kernel = lab, number, address(number), kernel
        self.files = lab.folder / f"guest{number}"  # the guest's /host
        self.files.mkdir()
        self.console = lab.folder / f"guest{number}.console"
        self.log = open(lab.folder / f"guest{number}.log", "wb")
        self.text, self.ended, self.jobs = b"", False, 0
        self.news = threading.Condition()
        tap = f"tap{number}"
        ip("tuntap", "add", tap, "mode", "tap")
        ip("link", "set", tap, "mtu", str(mtu), "master", "lab", "up")
        # Offloads off: packets leave the guest as they are on the wire, with checksums.
        device = (f"virtio-net-pci,netdev=net,mac=52:54:00:77:00:{number:02x},host_mtu={mtu},csum=off,gso=off,"
                  "guest_csum=off,host_tso4=off,guest_tso4=off")
        # Checksum instructions are emulated bit by bit; without them, programs use faster tables. Flags can be
        # wrong in an interrupt after CMPXCHG16B (QEMU 7.2), which the kernel takes for a double fault.
        cpu = "max,-sse4.1,-sse4.2,-pclmulqdq,-cx16"
        command = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", cpu, "-smp", "1", "-m", "600",
                   "-display", "none", "-monitor", "none", "-no-reboot",
                   "-serial", f"file:{self.console}", "-serial", "stdio",
                   "-kernel", lab.image / f"vmlinuz-{kernel}", "-initrd", lab.initramfs(kernel),
                   "-append", f"console=ttyS0 panic=-1 no_timer_check quiet lab.guest={number} lab.mtu={mtu} "
                   f"lab.device={rdma}",
                   "-netdev", f"tap,id=net,ifname={tap},script=no,downscript=no,vnet_hdr=off", "-device", device,
                   "-virtfs", f"local,path={self.files},mount_tag=host,security_model=none"]
        # All packets of a scenario pass the first guest, unless the host talks to both.
        self.wire = lab.folder / f"wire{number}.pcap" if wires and number > 1 else lab.wire
        command += options
        if number == 1 or wires:
            command += ["-object", f"filter-dump,id=dump,netdev=net,file={self.wire},maxlen=9200"]
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
        """Starts a shell command; pass the result to wait()."""
        self.jobs += 1
        own = 'ip() { /bin/ip "$@"; }; tc() { /bin/tc "$@"; }'  # not busybox's built-ins
        line = f"(\n{own}\n{command}\n) </dev/null 2>&1; status=$?; echo; echo @{self.jobs} $status\n"
        try:
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # reported by wait()
        return self.jobs

    def wait(self, job, seconds):
        """Returns status and output of a started command; the status is None if it did not end in time."""
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
        """Returns the output of a command that must end in time with this status (None: any)."""
        begin = time.monotonic()
        got, text = self.wait(self.start(command), seconds)
        self.log.write(f"[{time.monotonic() - begin:.1f} s after {begin - self.lab.begin:.1f} s: {command[:200]}]\n".encode())
        if got is None:
            raise Failed(f"guest {self.number}: still running after {seconds} s: {command}\n{text}")
        if status is not None and got != status:
            raise Failed(f"guest {self.number}: status {got}: {command}\n{text}")
        return text

    def until(self, condition, seconds=30):
        """Repeats a command until its status is 0."""
        self.run(f"until {condition} >/dev/null 2>&1; do sleep 0.2; done", seconds)

    def state(self):
        """Returns what can be said of the guest after a failure: whether it answers, its kernel's last messages."""
        try:
            status, text = self.wait(self.start("dmesg | tail -3; tail -n 3 /root/*.log 2>/dev/null"), 5)
            answer = "it answers" if status is not None else "its shell is still busy, or does not answer"
        except Failed:
            answer, text = "it has ended", ""
        console = self.console.read_text(errors="replace").splitlines()[-12:] if self.console.exists() else []
        return "\n".join([f"guest {self.number}: {answer}", *console, *text.splitlines()])

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Lab:
    """The network, guests and host programs of one scenario; all end when it is left."""

    def __init__(self, name, rpcrdma, files=()):
        self.folder, self.begin = BUILD / name, time.monotonic()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.wire = self.folder / "wire.pcap"
        self.rpcrdma = str(Path(rpcrdma).resolve())  # programs run in the folder
        self.image = Path(os.environ[INSIDE])
        self.own = self.pack(files)
        self.environment = dict(os.environ, PATH=f"{Path(rpcrdma).resolve().parent}:{os.environ['PATH']}")
        self.guests, self.programs = [], []
        ip("link", "set", "lo", "up")
        ip("link", "add", "lab", "type", "bridge", "mcast_snooping", "0")
        ip("link", "set", "lab", "up")
        for own in (HOST, HOST_TOO):
            ip("address", "add", f"{own}/24", "dev", "lab")
        ip("address", "add", "fd77::100/64", "dev", "lab", "nodad")

    def pack(self, files):
        """Returns our part of the initramfs: init, our program with its libraries, FILES (SOURCE or SOURCE:TARGET)."""
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
        shutil.rmtree(tree)
        return packed

    def initramfs(self, kernel):
        """Returns the initramfs for a kernel: the image's programs and modules, and our part."""
        path = self.folder / f"initramfs-{kernel}"
        if not path.exists():
            parts = [(self.image / "programs").read_bytes(), (self.image / f"modules-{kernel}").read_bytes(), self.own]
            path.write_bytes(b"".join(part + bytes(-len(part) % 4) for part in parts))
        return path

    def boot(self, count=1, mtu=1500, seconds=120, kernels=(), wires=False, options=(), device="rxe"):
        """Boots guests 1 to COUNT, and waits for their RDMA devices. `kernels`: of each guest (KERNELS; default: 6.1).
        `wires`: captures the packets of each guest in a file of its own, not only the first guest's. `options`: more options of QEMU.
        `device`: the kernel's RDMA device, rxe (RoCE) or siw (iWARP)."""
        missing = self.image / f"no-{device}"
        if missing.exists():
            raise Unavailable(missing.read_text().splitlines()[-1])
        ip("link", "set", "lab", "mtu", str(mtu))
        kernels = [*kernels] + [KERNELS[0]] * (count - len(kernels))
        self.guests = [Guest(self, number, mtu, kernel, wires, options, device)
                       for number, kernel in enumerate(kernels, 1)]
        for guest in self.guests:
            guest.wait(0, seconds)
            if f"{device}0" not in guest.run("rdma link show"):
                raise Failed(f"guest {guest.number} has no RDMA device, see {guest.console}")
        self.unlink_initramfs()
        return self.guests

    def unlink_initramfs(self):
        for path in self.folder.glob("initramfs-*"):
            path.unlink()

    def host(self, name, command):
        """Starts a program on the host, on the guests' network (a list, or a shell command); output goes to a file."""
        program = Program(name, command, self.folder, self.environment)
        self.programs.append(program)
        return program

    def analyze(self, path=None, errors=()):
        """Returns the report on a capture or recording (the wire); fails unless exactly these rules have errors
        (None: any)."""
        path = path or self.wire
        analyzed = subprocess.run([self.rpcrdma, "analyze", "--json", "--all", path], capture_output=True, text=True)
        if analyzed.returncode not in (0, 1):
            raise Failed(f"analyze {path}: {analyzed.stderr}")
        report = json.loads(analyzed.stdout)
        found = {finding["rule"] for finding in report["findings"] if finding["severity"] == "error"}
        if errors is not None and found != set(errors):
            raise Failed(f"analyze {path}: errors of {sorted(found)}, expected {sorted(errors)}")
        if report["packets"]["icrc_bad"] or report["capture_quality"]["damaged"]:
            raise Failed(f"analyze {path}: damaged packets")
        return report

    def __enter__(self):
        return self

    def __exit__(self, kind, why, trace):
        if kind is not None and issubclass(kind, Failed):
            why.args = ("\n".join([str(why), *(guest.state() for guest in self.guests)]),)
        for program in self.programs:
            program.stop()
        for guest in self.guests:
            guest.stop()
        self.unlink_initramfs()
        subprocess.run(["ip", "link", "del", "lab"])
        for guest in self.guests:
            subprocess.run(["ip", "link", "del", f"tap{guest.number}"])


class Program:
    """A program on the host, and its output."""

    def __init__(self, name, command, folder, environment):
        self.name, self.path = name, folder / f"{name}.log"
        shell = isinstance(command, str)
        with open(self.path, "wb") as log:
            self.process = subprocess.Popen(command, shell=shell, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            cwd=folder, env=environment, start_new_session=True)

    def text(self):
        return self.path.read_text(errors="replace")

    def until(self, text, seconds=10):
        """Waits until it has printed this."""
        end = time.monotonic() + seconds
        while text not in self.text():
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed(f"{self.name} did not print '{text}':\n{self.text()}")
            time.sleep(0.05)

    def wait(self, seconds=30, status=0):
        """Returns its output; fails if it does not end in time with this status (None: any)."""
        try:
            got = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failed(f"{self.name} is still running after {seconds} s:\n{self.text()}") from None
        if status is not None and got != status:
            raise Failed(f"{self.name} ended with status {got}:\n{self.text()}")
        return self.text()

    def stop(self):
        """Stops it like Ctrl-C, and kills it if that has no effect."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
