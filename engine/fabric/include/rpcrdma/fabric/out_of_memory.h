// Turns std::bad_alloc into an ordinary error. No peer may end a program by exhausting its memory,
// so code that handles a peer's request ends that peer's connection or drops its packet, and
// continues.
#pragma once

#include <new>

#include <rpcrdma/fabric/error.h>

namespace rpcrdma::fabric {

// Short enough for a std::string to hold without allocating.
inline constexpr const char* kOutOfMemory = "out of memory";

// Returns the result of `function`, an Expected; kSystem if it runs out of memory.
template <typename Function>
[[nodiscard]] auto or_out_of_memory(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return fail(Errc::kSystem, kOutOfMemory);
  }
}

}  // namespace rpcrdma::fabric
