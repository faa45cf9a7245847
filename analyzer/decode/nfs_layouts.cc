#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <arpa/inet.h>

#include <rpcrdma/base/text.h>
#include <rpcrdma/decode/nfs_layouts.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

using wire::XdrReader;

constexpr std::uint32_t kMaxNetid = 64;
constexpr std::uint32_t kMaxUniversal = 128;
// Of one device. A count is bounded by the bytes, too.
constexpr std::uint32_t kMaxServers = 1024;

// Takes ".255" from the end.
std::optional<std::uint32_t> take_octet(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos || dot + 1 == text.size()) return std::nullopt;
  const std::string_view digits = text.substr(dot + 1);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value > 255) {
    return std::nullopt;
  }
  text = text.substr(0, dot);
  return value;
}

// As addresses of connections are written.
std::string canonical(std::string_view host) {
  const std::string text(host);
  in6_addr v6{};
  in_addr v4{};
  std::array<char, INET6_ADDRSTRLEN> out{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
    return inet_ntop(AF_INET, &v4, out.data(), out.size());
  }
  if (inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    return inet_ntop(AF_INET6, &v6, out.data(), out.size());
  }
  return {};
}

// multipath_list4
void addresses(XdrReader& in, std::uint32_t server, DeviceAddressSink& sink) {
  const std::uint32_t count = in.u32();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const wire::Bytes netid = in.opaque(kMaxNetid);
    const wire::Bytes universal = in.opaque(kMaxUniversal);
    if (in.ok()) sink.address(server, parse_universal(netid, universal));
  }
}

void files_device(XdrReader& in, DeviceAddressSink& sink) {
  in.skip(4 * std::uint64_t{in.u32()});  // nflda_stripe_indices
  const std::uint32_t servers = std::min(in.u32(), kMaxServers);
  for (std::uint32_t i = 0; i < servers && in.ok(); ++i) addresses(in, i, sink);
}

}  // namespace

const char* layout_type_name(std::uint32_t type) {
  switch (type) {
    case kLayoutFiles:
      return "files";
    case 2:
      return "objects";
    case 3:
      return "block";
    case kLayoutFlexFiles:
      return "flexfiles";
    case 5:
      return "SCSI";
    default:
      return nullptr;
  }
}

NetAddress parse_universal(wire::Bytes netid, wire::Bytes address) {
  NetAddress a;
  a.netid = base::as_text(netid);
  std::string_view host = base::as_text(address);
  a.host = host;
  const auto low = take_octet(host);
  const auto high = take_octet(host);
  if (!low || !high) return a;
  const std::string parsed = canonical(host);
  if (parsed.empty()) return a;
  a.host = parsed;
  a.port = *high << 8U | *low;
  return a;
}

bool is_rdma_netid(const std::string& netid) {
  return netid == "rdma" || netid == "rdma6";
}

std::optional<std::uint32_t> decode_device(wire::Bytes results, DeviceAddressSink& sink) {
  XdrReader in(results);
  const std::uint32_t type = in.u32();
  const wire::Bytes body = in.opaque();
  if (!in.ok()) return std::nullopt;
  XdrReader inner(body);
  if (type == kLayoutFiles) files_device(inner, sink);
  if (type == kLayoutFlexFiles) addresses(inner, 0, sink);
  return type;
}

std::optional<Layout> decode_layout_get_results(wire::Bytes results) {
  constexpr std::size_t kStateid = 16;
  constexpr std::size_t kRange = 20;  // offset, length, iomode
  XdrReader in(results);
  Layout layout;
  layout.return_on_close = in.u32() == 1;
  in.skip(kStateid);
  if (in.u32() == 0) return std::nullopt;
  in.skip(kRange);
  layout.type = in.u32();
  return in.ok() ? std::optional(layout) : std::nullopt;
}

std::optional<Returned> decode_layout_return(wire::Bytes arguments) {
  constexpr std::uint32_t kFile = 1;
  XdrReader in(arguments);
  in.skip(12);  // lora_reclaim, layout type, iomode
  if (in.u32() != kFile) return in.ok() ? std::optional(Returned::kAll) : std::nullopt;
  const std::uint64_t offset = in.u64();
  const std::uint64_t length = in.u64();
  if (!in.ok()) return std::nullopt;
  return offset == 0 && length == UINT64_MAX ? Returned::kFile : Returned::kPart;
}

}  // namespace rpcrdma::decode
