// Reports of the captures in tests/captures.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/report_json.h>

namespace rpcrdma::report::testing {

inline Report report_of(const std::string& name) {
  Analysis analysis;
  Pipeline pipeline(analysis, {});
  analysis.set_context({&pipeline.tracker(), &pipeline.model()});
  const auto source = capture::open_file(std::string(RPCRDMA_TEST_CAPTURES) + "/" + name);
  EXPECT_TRUE(source) << name;
  if (!source) return {};
  EXPECT_TRUE(pipeline.run(**source, {}, 1));
  pipeline.finish();
  analysis.finish(pipeline, (*source)->stats());
  return analysis.report();
}

inline std::string json_of(const Report& report) {
  std::string text;
  write_json(report, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace rpcrdma::report::testing
