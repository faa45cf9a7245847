// Runs `cmake --install` of the build that the test belongs to, into a directory of the test.
#pragma once

#include "support/command.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace rpcrdma::installation {

// Installs a component below DESTDIR, as a package does; `options`: further ones of `cmake
// --install`.
inline void install(const std::string& destdir, const std::string& component,
                    const std::string& options = {}) {
  const e2e::Result r =
      e2e::run(fmt::format("DESTDIR='{}' cmake --install " RPCRDMA_BUILD " --component {} {}",
                           destdir, component, options));
  ASSERT_EQ(r.status, 0) << component << ": " << r.out << r.err;
}

// The test's own compiler settings must not affect the program.
inline e2e::Result expect_ok(const std::string& command) {
  e2e::Result r = e2e::run(command);
  EXPECT_EQ(r.status, 0) << command << '\n' << r.out << r.err;
  return r;
}

}  // namespace rpcrdma::installation
