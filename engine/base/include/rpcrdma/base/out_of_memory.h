// Turns std::bad_alloc into an Error where a library's function returns Expected, and at the end of
// each thread, where an exception would end the process. Functions without an error to return let
// std::bad_alloc pass, as containers do, and nothing else.
#pragma once

#include <new>
#include <string>
#include <string_view>
#include <utility>

#include <rpcrdma/base/error.h>

namespace rpcrdma::base {

// Short enough for a std::string to hold without allocating.
inline constexpr const char* kOutOfMemory = "out of memory";

// "CONTEXT: out of memory"; without the context if there is no memory even for it.
[[nodiscard]] inline tl::unexpected<Error> out_of_memory(std::string_view context = {}) noexcept {
  Error error{kOutOfMemory};
  try {
    if (!context.empty()) error.message = std::string(context) + ": " + kOutOfMemory;
  } catch (const std::bad_alloc&) {
    // The short text remains.
  }
  return tl::unexpected(std::move(error));
}

// Whether out_of_memory() made this error. Code that treats other errors as a property of a file
// must not treat this one so.
[[nodiscard]] inline bool is_out_of_memory(const Error& error) {
  return error.message.ends_with(kOutOfMemory);
}

// Returns the result of `function`, an Expected, or out_of_memory().
template <typename Function>
[[nodiscard]] auto or_out_of_memory(std::string_view context, Function&& function)
    -> decltype(function()) {
  try {
    return std::forward<Function>(function)();
  } catch (const std::bad_alloc&) {
    return out_of_memory(context);
  }
}

}  // namespace rpcrdma::base
