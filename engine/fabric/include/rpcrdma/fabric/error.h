// What a provider says when it cannot do what it was asked for.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

namespace rpcrdma::fabric {

enum class Errc : std::uint8_t {
  kBadArgument,   // cannot be done by anybody: a span outside its memory, a request too long
  kNoRoom,        // a queue is full, a limit reached; later it may succeed
  kNotConnected,  // the connection is not, or no longer, established
  kSystem,        // the operating system refused
};

struct Error {
  Errc code = Errc::kBadArgument;
  std::string message;  // one clause for a person, without a full stop; may be empty for kNoRoom
                        // and kNotConnected, which are met on hot paths
};

template <typename T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string message = {}) {
  return tl::unexpected(Error{code, std::move(message)});
}

}  // namespace rpcrdma::fabric
