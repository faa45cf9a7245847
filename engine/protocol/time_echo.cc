#include <cstring>

#include <rpcrdma/protocol/time_echo.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::protocol {

std::array<std::uint8_t, kTimeEchoCallBytes> encode_time_echo(fabric::Time now) {
  std::array<std::uint8_t, kTimeEchoCallBytes> info{};
  wire::store_be64(info.data(), static_cast<std::uint64_t>(now));
  return info;
}

std::optional<TimeEcho> decode_time_echo(wire::Bytes info) {
  if (info.size() != kTimeEchoReplyBytes) return std::nullopt;
  return TimeEcho{wire::load_be64(info.data()), wire::load_be64(info.data() + 8)};
}

void add_time_echo(OptionRegistry& registry) {
  registry.add(
      kTimeEchoOption,
      [](wire::Bytes info, fabric::Time now, wire::MutableBytes out) -> std::optional<std::size_t> {
        if (info.size() != kTimeEchoCallBytes) return std::nullopt;
        std::memcpy(out.data(), info.data(), info.size());
        wire::store_be64(out.data() + 8, static_cast<std::uint64_t>(now));
        return kTimeEchoReplyBytes;
      });
}

}  // namespace rpcrdma::protocol
