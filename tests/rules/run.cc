#include "run.h"

#include <gtest/gtest.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/report/pipeline.h>
#include <rpcrdma/rules/checker.h>

namespace rpcrdma::scenes {

Outcome run(const Scene& scene, rules::Profile profile) {
  const Bytes file = scene.pcap();
  const auto source = capture::open_memory(file);
  if (!source) {
    ADD_FAILURE() << source.error().message;
    return {};
  }
  rules::Findings findings({profile, nullptr});
  rules::Checker checker(findings);
  report::Pipeline pipeline(checker, {});
  checker.attach(pipeline.connections(), pipeline.model());
  const auto read = pipeline.run(**source, nullptr, 1);
  EXPECT_TRUE(read) << read.error().message;
  pipeline.finish();
  checker.finish();
  return {findings.list(), findings.withheld()};
}

}  // namespace rpcrdma::scenes
