// What the command prints for the capture of each dialect, against EXPECTED.md beside them. After a
// change that is meant: RPCRDMA_WRITE_EXPECTED=1 build/release/bin/rule_captures_test.
#include "../e2e/command.h"
#include "dialect_scenes.h"

#include <cstdlib>

#include <gmock/gmock.h>

namespace rpcrdma::scenes {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kDialects = std::string(RPCRDMA_TEST_CAPTURES) + "/dialects/";

std::string file(const DialectScene& scene) {
  return kDialects + scene.name + ".pcap";
}
json analyzed(const std::string& arguments) {
  return e2e::try_parse_json(e2e::run("RPCRDMA analyze --json " + arguments).out);
}

TEST(Dialects, CapturesAreThoseOfTheScenes) {
  for (const DialectScene& d : dialect_scenes()) {
    Scene scene;
    d.make(scene);
    const Bytes bytes = scene.pcap();
    EXPECT_EQ(e2e::read_file(file(d)), std::string(bytes.begin(), bytes.end())) << d.name;
  }
}

TEST(Dialects, DecodePrintsWhatIsExpected) {
  std::string now =
      "# What `rpcrdma decode` says of each capture\n\nMade by rule_captures_test; see "
      "README.md.\n";
  for (const DialectScene& d : dialect_scenes()) {
    const e2e::Result r = e2e::run("RPCRDMA decode " + file(d));
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    EXPECT_THAT(r.out, Not(HasSubstr("malformed")));
    EXPECT_THAT(r.out, Not(HasSubstr("unknown")));
    now += "\n## " + d.name + "\n\n```\n" + r.out + "```\n";
  }
  if (std::getenv("RPCRDMA_WRITE_EXPECTED") != nullptr) {
    e2e::write_file(kDialects + "EXPECTED.md", now);
    return;
  }
  EXPECT_EQ(e2e::read_file(kDialects + "EXPECTED.md"), now);
}

TEST(Dialects, TheTreeHasAllFieldsAndNothingMalformed) {
  for (const DialectScene& d : dialect_scenes()) {
    const e2e::Result r = e2e::run("RPCRDMA decode -v " + file(d));
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("Dialect: " + d.name));
    EXPECT_THAT(r.out, Not(HasSubstr("alformed"))) << d.name;
    EXPECT_THAT(r.out, HasSubstr("Property: "));
    EXPECT_THAT(r.out, Not(HasSubstr("Property: unknown"))) << d.name;
    EXPECT_THAT(r.out, Not(HasSubstr("Error: unknown"))) << d.name;
  }
}

// Calls that an RDMA_ERROR refuses are refused in every dialect; other rules are not known of them.
TEST(Dialects, AnalyzeNamesThemWithTheirEvidenceAndFindsNothingWrong) {
  for (const DialectScene& d : dialect_scenes()) {
    const json report = analyzed(file(d));
    const json& c = report["connections"][0];
    EXPECT_EQ(c["dialect"]["name"], d.name);
    EXPECT_EQ(c["dialect"]["frame"], 4) << d.name;
    EXPECT_EQ(c["dialect"]["reason"], d.reason);
    EXPECT_EQ(c["malformed"], 0);
    for (const json& f : report["findings"]) EXPECT_EQ(f["rule"], "CALL-REFUSED") << f.dump(1);
    const int status = report["connections"][0]["forward"]["errors"] == 0 ? 0 : 1;
    EXPECT_EQ(report["findings"].empty(), status == 0) << report["findings"].dump(1);
    const e2e::Result text = e2e::run("RPCRDMA analyze " + file(d));
    EXPECT_EQ(text.status, status);
    EXPECT_THAT(text.out, HasSubstr("dialect    " + d.name + ": frame 4, " + d.reason));
    const e2e::TemporaryFolder folder;
    EXPECT_EQ(e2e::run("RPCRDMA analyze --html " + folder.file("page") + " " + file(d)).status,
              status);
    EXPECT_THAT(e2e::read_file(folder.file("page")),
                HasSubstr("RPC-over-RDMA v2 (" + d.name + ")"));
  }
}

TEST(Dialects, CallsAreJoinedToTheirReplies) {
  for (const DialectScene& d : dialect_scenes()) {
    for (const json& m : e2e::json_lines(e2e::run("RPCRDMA decode --json " + file(d)).out)) {
      EXPECT_EQ(m["dialect"], d.name);
      const bool answers = m["kind"] == "reply" || m["kind"] == "error";
      EXPECT_EQ(m.contains("match") && !m["match"].is_null(), answers || m["kind"] == "call") << m;
      if (m["kind"] == "call") {
        EXPECT_GT(m["latency_us"], 0) << m;
      }
    }
  }
}

// Told so, a capture is read as of another dialect; what does not fit is malformed, and no rule is
// held against it.
TEST(Dialects, TheyCanBeReported) {
  const json reported = analyzed("--v2-dialect flags " + file(dialect_scenes()[2]));
  EXPECT_EQ(reported["connections"][0]["dialect"]["name"], "flags");
  EXPECT_EQ(reported["connections"][0]["dialect"]["reason"], "chosen by the user");
  EXPECT_TRUE(reported["connections"][0]["dialect"]["frame"].is_null());
  EXPECT_GT(reported["connections"][0]["malformed"], 0);
  const json plain = analyzed("--v2-dialect draft-02 " + file(dialect_scenes()[2]));
  EXPECT_FALSE(plain["connections"][0].contains("dialect"));
  EXPECT_GT(plain["findings"].size(), 0U);
  EXPECT_NE(e2e::run("RPCRDMA analyze --v2-dialect draft-99 " + file(dialect_scenes()[0])).status,
            0);
}

TEST(Dialects, FiltersKnowTheirFields) {
  const auto matches = [](const std::string& filter, std::size_t scene) {
    const e2e::Result r =
        e2e::run("RPCRDMA decode --json -Y '" + filter + "' " + file(dialect_scenes()[scene]));
    EXPECT_EQ(r.status, 0) << r.err;
    return e2e::json_lines(r.out).size();
  };
  EXPECT_EQ(matches("rpcrdma.proc == RDMA2_CALL_EXTERNAL", 2), 1U);
  EXPECT_EQ(matches("rpcrdma.kind == control", 2), 6U);
  EXPECT_EQ(matches("rpcrdma.dialect == flags", 1), 11U);
  EXPECT_EQ(matches("rpcrdma.dialect == flags", 2), 0U);
  EXPECT_EQ(matches("rpcrdma.flags.more == 1", 1), 1U);
  EXPECT_EQ(matches("rpcrdma.prop.id == RBSIZ", 0), 3U);
  EXPECT_EQ(matches("rpcrdma.error == RDMA2_ERR_READ_CHUNKS", 0), 1U);
}

TEST(Dialects, WholeMessagesAreTakenOut) {
  const e2e::TemporaryFolder folder;
  const e2e::Result r = e2e::run("RPCRDMA extract --message --xid 3 -d " + folder.path() + " " +
                                 file(dialect_scenes()[2]));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  std::size_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    bytes += entry.file_size();
  }
  EXPECT_GT(bytes, 2000U);
}

}  // namespace
}  // namespace rpcrdma::scenes
