// Arguments and results of CONF_RDMA are any twelve bytes, and encode to the same twelve.
#include "fuzz_check.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/wire/rdmaconfig.h>

namespace {

using namespace rpcrdma::wire;
using rpcrdma::fuzz::require;

constexpr std::size_t kBodyBytes = 12;

template <typename Body>
void check(const Result<Body>& body, Bytes input) {
  require(body.has_value() == (input.size() >= kBodyBytes));
  if (!body) {
    require(body.error().offset <= input.size());
    return;
  }
  std::array<std::uint8_t, kBodyBytes> again{};
  require(encode_rdmaconfig(*body, again).value_or(0) == kBodyBytes);
  require(std::equal(again.begin(), again.end(), input.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input(data, size);
  check(decode_rdmaconfig_request(input), input);
  check(decode_rdmaconfig_reply(input), input);
  return 0;
}
