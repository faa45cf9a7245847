// The error type of libraries whose callers only show it: one sentence for the user, written where
// the context is known. fabric::Error also has a code, since its callers act on it.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace rpcrdma::base {

struct Error {
  std::string message;  // names the file and the offset or option, and the remedy if there is one
};

template <typename T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(std::string message) {
  return tl::unexpected(Error{std::move(message)});
}

}  // namespace rpcrdma::base
