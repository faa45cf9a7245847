// What becomes of std::bad_alloc: an error like others. No peer ends a program by what it asks for,
// so whoever works for one of them ends that one's connection, or drops its packet, and goes on.
#pragma once

#include <new>

#include <rpcrdma/fabric/error.h>

namespace rpcrdma::fabric {

// Short enough for a std::string to hold without asking for more.
inline constexpr const char* kOutOfMemory = "out of memory";

// What `function` returns, an Expected; kSystem where it runs out of memory.
template <typename Function>
[[nodiscard]] auto or_out_of_memory(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return fail(Errc::kSystem, kOutOfMemory);
  }
}

}  // namespace rpcrdma::fabric
