// An RPC header that decodes encodes to the same bytes, except roundup, and is truncated without
// its last byte; the same for its credentials.
#include "fuzz_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <rpcrdma/wire/rpc.h>

namespace {

using namespace rpcrdma::wire;
using rpcrdma::fuzz::require;

// The first `length` bytes of an input, with roundup set to zero.
class Canonical {
 public:
  Canonical(Bytes input, std::size_t length)
      : input_(input), bytes_(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(length)) {}

  void clear_roundup_after(Bytes opaque) {
    if (opaque.empty()) return;
    auto at = static_cast<std::size_t>(opaque.data() - input_.data()) + opaque.size();
    for (; at % 4 != 0; ++at) bytes_[at] = 0;
  }

  [[nodiscard]] bool operator==(const std::vector<std::uint8_t>& other) const {
    return bytes_ == other;
  }

 private:
  Bytes input_;
  std::vector<std::uint8_t> bytes_;
};

void check_auth_sys(Bytes body) {
  const auto auth = decode_auth_sys(body);
  if (!auth) return;
  require(auth->machine.size() <= 255 && auth->gid_count <= 16);
  std::vector<std::uint8_t> again(body.size());
  const auto size = encode_auth_sys(*auth, again);
  require(size.has_value());
  again.resize(*size);
  Canonical expected(body, *size);
  expected.clear_roundup_after(auth->machine);
  require(expected == again);
}

void check_gss(Bytes body) {
  const auto cred = decode_gss_cred(body);
  if (!cred) return;
  std::vector<std::uint8_t> again(body.size());
  const auto size = encode_gss_cred(*cred, again);
  if (!size) {
    require(cred->handle.size() > kMaxAuthBytes - 20);
    return;
  }
  again.resize(*size);
  Canonical expected(body, *size);
  expected.clear_roundup_after(cred->handle);
  require(expected == again);
}

template <typename Message>
std::vector<std::uint8_t> encoded(const Message& message) {
  std::vector<std::uint8_t> out(encoded_size(message));
  require(encode_rpc(message, out).value_or(0) == out.size());
  return out;
}

void check_decoded(const RpcView& view, Bytes input) {
  require(view.length <= input.size());
  Canonical expected(input, view.length);
  if (view.type == MsgType::kCall) {
    expected.clear_roundup_after(view.call.cred.body);
    expected.clear_roundup_after(view.call.verf.body);
    require(expected == encoded(view.call));
    check_auth_sys(view.call.cred.body);
    check_gss(view.call.cred.body);
  } else {
    expected.clear_roundup_after(view.reply.verf.body);
    require(expected == encoded(view.reply));
  }
  const auto shorter = decode_rpc(input.first(view.length - 1));
  require(!shorter && shorter.error().code == Errc::kTruncated);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input(data, size);
  const auto view = decode_rpc(input);
  if (view) {
    check_decoded(*view, input);
  } else {
    require(view.error().offset <= size);
    require(*view.error().rule != '\0' && *view.error().what != '\0');
  }
  check_auth_sys(input);
  check_gss(input);
  return 0;
}
