// Communication Management MADs (IBA volume 1 chapters 12 and 13) and the IP CM header at the start
// of an RDMA CM REQ's private data (annex A11).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

inline constexpr std::size_t kMadBytes = 256;
inline constexpr std::uint8_t kMadClassCm = 0x07;

enum class CmAttribute : std::uint16_t {
  kReq = 0x0010,
  kMra = 0x0011,
  kRej = 0x0012,
  kRep = 0x0013,
  kRtu = 0x0014,
  kDreq = 0x0015,
  kDrep = 0x0016,
};

struct MadHeader {  // 24 bytes
  std::uint8_t base_version = 1;
  std::uint8_t mgmt_class = kMadClassCm;
  std::uint8_t class_version = 2;
  std::uint8_t method = 3;  // Send
  std::uint16_t status = 0;
  std::uint64_t transaction_id = 0;
  std::uint16_t attribute_id = 0;
  std::uint32_t attribute_modifier = 0;
};

using Gid = std::array<std::uint8_t, 16>;

struct CmPath {
  std::uint16_t local_lid = 0xffff;
  std::uint16_t remote_lid = 0xffff;
  Gid local_gid{};
  Gid remote_gid{};
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint8_t packet_rate = 0;  // 6 bits
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t sl = 0;  // 4 bits
  bool subnet_local = false;
  std::uint8_t local_ack_timeout = 0;  // 5 bits: 4.096 us * 2^n
};

struct CmReq {
  static constexpr std::size_t kPrivateBytes = 92;
  static constexpr std::size_t kPrivateOffset = 164;  // in the MAD, bytes
  std::uint32_t local_comm_id = 0;
  std::uint64_t service_id = 0;
  std::uint64_t local_ca_guid = 0;
  std::uint32_t local_qkey = 0;
  std::uint32_t local_qpn = 0;  // 24 bits
  std::uint8_t responder_resources = 0;
  std::uint32_t local_eecn = 0;
  std::uint8_t initiator_depth = 0;
  std::uint32_t remote_eecn = 0;
  std::uint8_t remote_cm_response_timeout = 0;  // 5 bits: 4.096 us * 2^n
  std::uint8_t transport_service = 0;           // 0 RC, 1 UC, 2 RD
  bool end_to_end_flow_control = false;
  std::uint32_t starting_psn = 0;  // 24 bits
  std::uint8_t local_cm_response_timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint16_t pkey = 0xffff;
  std::uint8_t path_mtu = 0;  // 1 256, 2 512, 3 1024, 4 2048, 5 4096 bytes
  bool rdc_exists = false;
  std::uint8_t rnr_retry_count = 0;
  std::uint8_t max_cm_retries = 0;
  bool srq = false;
  std::uint8_t extended_transport = 0;
  CmPath primary;
  // LIDs of 0: no alternate path.
  CmPath alternate{.local_lid = 0, .remote_lid = 0};
  Bytes private_data;  // decoded: always kPrivateBytes; to encode: at most that
};

struct CmMra {
  static constexpr std::size_t kPrivateBytes = 222;
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  std::uint8_t message_mraed = 0;    // 0 REQ, 1 REP, 2 LAP
  std::uint8_t service_timeout = 0;  // 5 bits
  Bytes private_data;
};

struct CmRej {
  static constexpr std::size_t kPrivateBytes = 148;
  static constexpr std::size_t kInfoBytes = 72;
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  std::uint8_t message_rejected = 0;  // 0 REQ, 1 REP, 2 neither
  std::uint16_t reason = 0;           // see cm_rej_reason()
  Bytes additional_info;              // at most kInfoBytes
  Bytes private_data;
};

struct CmRep {
  static constexpr std::size_t kPrivateBytes = 196;
  static constexpr std::size_t kPrivateOffset = 60;  // in the MAD, bytes
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  std::uint32_t local_qkey = 0;
  std::uint32_t local_qpn = 0;
  std::uint32_t local_eecn = 0;
  std::uint32_t starting_psn = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t target_ack_delay = 0;
  std::uint8_t failover_accepted = 0;
  bool end_to_end_flow_control = false;
  std::uint8_t rnr_retry_count = 0;
  bool srq = false;
  std::uint64_t local_ca_guid = 0;
  Bytes private_data;
};

struct CmRtu {
  static constexpr std::size_t kPrivateBytes = 224;
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  Bytes private_data;
};

struct CmDreq {
  static constexpr std::size_t kPrivateBytes = 220;
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  std::uint32_t remote_qpn = 0;
  Bytes private_data;
};

struct CmDrep {
  static constexpr std::size_t kPrivateBytes = 224;
  std::uint32_t local_comm_id = 0;
  std::uint32_t remote_comm_id = 0;
  Bytes private_data;
};

using CmMessage = std::variant<CmReq, CmMra, CmRej, CmRep, CmRtu, CmDreq, CmDrep>;

struct CmMad {
  MadHeader header;
  CmMessage message;
};

// Decodes one MAD of 256 bytes and ignores any further bytes. Views point into `mad`; private data
// is always the whole field. Errors: kTruncated for a shorter span; kUnsupported for anything but
// base version 1, class CM and class version 2, or for an attribute not listed above (SIDR, LAP,
// APR); kTooLong for a REJ whose additional information claims to be longer than its field.
[[nodiscard]] Result<CmMad> decode_cm(Bytes mad);

// Writes exactly kMadBytes. The attribute ID follows from the message type, not from the header.
// Fields that the caller does not set are zero, and short private data is padded with zeros. Only
// the low bits of a value wider than its field are written. Errors, with nothing written: kTooLong
// for private data or additional information longer than its field, kNoSpace.
[[nodiscard]] Result<std::size_t> encode_cm(const CmMad& mad, MutableBytes out);

// Return "unknown" for an attribute or a reject reason (table 109) without a name here.
[[nodiscard]] const char* cm_name(CmAttribute attribute);       // "REQ", ...
[[nodiscard]] const char* cm_rej_reason(std::uint16_t reason);  // "consumer reject", ...

// The IP CM header: the first 36 bytes of a REQ's private data when the service ID belongs to an
// RDMA port space (annex A11, RDMA IP CM Service).
inline constexpr std::size_t kIpCmHeaderBytes = 36;
struct IpCmHeader {
  std::uint8_t version = 0;     // major version, upper nibble of the first byte: 0
  std::uint8_t ip_version = 4;  // 4 or 6
  std::uint16_t source_port = 0;
  Gid source{};  // an IPv4 address is in the last four bytes
  Gid destination{};
};
// Errors: kTruncated, kUnsupported (a major version other than 0), kBadValue (neither IPv4 nor
// IPv6).
[[nodiscard]] Result<IpCmHeader> decode_ip_cm(Bytes private_data);
[[nodiscard]] std::array<std::uint8_t, kIpCmHeaderBytes> encode_ip_cm(const IpCmHeader& header);

// Service IDs of the RDMA IP CM service: 0x0000000001 pp nnnn, where pp is the port space (0x06
// TCP).
inline constexpr std::uint64_t kServiceIdRdmaTcp = 0x0000000001060000;
[[nodiscard]] constexpr bool is_rdma_ip_service(std::uint64_t id) {
  return (id & 0xffffffffff000000ULL) == 0x0000000001000000ULL;
}
[[nodiscard]] constexpr std::uint16_t service_port(std::uint64_t id) {
  return static_cast<std::uint16_t>(id & 0xffff);
}

}  // namespace rpcrdma::wire
