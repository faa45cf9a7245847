// Arguments and results of the pNFS operations (RFC 8881 section 18): which data servers hold a
// file. Decodes the layout types files (RFC 8881 section 13) and flexible files (RFC 8435).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::decode {

inline constexpr std::uint32_t kOpGetDeviceInfo = 47;
inline constexpr std::uint32_t kOpLayoutGet = 50;
inline constexpr std::uint32_t kOpLayoutReturn = 51;
inline constexpr std::uint32_t kOpLayoutError = 64;

inline constexpr std::uint32_t kLayoutFiles = 1;
inline constexpr std::uint32_t kLayoutFlexFiles = 4;
// "files", "flexfiles", "block", "SCSI", "objects"; nullptr for an unknown type.
[[nodiscard]] const char* layout_type_name(std::uint32_t type);

// netaddr4: a transport and a universal address.
struct NetAddress {
  std::string netid;  // "tcp", "rdma", "rdma6", ...
  std::string host;   // "192.0.2.1", "2001:db8::1"; the universal address if it cannot be parsed
  std::optional<std::uint32_t> port;
};
// RFC 5665 section 5.2.3: "192.0.2.1.8.1" is port 2049 of 192.0.2.1.
[[nodiscard]] NetAddress parse_universal(wire::Bytes netid, wire::Bytes address);
// Whether a netid names RPC over RDMA (RFC 8166 section 8.3).
[[nodiscard]] bool is_rdma_netid(const std::string& netid);

class DeviceAddressSink {
 public:
  // `server`: the number of the data server in the device; it can have several addresses.
  virtual void address(std::uint32_t server, const NetAddress& address) = 0;

 protected:
  ~DeviceAddressSink() = default;
};
// Reports the addresses in the results of GETDEVICEINFO, as far as their layout type is known.
// Returns the layout type; nothing if the results are too short.
std::optional<std::uint32_t> decode_device(wire::Bytes results, DeviceAddressSink& sink);

struct Layout {
  std::uint32_t type = 0;
  bool return_on_close = false;
};
// The first layout in the results of LAYOUTGET.
[[nodiscard]] std::optional<Layout> decode_layout_get_results(wire::Bytes results);

// What LAYOUTRETURN returns.
enum class Returned : std::uint8_t {
  kPart,  // of the layouts of the current file
  kFile,  // all layouts of the current file
  kAll,   // of the file system, or of the client ID
};
[[nodiscard]] std::optional<Returned> decode_layout_return(wire::Bytes arguments);

}  // namespace rpcrdma::decode
