#include "mpa.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <rpcrdma/wire/endian.h>

namespace rpcrdma::iwarp {

namespace {

constexpr std::size_t kFixed = 20;
constexpr std::size_t kMaxPrivateData = 512;
constexpr std::size_t kEnhancedWords = 4;
constexpr std::string_view kRequestKey = "MPA ID Req Frame";
constexpr std::string_view kReplyKey = "MPA ID Rep Frame";

bool agrees(Bytes bytes, std::string_view key) {
  return std::memcmp(bytes.data(), key.data(), std::min(bytes.size(), key.size())) == 0;
}

}  // namespace

MpaBegin mpa_begins(Bytes bytes) {
  if (bytes.empty()) return MpaBegin::kMaybe;
  const bool request = agrees(bytes, kRequestKey);
  if (!request && !agrees(bytes, kReplyKey)) return MpaBegin::kNo;
  if (bytes.size() < kMpaKeyBytes) return MpaBegin::kMaybe;
  return request ? MpaBegin::kRequest : MpaBegin::kReply;
}

bool mpa_too_long(Bytes bytes) {
  return bytes.size() >= kFixed && wire::load_be16(bytes.data() + 18) > kMaxPrivateData;
}

std::optional<MpaFrame> decode_mpa(Bytes bytes) {
  const MpaBegin begin = mpa_begins(bytes);
  if (begin != MpaBegin::kRequest && begin != MpaBegin::kReply) return std::nullopt;
  if (bytes.size() < kFixed || mpa_too_long(bytes)) return std::nullopt;
  const std::size_t private_data = wire::load_be16(bytes.data() + 18);
  if (bytes.size() < kFixed + private_data) return std::nullopt;
  MpaFrame f;
  f.reply = begin == MpaBegin::kReply;
  const std::uint8_t flags = bytes[16];
  f.markers = (flags & 0x80) != 0;
  f.crc = (flags & 0x40) != 0;
  f.reject = f.reply && (flags & 0x20) != 0;
  f.revision = bytes[17];
  f.private_data = bytes.subspan(kFixed, private_data);
  f.length = kFixed + private_data;
  const bool s = (flags & 0x10) != 0;
  if (f.revision >= 2 && s && private_data >= kEnhancedWords) {
    const std::uint16_t ird = wire::load_be16(f.private_data.data());
    const std::uint16_t ord = wire::load_be16(f.private_data.data() + 2);
    f.enhanced = true;
    f.peer_to_peer = (ird & 0x8000) != 0;
    f.ird = ird & 0x3fff;
    f.ord = ord & 0x3fff;
    f.private_data = f.private_data.subspan(kEnhancedWords);
  }
  return f;
}

}  // namespace rpcrdma::iwarp
