#include "aliases.h"

#include "suggest.h"

#include <algorithm>
#include <array>

namespace rpcrdma::filter {

namespace {

constexpr std::array kAliases = {
    Alias{"ip.addr", "rpcrdma.addr"},
    Alias{"ip.src", "rpcrdma.src"},
    Alias{"ip.dst", "rpcrdma.dst"},
    Alias{"ip.src_host", "rpcrdma.src"},
    Alias{"ip.dst_host", "rpcrdma.dst"},
    Alias{"ip.host", "rpcrdma.addr"},
    Alias{"ipv6.addr", "rpcrdma.addr"},
    Alias{"ipv6.src", "rpcrdma.src"},
    Alias{"ipv6.dst", "rpcrdma.dst"},
    Alias{"infiniband.grh.sgid", "rpcrdma.src"},
    Alias{"infiniband.grh.dgid", "rpcrdma.dst"},
    Alias{"infiniband.bth.destqp", "rpcrdma.dst.qpn"},
    Alias{"infiniband.ieth", "rpcrdma.invalidated_handle"},
    Alias{"infiniband.reth.r_key", "rpcrdma.op.handle"},
    Alias{"infiniband.reth.va", "rpcrdma.op.offset"},
    Alias{"infiniband.reth.dmalen", "rpcrdma.op.length"},
    Alias{"frame.time_epoch", "frame.time"},
    Alias{"frame.time_utc", "frame.time"},
    Alias{"rpc.time", "rpcrdma.latency"},
    Alias{"rpc.repframe", "rpcrdma.match.frame"},
    Alias{"rpc.reqframe", "rpcrdma.match.frame"},
    Alias{"rpc.msgtyp", "rpc.msgtype"},
    Alias{"rpc.programversion", "rpc.version"},
    Alias{"rpc.auth.flavor", "rpc.cred.flavor"},
    Alias{"rpc.auth.uid", "rpc.auth_sys.uid"},
    Alias{"rpc.auth.gid", "rpc.auth_sys.gid"},
    Alias{"rpc.auth.machinename", "rpc.auth_sys.machine"},
    Alias{"rpc.replystat", "rpc.reply_stat"},
    Alias{"rpc.state_accept", "rpc.accept_stat"},
    Alias{"rpc.state_reject", "rpc.reject_stat"},
    Alias{"rpcordma", "rpcrdma"},
    Alias{"rpcordma.xid", "rpcrdma.xid"},
    Alias{"rpcordma.version", "rpcrdma.version"},
    Alias{"rpcordma.flow_control", "rpcrdma.credit"},
    Alias{"rpcordma.msg_type", "rpcrdma.proc"},
    Alias{"rpcordma.rdma_handle", "rpcrdma.segment.handle"},
    Alias{"rpcordma.rdma_length", "rpcrdma.segment.length"},
    Alias{"rpcordma.rdma_offset", "rpcrdma.segment.offset"},
    Alias{"nfs.opcode", "nfs.op"},
    Alias{"nfs.main_opcode", "nfs.op"},
    Alias{"nfs.procedure_v2", "rpc.procedure", 2},
    Alias{"nfs.procedure_v3", "rpc.procedure", 3},
    Alias{"nfs.procedure_v4", "rpc.procedure", 4},
    Alias{"nfs.status2", "nfs.status", 2},
    Alias{"nfs.nfsstat2", "nfs.status", 2},
    Alias{"nfs.status3", "nfs.status", 3},
    Alias{"nfs.nfsstat3", "nfs.status", 3},
    Alias{"nfs.nfsstat4", "nfs.status", 4},
    Alias{"nfs.fh.hash", "nfs.fh"},
    Alias{"nfs.offset3", "nfs.offset"},
    Alias{"nfs.offset4", "nfs.offset"},
    Alias{"nfs.count3", "nfs.count"},
    Alias{"nfs.count4", "nfs.count"},
    Alias{"nfs.full_name", "nfs.path"},
};

// `name` ends with a dot: all names that start with it.
struct Hint {
  std::string_view name;
  std::string_view answer;
};

constexpr std::string_view kPort =
    "every packet of RoCE has UDP port 4791: write rpcrdma.connection, rpcrdma.qpn or rpcrdma.addr";
constexpr std::string_view kPacket =
    "filters select messages, not packets: write rpcrdma.addr, rpcrdma.qpn or rpcrdma.op.kind";
constexpr std::string_view kAgain =
    "filters select messages, and packets sent again are counted for each connection by `rpcrdma "
    "analyze`; rpcrdma.finding selects messages that break a rule";

// The longest prefix comes first.
constexpr std::array kHints = {
    Hint{"udp.", kPort},
    Hint{"udp", kPort},
    Hint{"tcp.port", "write rpcrdma.port (iWARP)"},
    Hint{"tcp.srcport", "write rpcrdma.src.port (iWARP)"},
    Hint{"tcp.dstport", "write rpcrdma.dst.port (iWARP)"},
    Hint{"tcp.stream", "write rpcrdma.connection"},
    Hint{"tcp.analysis.", kAgain},
    Hint{"tcp.", kPacket},
    Hint{"tcp", kPacket},
    Hint{"frame.time_delta", "write rpcrdma.latency, or frame.time_relative"},
    Hint{"frame.time_delta_displayed", "write rpcrdma.latency, or frame.time_relative"},
    Hint{"frame.len", "write rpcrdma.length (bytes of the Send) or rpcrdma.moved (of the chunks)"},
    Hint{"frame.cap_len",
         "write rpcrdma.length (bytes of the Send) or rpcrdma.complete (all are in the capture)"},
    Hint{"infiniband.aeth.", kAgain},
    Hint{"infiniband.bth.psn", "write frame.number, or rpcrdma.op.first_frame"},
    Hint{"infiniband.bth.opcode",
         "write rpcrdma.op.kind == \"RDMA READ\" or \"RDMA WRITE\"; each message is a Send"},
    Hint{"infiniband.", kPacket},
    Hint{"any", "every message: write rpcrdma"},
    Hint{"all", "every message: write rpcrdma"},
    Hint{"infiniband", "every message has it: write rpcrdma"},
    Hint{"roce", "every message has it: write rpcrdma"},
    Hint{"ip.",
         "filters select messages, not packets: write rpcrdma.addr, rpcrdma.src, rpcrdma.dst"},
    Hint{"ip", kPacket},
    Hint{"ipv6.", kPacket},
    Hint{"ipv6", kPacket},
    Hint{"eth.", kPacket},
    Hint{"eth", kPacket},
    Hint{"vlan.", "write tunnel.type or tunnel.key for encapsulations"},
    Hint{"rpcordma.reads_count", "write rpcrdma.read (present) or rpcrdma.segment.length"},
    Hint{"rpcordma.writes_count", "write rpcrdma.write (present) or rpcrdma.segment.length"},
    Hint{"rpcordma.reply_count", "write rpcrdma.reply (present) or rpcrdma.segment.length"},
};

bool starts_with(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() && equal_names(name.substr(0, prefix.size()), prefix);
}

}  // namespace

const Alias* find_alias(std::string_view name) {
  const auto* const it = std::find_if(kAliases.begin(), kAliases.end(),
                                      [&](const Alias& a) { return equal_names(a.name, name); });
  return it == kAliases.end() ? nullptr : &*it;
}

std::string_view hint_for(std::string_view name) {
  for (const Hint& hint : kHints) {
    const bool fits =
        hint.name.ends_with('.') ? starts_with(name, hint.name) : equal_names(name, hint.name);
    if (fits) return hint.answer;
  }
  return {};
}

}  // namespace rpcrdma::filter
