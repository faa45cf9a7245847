#include <random>

#include <rpcrdma/soft/secret.h>

namespace rpcrdma::soft {

Secret Secret::of_system() {
  std::random_device device;  // getentropy(), or the processor's generator
  const auto word = [&] {
    const std::uint64_t high = device();
    return high << 32 | device();
  };
  const std::uint64_t first = word();
  return {first, word()};
}

}  // namespace rpcrdma::soft
