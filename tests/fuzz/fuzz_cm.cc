// A MAD that decodes has its views within the input, and encodes to a MAD that decodes to the same.
// The same input is also decoded as an IP CM header.
#include "fuzz_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include <rpcrdma/wire/cm.h>

namespace {

using namespace rpcrdma::wire;
using rpcrdma::fuzz::require;

void check_within(Bytes view, Bytes bytes) {
  require(view.data() >= bytes.data());
  require(view.data() + view.size() <= bytes.data() + kMadBytes);
}

void check_mad(Bytes bytes) {
  const auto mad = decode_cm(bytes);
  if (!mad) {
    require(mad.error().offset <= bytes.size());
    require(mad.error().what[0] != '\0');
    return;
  }
  std::visit([&](const auto& message) { check_within(message.private_data, bytes); }, mad->message);
  if (const auto* rej = std::get_if<CmRej>(&mad->message))
    check_within(rej->additional_info, bytes);

  std::array<std::uint8_t, kMadBytes> once;
  require(encode_cm(*mad, once) == kMadBytes);
  const auto again = decode_cm(once);
  require(again.has_value() && again->message.index() == mad->message.index());
  std::array<std::uint8_t, kMadBytes> twice;
  require(encode_cm(*again, twice) == kMadBytes);
  require(once == twice);
}

void check_ip_cm(Bytes bytes) {
  const auto header = decode_ip_cm(bytes);
  if (!header) {
    require(header.error().offset <= bytes.size());
    return;
  }
  const auto again = encode_ip_cm(*header);
  require(std::ranges::equal(Bytes(again).subspan(2), bytes.subspan(2, again.size() - 2)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_mad({data, size});
  check_ip_cm({data, size});
  return 0;
}
