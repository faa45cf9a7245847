// CM private data that decodes encodes to the same eight bytes; its sizes are in range, and survive
// conversion to a size code and back.
#include "fuzz_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/wire/private_data.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rpcrdma::wire;
  using rpcrdma::fuzz::require;
  const auto decoded = decode_private_data({data, size});
  if (!decoded) {
    require(decoded.error().offset <= size);
    return 0;
  }
  const auto again = encode_private_data(*decoded);
  require(std::equal(again.begin(), again.end(), data));
  require(inline_size_code(decoded->send_size()) == decoded->send_code);
  require(inline_size_code(decoded->recv_size()) == decoded->recv_code);
  return 0;
}
