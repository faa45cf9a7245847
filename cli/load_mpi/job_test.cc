// Jobs that end well, and jobs that cannot begin, by mpirun on hosts of their own.
#include "cluster.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/base/histogram.h>

namespace rpcrdma::load_mpi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Job : public testing::Test {
 protected:
  void SetUp() override {
    if (!Cluster::permitted()) GTEST_SKIP() << "only root can make hosts";
  }
};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST_F(Job, WrongArgumentsAreOneLine) {
  const Cluster cluster(4);
  ASSERT_TRUE(cluster.ok());
  struct Case {
    std::vector<std::string> arguments;
    std::string line;
  };
  const std::vector<Case> cases{
      {{"10.77.0.10", "--depth", "0"}, "--depth 0"},
      {{"10.77.0.10", "--nosuch"}, "--nosuch"},
      {{"10.77.0.10", "--pattern", "star"}, "star"},
      {{"10.77.0.10", "--network", "eth0"}, "--network: HOST is given"},
      {{"10.77.0.10", "--interval", "100ms"}, "whole seconds"},
      {{"10.77.0.10", "--stuck-after", "1s"}, "at least 3s"},
      {{"--network", "ib7"}, "--network ib7"},
      {{"10.77.0.10", "--hlog", "/nosuch/file"}, "/nosuch/file"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.line);
    const e2e::Result r = cluster.run(c.arguments);
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr(c.line));
    EXPECT_EQ(count_of(r.err, "rpcrdma-load-mpi: "), 1U) << r.err;
    EXPECT_EQ(r.out, "");
  }
}

TEST_F(Job, ARankThatCannotConnectIsNamed) {
  const Cluster cluster(4);
  ASSERT_TRUE(cluster.ok());
  const auto server = cluster.serve(0);
  // The route of one host leads nowhere.
  ASSERT_EQ(e2e::run("ip -n " + cluster.space(3) + " route add blackhole 10.77.0.10/32").status, 0);
  const e2e::Result r = cluster.run({"10.77.0.10", "--duration", "1s", "--timeout", "2s"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(count_of(r.err, "rpcrdma-load-mpi: "), 1U) << r.err;
  EXPECT_THAT(r.err, HasSubstr("rpcrdma-load-mpi: rank 2 (h3): "));
  EXPECT_EQ(r.out, "");
}

TEST_F(Job, WithoutAServerNoRankCanConnect) {
  const Cluster cluster(4);
  ASSERT_TRUE(cluster.ok());
  const e2e::Result r = cluster.run({"10.77.0.10", "--duration", "1s", "--timeout", "2s"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(count_of(r.err, "rpcrdma-load-mpi: "), 1U) << r.err;
  EXPECT_THAT(r.err, HasSubstr("10.77.0.10 port 20049"));
}

}  // namespace
}  // namespace rpcrdma::load_mpi
