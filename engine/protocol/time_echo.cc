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
  registry.add(kTimeEchoOption,
               [](const OptionMessage& m, const OptionRoom& out) -> std::optional<OptionAnswer> {
                 if (m.info.size() != kTimeEchoCallBytes || !m.payload.empty()) return std::nullopt;
                 std::memcpy(out.info.data(), m.info.data(), m.info.size());
                 wire::store_be64(out.info.data() + 8, static_cast<std::uint64_t>(m.now));
                 return OptionAnswer{.info_bytes = kTimeEchoReplyBytes};
               });
}

}  // namespace rpcrdma::protocol
