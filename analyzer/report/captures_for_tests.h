// Analyzes captures in tests/captures.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::report::testing {

inline Report report_of(const std::string& name, const std::string& expression = "") {
  AnalysisOptions options;
  if (!expression.empty()) {
    auto filter = filter::compile(expression);
    EXPECT_TRUE(filter) << expression;
    if (!filter) return {};
    options.filter = std::move(*filter);
    options.filter_text = expression;
  }
  const auto analysis = std::make_unique<Analysis>(std::move(options));
  const auto source = capture::open_file(std::string(RPCRDMA_TEST_CAPTURES) + "/" + name);
  EXPECT_TRUE(source) << name;
  if (!source) return {};
  EXPECT_TRUE(analysis->pipeline().run(**source, {}, 1));
  analysis->pipeline().finish();
  analysis->finish((*source)->stats());
  return analysis->report();
}

// The capture `name` as it is with a snapshot length of `snaplen` bytes.
inline Report report_of_truncated(const std::string& name, std::size_t snaplen) {
  const auto source = capture::open_file(std::string(RPCRDMA_TEST_CAPTURES) + "/" + name);
  EXPECT_TRUE(source) << name;
  if (!source) return {};
  const auto analysis = std::make_unique<Analysis>(AnalysisOptions{});
  capture::Frame frame;
  while ((*source)->next(frame).value_or(false)) {
    frame.data = frame.data.first(std::min(frame.data.size(), snaplen));
    analysis->pipeline().frame(frame);
  }
  analysis->pipeline().finish();
  analysis->finish((*source)->stats());
  return analysis->report();
}

inline std::string json_of(const Report& report) {
  std::string text;
  write_json(report, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace rpcrdma::report::testing
