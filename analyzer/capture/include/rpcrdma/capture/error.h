// Errors of the analyzer's libraries: one sentence for a person, made where the context is known.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace rpcrdma::capture {

struct Error {
  std::string message;  // names the file and the offset or option, says what to do where that helps
};

template <typename T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(std::string message) {
  return tl::unexpected(Error{std::move(message)});
}

}  // namespace rpcrdma::capture
