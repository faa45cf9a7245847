"""A server of NFS version 3 by hand: an empty root directory that can be mounted, and `stat -f` works on it."""
import struct

from raw_peer import MSG, words

NULL, GETATTR, ACCESS, FSSTAT, FSINFO, PATHCONF = 0, 1, 4, 18, 19, 20
# fattr3 of a directory: type, mode, links, uid, gid, size, used, rdev, fsid, fileid, three times
ATTRIBUTES = words(2, 0o755, 2, 0, 0, 0, 4096, 0, 4096, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0, 1, 0)
WITH_ATTRIBUTES = words(1) + ATTRIBUTES
RESULTS = {
    NULL: b"",
    GETATTR: words(0) + ATTRIBUTES,
    ACCESS: words(0) + WITH_ATTRIBUTES + words(0x1f),
    FSSTAT: words(0) + WITH_ATTRIBUTES + words(*[0, 1 << 20] * 6, 0),
    FSINFO: words(0) + WITH_ATTRIBUTES + words(65536, 65536, 4096, 65536, 65536, 4096, 4096, 0, 1 << 30, 0, 1, 0x1b),
    PATHCONF: words(0) + WITH_ATTRIBUTES + words(32, 255, 1, 1, 0, 1),
}


class Call:
    """A Call without chunks, with what is needed to answer it."""

    def __init__(self, message):
        words_ = struct.unpack(f">{len(message) // 4}I", message[:len(message) // 4 * 4])
        self.xid, self.credits = words_[0], words_[2]
        at = 4  # the three chunk lists
        while words_[at]:
            at += 6
        at += 1
        while words_[at]:
            at += 2 + 4 * words_[at + 1]
        at += 1
        at += 2 + 4 * words_[at + 1] if words_[at] else 1
        self.procedure = words_[at + 5]

    def reply(self, credits):
        """Returns the proper Reply, inline."""
        return words(self.xid, 1, credits, MSG, 0, 0, 0) + self.rpc_reply()

    def rpc_reply(self):
        return words(self.xid, 1, 0, 0, 0, 0) + RESULTS[self.procedure]
