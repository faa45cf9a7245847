"""Runs our server and load in guests, on their RDMA devices."""
from machines import Unavailable, check, libraries

LOAD = "load --procedure mix --size 0-64Ki --depth 4 --seed 3 --fail-above errors=0,mismatches=0"


def need_verbs(lab):
    """Skips the scenario if our program was built without rdma-core."""
    if not any("librdmacm" in library for library in libraries(lab.rpcrdma)):
        raise Unavailable("rpcrdma was built without rdma-core")


class GuestServer:
    """`rpcrdma serve`, or another listening command, in a guest, on the guest's device."""

    def __init__(self, guest, listen, *options, command="serve", program="rpcrdma"):
        self.guest, self.name = guest, f"/root/{command}-{program.replace('/', '-')}-{listen}"
        self.command = f"{program} {command} --provider verbs --listen {listen} {' '.join(options)}"
        self.start()

    def start(self):
        self.guest.run(f"{self.command} >{self.name}.log 2>&1 & echo $! >{self.name}.pid")
        self.guest.until(f"grep -q listening {self.name}.log || ! kill -0 $(cat {self.name}.pid)")
        text = self.guest.run(f"cat {self.name}.log")
        check("listening" in text, "the server in the guest has ended:", text)

    def kill(self):
        """Kills it like a crash; the kernel has its resources back when this returns."""
        self.guest.run(f"kill -9 $(cat {self.name}.pid)")
        self.guest.until(f"! kill -0 $(cat {self.name}.pid)")

    def end(self):
        """Stops it and returns its summary."""
        self.guest.run(f"kill -INT $(cat {self.name}.pid)")
        self.guest.until(f"! kill -0 $(cat {self.name}.pid)")
        return self.guest.run(f"cat {self.name}.log")


def counted(lab, calls):
    """Returns the report on the wire capture; checks that it has this many Calls, all answered."""
    report = lab.analyze()
    messages = report["messages"]
    check((messages["call"], messages["reply"]) == (calls, calls), "Calls and Replies on the wire:", messages)
    for kind in ("read", "write", "reply"):
        check(any(connection["chunks"][kind]["chunks"] for connection in report["connections"]), f"no {kind} chunk")
    return report
