// Every endpoint refuses what it does not support, also a client without programs of its own.
#include "../rules/bodies.h"
#include "../rules/run.h"
#include "matrix.h"
#include "scenes.h"
#include "words.h"

#include <gtest/gtest.h>

namespace rpcrdma::hostile {
namespace {

using scenes::version2;

// The client makes Calls and serves none.
class PlainClient : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  void SetUp() override {
    client.accept();
    client.exchange();
  }
  [[nodiscard]] Message of_version(const Message& m) const {
    return GetParam() == 2 ? version2(m) : m;
  }
  [[nodiscard]] Message answer(const Bytes& content) {
    client.send(content);
    return client.next_message();
  }
  [[nodiscard]] Message answer(const Message& m) { return answer(scenes::encode(m)); }
  // Nothing of our endpoint is a violation, in its packets and in its recording.
  void expect_no_finding_against_us() {
    for (const Bytes& file : {client.packets(), client.recording()}) {
      for (const rules::Finding& f : scenes::run_file(file, rules::Profile::k8166).findings) {
        const bool by_rule = rules::find_rule(f.rule)->where != rules::Where::kDiagnosis;
        EXPECT_FALSE(by_rule && f.peer == kOurs.to_string()) << f.rule << ": " << f.text;
      }
    }
  }

  AgainstClient client{HostileScene::one_version(GetParam()), false};
};

TEST_P(PlainClient, AnswersReverseCalls) {
  for (std::uint32_t xid = 0x7001; xid < 0x7010; ++xid) {
    client.send(of_version(scenes::call(xid)));
    const Bytes reply = client.next();
    EXPECT_EQ(in_words(reply), "Reply, PROG_UNAVAIL");
    EXPECT_EQ(read_message(reply).xid, xid);
    EXPECT_EQ(read_message(reply).vers, GetParam());
    EXPECT_NE(read_message(reply).credit, 0U);
  }
  EXPECT_EQ(client.lives(), "the same connection");
  expect_no_finding_against_us();
}

TEST_P(PlainClient, RefusesOtherVersionsInTheirs) {
  for (const std::uint32_t version : {3U, 9U, 200U}) {
    const Message m =
        answer(with_byte(of_version(scenes::call(0x7001)), 7, static_cast<std::uint8_t>(version)));
    EXPECT_EQ(m.proc, wire::Proc::kError);
    EXPECT_EQ(m.error, wire::RdmaErr::kVers);
    EXPECT_EQ(m.xid, 0x7001U);
    EXPECT_EQ(m.vers, version);
    EXPECT_EQ(m.vers_low, GetParam());
    EXPECT_EQ(m.vers_high, GetParam());
  }
  EXPECT_EQ(client.lives(), "the same connection");
  expect_no_finding_against_us();
}

INSTANTIATE_TEST_SUITE_P(Versions, PlainClient, ::testing::Values(1, 2));

class PlainClientOfTwo : public PlainClient {};

// Sections 4.1 and 5.2.4 of draft-cel-nfsv4-rpcrdma-version-two-02.
TEST_P(PlainClientOfTwo, RefusesUnknownMessagesAndOptions) {
  const Message procedure = answer(with_byte(version2(scenes::call(0x7001)), 15, 9));
  EXPECT_EQ(procedure.error, wire::RdmaErr::kInvalProc);
  EXPECT_EQ(procedure.xid, 0x7001U);
  const Message header = answer(with_byte(version2(scenes::call(0x7002)), 24, 0xff));
  EXPECT_EQ(header.error, wire::RdmaErr::kChunk);
  EXPECT_EQ(header.xid, 0x7002U);
  Message option = version2(scenes::call(0x7003));
  option.proc = wire::Proc::kOptional;
  option.opttype = 99;
  for (const Bytes& payload : {Bytes{}, option.rpc}) {
    option.rpc = payload;
    const Message refusal = answer(option);
    EXPECT_EQ(refusal.error, wire::RdmaErr::kInvalOption);
    EXPECT_EQ(refusal.xid, 0x7003U);
    EXPECT_EQ(refusal.vers, 2U);
  }
  EXPECT_EQ(client.lives(), "the same connection");
  expect_no_finding_against_us();
}

INSTANTIATE_TEST_SUITE_P(Versions, PlainClientOfTwo, ::testing::Values(2));

}  // namespace
}  // namespace rpcrdma::hostile
