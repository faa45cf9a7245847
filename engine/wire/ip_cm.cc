#include <algorithm>

#include <rpcrdma/wire/cm.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::wire {
namespace {

constexpr std::size_t kVersion = 0;    // major and minor, 4 bits each
constexpr std::size_t kIpVersion = 1;  // 4 bits, 4 reserved
constexpr std::size_t kSourcePort = 2;
constexpr std::size_t kSource = 4;
constexpr std::size_t kDestination = 20;
constexpr const char* kIpCmRule = "IBA A11";

}  // namespace

Result<IpCmHeader> decode_ip_cm(Bytes private_data) {
  if (private_data.size() < kIpCmHeaderBytes) {
    return fail(Errc::kTruncated, private_data.size(), kIpCmRule, "IP CM header is under 36 bytes");
  }
  const std::uint8_t* const p = private_data.data();
  IpCmHeader h;
  h.version = p[kVersion] >> 4;
  if (h.version != 0) {
    return fail(Errc::kUnsupported, kVersion, kIpCmRule,
                "major version of the IP CM header is not 0");
  }
  h.ip_version = p[kIpVersion] >> 4;
  if (h.ip_version != 4 && h.ip_version != 6) {
    return fail(Errc::kBadValue, kIpVersion, kIpCmRule, "IP version is not 4 or 6");
  }
  h.source_port = load_be16(p + kSourcePort);
  std::copy_n(p + kSource, h.source.size(), h.source.begin());
  std::copy_n(p + kDestination, h.destination.size(), h.destination.begin());
  return h;
}

std::array<std::uint8_t, kIpCmHeaderBytes> encode_ip_cm(const IpCmHeader& header) {
  std::array<std::uint8_t, kIpCmHeaderBytes> out{};
  out[kVersion] = static_cast<std::uint8_t>(header.version << 4);
  out[kIpVersion] = static_cast<std::uint8_t>(header.ip_version << 4);
  store_be16(out.data() + kSourcePort, header.source_port);
  std::copy(header.source.begin(), header.source.end(), out.begin() + kSource);
  std::copy(header.destination.begin(), header.destination.end(), out.begin() + kDestination);
  return out;
}

}  // namespace rpcrdma::wire
