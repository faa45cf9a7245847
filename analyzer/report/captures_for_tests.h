// Reports of the captures in tests/captures.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::report::testing {

inline Report report_of(const std::string& name, const std::string& expression = "") {
  std::unique_ptr<Analysis> analysis = std::make_unique<Analysis>();
  model::ModelOptions keep;
  if (!expression.empty()) {
    auto filter = filter::compile(expression);
    EXPECT_TRUE(filter) << expression;
    if (!filter) return {};
    keep.keep_bytes = filter->needs_bytes();
    analysis = std::make_unique<Analysis>(rules::Profile::k8166, std::move(*filter), expression);
  }
  Pipeline pipeline(*analysis, keep);
  analysis->set_context({&pipeline.connections(), &pipeline.model()}, &pipeline.frames());
  const auto source = capture::open_file(std::string(RPCRDMA_TEST_CAPTURES) + "/" + name);
  EXPECT_TRUE(source) << name;
  if (!source) return {};
  EXPECT_TRUE(pipeline.run(**source, {}, 1));
  pipeline.finish();
  analysis->finish(pipeline, (*source)->stats());
  return analysis->report();
}

inline std::string json_of(const Report& report) {
  std::string text;
  write_json(report, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace rpcrdma::report::testing
