// The error of a library whose callers only show it: one sentence for a person, composed where the
// context is known. fabric::Error has a code as well, by which its callers decide what to do.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace rpcrdma::base {

struct Error {
  std::string message;  // names the file and the offset or option, says what to do where that helps
};

template <typename T>
using Expected = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(std::string message) {
  return tl::unexpected(Error{std::move(message)});
}

}  // namespace rpcrdma::base
