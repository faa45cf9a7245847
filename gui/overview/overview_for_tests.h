// For tests: reports of captures.
#pragma once

#include "compare_input.h"

#include <atomic>
#include <string>

#include <gtest/gtest.h>

namespace rpcrdma::gui::testing {

inline std::string capture(const std::string& name) {
  return std::string(RPCRDMA_TEST_CAPTURES) + "/" + name;
}

inline report::Report report_of(const std::string& name) {
  const std::atomic<bool> cancelled{false};
  CompareInput input;
  input.paths = {capture(name)};
  auto report = analyze(input, cancelled);
  if (!report) {
    ADD_FAILURE() << report.error();
    return {};
  }
  return std::move(*report);
}

}  // namespace rpcrdma::gui::testing
