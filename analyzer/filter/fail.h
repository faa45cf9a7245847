#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

#include <rpcrdma/filter/error.h>

namespace rpcrdma::filter {

using Failure = tl::unexpected<FilterError>;

inline Failure fail_at(std::size_t offset, std::size_t length, std::string message) {
  return Failure(FilterError{offset, length, std::move(message)});
}

}  // namespace rpcrdma::filter
