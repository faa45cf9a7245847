#include <rpcrdma/wire/error.h>

namespace rpcrdma::wire {

std::string describe(const DecodeError& error) {
  std::string text = "offset " + std::to_string(error.offset) + ": " + error.what;
  if (*error.rule != '\0') text += std::string(" (") + error.rule + ")";
  return text;
}

}  // namespace rpcrdma::wire
