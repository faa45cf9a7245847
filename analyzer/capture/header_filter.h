// A capture filter that keeps RPC messages whole, but only the front of the data that RDMA Writes
// and Reads carry: most bytes of a busy connection are that data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <pcap/pcap.h>

#include <rpcrdma/capture/link.h>

namespace rpcrdma::capture {

// Bytes that are kept of a data packet: all headers up to the RETH or AETH, with VLAN tags, IPv6
// and its extensions, and the front of the payload. In a Reply chunk or a Position Zero Read chunk
// that is the RPC header and the first results or arguments.
inline constexpr std::uint32_t kHeaderBytes = 256;

// Returns the pcap-filter(7) expression for packets of RoCEv2 and RoCEv1 that carry data of an RDMA
// Write or an RDMA Read; empty for link types without one.
[[nodiscard]] std::string data_filter(LinkType link);

// Joins two programs to one that keeps what `filter` accepts: `bytes` of the packets that `data`
// accepts, and the others as `filter` does.
[[nodiscard]] std::vector<bpf_insn> truncate_data(const bpf_program& filter,
                                                  const bpf_program& data, std::uint32_t bytes);

}  // namespace rpcrdma::capture
