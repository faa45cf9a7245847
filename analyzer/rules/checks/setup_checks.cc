// Checks the private data of the CM exchange (RFC 8797), once a message or the private data itself
// shows that the connection speaks RPC-over-RDMA: other services have their own formats.
#include "checks.h"

#include <fmt/core.h>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/private_data.h>

namespace rpcrdma::rules {

namespace {

using PrivateBytes = std::array<std::uint8_t, wire::kPrivateDataBytes>;

constexpr std::uint32_t kSwappedMagic = 0x180eabf6;

// The tracker removed trailing zeros.
PrivateBytes first_bytes(const roce::CmSide& cm) {
  PrivateBytes bytes{};
  std::copy_n(cm.private_data.begin(), std::min(cm.private_data.size(), bytes.size()),
              bytes.begin());
  return bytes;
}

Evidence setup_evidence(const CheckContext& context, std::size_t side) {
  Evidence e;
  e.connection = &context.connection;
  e.side = static_cast<int>(side);
  e.frames = {context.connection.side[side].cm.frame, 0};
  return e;
}

// Returns whether everything except the magic number is correct, or the magic number has its bytes
// swapped. Otherwise the data may be another service's, which the peer treats as absent.
bool resembles(const PrivateBytes& bytes, std::uint32_t magic) {
  return magic == kSwappedMagic || (bytes[4] == 1 && (bytes[5] & ~wire::kPrivateDataFlagR) == 0);
}

void check_magic(const PrivateBytes& bytes, std::uint32_t magic, std::size_t side,
                 const CheckContext& context) {
  Evidence e = setup_evidence(context, side);
  if (!resembles(bytes, magic)) {
    e.at_most = Level::kNote;
    e.topic = 1;
  }
  context.findings.add(RuleId::kCmp01, e, [&] {
    return fmt::format("the private data begins with {:#010x}{}", magic,
                       magic == kSwappedMagic ? ", the magic number with its bytes swapped" : "");
  });
}

void check_format_version(std::uint8_t version, std::size_t side, const CheckContext& context) {
  context.findings.add(RuleId::kCmp02, setup_evidence(context, side), [&] {
    return fmt::format("the private data has format version {}", version);
  });
}

void check_flags(std::uint8_t flags, std::size_t side, const CheckContext& context) {
  if ((flags & ~wire::kPrivateDataFlagR) == 0) return;
  context.findings.add(RuleId::kCmp03, setup_evidence(context, side), [&] {
    return fmt::format("the private data has the flags {:#04x}", flags);
  });
}

}  // namespace

void check_private_data(const CheckContext& context) {
  for (std::size_t side = 0; side < 2; ++side) {
    const roce::CmSide& cm = context.connection.side[side].cm;
    if (!cm.seen || cm.private_data.empty()) continue;
    const PrivateBytes bytes = first_bytes(cm);
    const std::uint32_t magic = wire::load_be32(bytes.data());
    if (magic != wire::kPrivateDataMagic) {
      check_magic(bytes, magic, side, context);
    } else if (bytes[4] != 1) {
      check_format_version(bytes[4], side, context);
    } else {
      check_flags(bytes[5], side, context);
    }
  }
}

}  // namespace rpcrdma::rules
