// Starts threads where the system may have none left.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <rpcrdma/base/out_of_memory.h>

namespace rpcrdma::base {

// `body` must let no exception pass: it would end the process. Errors: the system has no more
// threads, or no memory for one.
template <typename Body>
[[nodiscard]] Expected<std::thread> start_thread(Body&& body) {
  return or_out_of_memory("cannot start a thread", [&]() -> Expected<std::thread> {
    try {
      return std::thread(std::forward<Body>(body));
    } catch (const std::system_error& error) {
      return fail(std::string("cannot start a thread: ") + error.code().message());
    }
  });
}

}  // namespace rpcrdma::base
