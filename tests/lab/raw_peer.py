"""Sends hand-made messages from the host to a server or to a client, with raw_peer."""
import os
import queue
import struct
import subprocess
import threading

from machines import HOST, Failed, check

ERR_VERS, ERR_CHUNK = 1, 2
MSG, NOMSG, MSGP, DONE, ERROR = range(5)


def words(*values):
    """Encodes 32-bit XDR words."""
    return b"".join(struct.pack(">I", value) for value in values)


def null_call(xid, program=100003, version=3):
    """Encodes the RPC Call of a procedure 0."""
    return words(xid, 0, 2, program, version, 0, 0, 0, 0, 0)


def opaque(data):
    """Encodes opaque data with its length and roundup."""
    return words(len(data)) + data + bytes(-len(data) % 4)


def nfs4_read_call(xid, path, count):
    """An NFS version 4.0 COMPOUND that reads a file from its start, with the anonymous stateid."""
    credential = words(1, 20, 0, 0, 0, 0, 0)  # AUTH_SYS: root, with an empty machine name
    lookups = [words(15) + opaque(name.encode()) for name in path.split("/")]
    operations = [words(24), *lookups, words(25) + bytes(16) + words(0, 0, count)]
    return (words(xid, 0, 2, 100003, 4, 1) + credential + words(0, 0, 0, 0, len(operations)) + b"".join(operations))


def null_reply(xid):
    return words(xid, 1, 0, 0, 0, 0)


class RawPeer:
    """A connection to a server, and its events."""

    def __init__(self, lab, server):
        program = os.path.join(os.path.dirname(lab.rpcrdma), "raw_peer")
        self.process = subprocess.Popen([program, HOST, server], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = queue.Queue()
        threading.Thread(target=lambda: [self.lines.put(line.split()) for line in self.process.stdout],
                         daemon=True).start()
        self.private_data = bytes.fromhex(self.line("established")[1])
        _, self.handle, self.offset, self.length = map(lambda t: int(t) if t.isdigit() else t, self.line("memory"))

    def line(self, kind, seconds=20):
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise Failed(f"no event, expected '{kind}'") from None
        check(line[0] == kind, f"event '{' '.join(line)}', expected '{kind}'")
        return line

    def write_line(self, *what):
        print(*what, file=self.process.stdin, flush=True)

    def send(self, message):
        self.write_line("send", message.hex())

    def receive(self):
        return bytes.fromhex(self.line("received")[1])

    def ask(self, message):
        self.send(message)
        return self.receive()

    def put(self, offset, data):
        self.write_line("put", offset, data.hex())

    def get(self, offset, count):
        self.write_line("get", offset, count)
        return bytes.fromhex(self.line("got")[1])

    def segment(self, offset, length):
        """Encodes a segment of the memory that the server may read and write."""
        at = self.offset + offset
        return words(self.handle, length, at >> 32, at & 0xffffffff)

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class RawServer:
    """A server for one client at a time; `answer(call)` returns the messages to send for a received one."""

    def __init__(self, lab, port, answer):
        program = os.path.join(os.path.dirname(lab.rpcrdma), "raw_peer")
        self.answer, self.connections, self.error = answer, 0, None
        self.process = subprocess.Popen([program, HOST, "listen", str(port)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        lab.programs.append(self)
        check(self.process.stdout.readline() == "listening\n", "raw_peer does not listen at port", port)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        try:
            for line in self.process.stdout:
                kind, *rest = line.split()
                if kind == "established":
                    self.connections += 1
                elif kind == "received":
                    for message in self.answer(bytes.fromhex(rest[0])):
                        print("send", message.hex(), file=self.process.stdin, flush=True)
        except Exception as error:  # reported by stop()
            self.error = error

    def stop(self):
        """Ends it; raises what went wrong in answer()."""
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(10)
        self.thread.join(10)
        if self.error:
            raise self.error
