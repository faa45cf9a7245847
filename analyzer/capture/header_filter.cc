// BPF programs that truncate data packets.
#include "header_filter.h"

#include <algorithm>
#include <span>

#include <fmt/core.h>

namespace rpcrdma::capture {

namespace {

// The opcodes' lower five bits are equal in all connected services (RC, UC, XRC): RDMA WRITE First
// to RDMA READ response Only. Those of datagrams are others. READ request, among them, has no
// payload.
std::string is_data(const char* first_byte) {
  return fmt::format("({0} & 0x1f >= 6 and {0} & 0x1f <= 16)", first_byte);
}

}  // namespace

std::string data_filter(LinkType link) {
  // pcap-filter(7) has no offsets behind the UDP header of IPv6.
  const std::string ip = fmt::format(
      "(udp dst port 4791 and {}) or (ip6 and ip6[6] = 17 and udp dst port 4791 and {})",
      is_data("udp[8]"), is_data("ip6[48]"));
  switch (link) {
    case LinkType::kEthernet:
      // Offsets from the Ethernet header do not move with a VLAN tag: RoCEv1 with one stays whole.
      return fmt::format(
          "{0} or (ether proto 0x8915 and {1}) or (vlan and ({0} or (vlan and ({0}))))", ip,
          is_data("ether[54]"));
    case LinkType::kLinuxSll:
    case LinkType::kLinuxSll2:
    case LinkType::kRaw:
    case LinkType::kIpv4:
    case LinkType::kIpv6:
      return ip;
    default:
      return "";
  }
}

std::vector<bpf_insn> truncate_data(const bpf_program& filter, const bpf_program& data,
                                    std::uint32_t bytes) {
  const auto returns_constant = [](const bpf_insn& i) {
    return BPF_CLASS(i.code) == BPF_RET && BPF_RVAL(i.code) == BPF_K;
  };
  std::vector<bpf_insn> joined(filter.bf_insns, filter.bf_insns + filter.bf_len);
  std::uint32_t whole = 0;  // what `filter` keeps
  for (std::size_t at = 0; at < joined.size(); ++at) {
    bpf_insn& i = joined[at];
    if (!returns_constant(i) || i.k == 0) continue;
    whole = i.k;
    i = BPF_STMT(BPF_JMP | BPF_JA, static_cast<bpf_u_int32>(joined.size() - at - 1));
  }
  for (bpf_insn i : std::span(data.bf_insns, data.bf_len)) {
    if (returns_constant(i)) i.k = i.k == 0 ? whole : std::min(whole, bytes);
    joined.push_back(i);
  }
  return joined;
}

}  // namespace rpcrdma::capture
