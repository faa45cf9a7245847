// `rpcrdma analyze` with the recordings of both ends: of real endpoints, whose delays are known.
#include "support/background.h"
#include "support/event_stream.h"
#include "support/own_address.h"

#include <gmock/gmock.h>

namespace rpcrdma::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class EndsOfCalls : public trace::OwnRuntime {
 protected:
  const std::string server_ = own_address(1);
  const std::string client_ = own_address(2);

  // Records both ends of a load.
  void record(std::vector<std::string> serving, const std::string& load) {
    serving.insert(serving.begin(),
                   {"serve", "--listen", server_, "--record", path("server.pcapng")});
    Background server(serving);
    ASSERT_TRUE(server.wait_for("listening"));
    const Result r = run("RPCRDMA load " + server_ + " --from " + client_ + " " + load +
                         " --record " + path("client.pcapng"));
    EXPECT_EQ(r.status, 0) << r.err;
    server.signal(SIGINT);
    EXPECT_EQ(server.finish(), 0) << server.out;
  }
  [[nodiscard]] std::string both() const {
    return path("client.pcapng") + " " + path("server.pcapng");
  }
  [[nodiscard]] json ends(const std::string& options = {}) const {
    const Result r = run("RPCRDMA analyze --json " + options + " " + both());
    EXPECT_NE(r.status, 2) << r.err;
    return try_parse_json(r.out)["ends"];
  }
};

TEST_F(EndsOfCalls, ASlowServerIsNamed) {
  record({}, "--procedure sleep --sleep 20ms --count 40");
  const json found = ends();
  EXPECT_EQ(found["calls"], 40);
  EXPECT_EQ(found["withheld"], 0) << found;
  EXPECT_GE(found["sides"]["server"].get<int>(), 39) << found;
  EXPECT_THAT(found["verdict"].get<std::string>(), StartsWith("The server: "));
  ASSERT_THAT(found["sources"], SizeIs(2));
  EXPECT_EQ(found["sources"][0]["reference"], true);
  EXPECT_TRUE(found["sources"][1]["bound_ns"].is_number()) << found;

  const Result text = run("RPCRDMA analyze " + both());
  EXPECT_THAT(text.out.substr(0, text.out.find('\n')), HasSubstr("The server: "));
  EXPECT_THAT(text.out, HasSubstr("\nBoth ends\n"));
  EXPECT_THAT(text.out, HasSubstr("clock      of server.pcapng: "));
  EXPECT_THAT(text.out, HasSubstr("right within "));
}

TEST_F(EndsOfCalls, OneCreditIsTheLimitOfTheServerThatGrantsIt) {
  record({"--credits", "1"}, "--procedure sleep --sleep 5ms --depth 8 --count 80");
  const json found = ends();
  EXPECT_GE(found["sides"]["server"].get<int>(), 79) << found;
  EXPECT_THAT(found["verdict"].get<std::string>(), HasSubstr("waiting for a credit"));
}

TEST_F(EndsOfCalls, OneFileOrForeignFilesHaveNoSection) {
  record({}, "--count 20");
  for (const std::string& files :
       {path("client.pcapng"), path("client.pcapng") + " " + capture("linux-nfs41.pcap")}) {
    const Result r = run("RPCRDMA analyze --json " + files);
    EXPECT_FALSE(try_parse_json(r.out).contains("ends")) << files;
  }
}

}  // namespace
}  // namespace rpcrdma::e2e
