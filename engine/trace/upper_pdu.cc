#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::trace {
namespace {

bool is_our_name(std::span<const std::uint8_t> value) {
  std::string_view name(reinterpret_cast<const char*>(value.data()), value.size());
  name = name.substr(0, name.find('\0'));
  return name == kDissector;
}

}  // namespace

std::optional<std::span<const std::uint8_t>> event_in_pdu(std::span<const std::uint8_t> data) {
  constexpr std::size_t kHeadBytes = 4;
  const auto u16 = [&data](std::size_t at) {
    return static_cast<std::uint16_t>(data[at] << 8U | data[at + 1]);
  };
  bool ours = false;
  while (data.size() >= kHeadBytes) {
    const std::uint16_t type = u16(0);
    const std::size_t length = u16(2);
    data = data.subspan(kHeadBytes);
    if (length > data.size()) return std::nullopt;
    const auto value = data.first(length);
    data = data.subspan(length);
    if (type == 0) return ours ? std::optional(data) : std::nullopt;
    if (type == kDissectorNameTag) ours = is_our_name(value);
  }
  return std::nullopt;
}

}  // namespace rpcrdma::trace
