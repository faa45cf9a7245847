// What fits into the header of a Call is taken, whatever its order; what is refused says why.
#include "../rules/bodies.h"
#include "../rules/run.h"
#include "matrix.h"
#include "scenes.h"
#include "words.h"

#include <algorithm>

#include <gmock/gmock.h>

namespace rpcrdma::hostile {
namespace {

using ::testing::SizeIs;

std::uint64_t filled(const std::vector<std::vector<wire::Segment>>& chunks) {
  std::uint64_t sum = 0;
  for (const auto& chunk : chunks) {
    for (const wire::Segment& s : chunk) sum += s.length;
  }
  return sum;
}

void expect_no_finding(const Stage& stage) {
  for (const rules::Finding& f :
       scenes::run_file(stage.packets(), rules::Profile::k8166).findings) {
    const bool by_rule = rules::find_rule(f.rule)->where != rules::Where::kDiagnosis;
    EXPECT_FALSE(by_rule && f.severity != rules::Severity::kNote) << f.rule << ": " << f.text;
  }
}

Message read_with_chunks(AgainstServer& s, std::uint32_t xid, std::size_t chunks,
                         std::size_t segments, std::uint32_t length) {
  Message call = scenes::call(xid, scenes::nfs3::read_call(xid, kLongCount));
  call.writes.resize(chunks);
  for (auto& chunk : call.writes) {
    // The analyzer searches 64 segments of one handle.
    constexpr std::size_t kOfOneHandle = 50;
    wire::Segment next;
    for (std::size_t i = 0; i < segments; ++i, next.offset += length) {
      if (i % kOfOneHandle == 0) {
        const auto some = static_cast<std::uint32_t>(std::min(segments - i, kOfOneHandle));
        next = s.advertise(some * length, i / kOfOneHandle);
      }
      next.length = length;
      chunk.push_back(next);
    }
  }
  return call;
}

TEST(LimitsOfAServer, AWriteChunkOfManySegments) {
  AgainstServer s{service::ServerOptions()};
  s.connect();
  s.exchange();
  s.send(read_with_chunks(s, 2, 1, 200, 41));
  const Message reply = s.next_message();
  EXPECT_EQ(reply.proc, wire::Proc::kMsg);
  ASSERT_THAT(reply.writes, SizeIs(1));
  EXPECT_THAT(reply.writes[0], SizeIs(200));
  EXPECT_EQ(filled(reply.writes), kLongCount);
  EXPECT_EQ(s.lives(), "the same connection");
  s.leave();
  expect_no_finding(s);
}

TEST(LimitsOfAServer, ManyWriteChunks) {
  AgainstServer s{service::ServerOptions()};
  s.connect();
  s.exchange();
  s.send(read_with_chunks(s, 2, 60, 1, kLongCount));
  const Message reply = s.next_message();
  EXPECT_EQ(reply.proc, wire::Proc::kMsg);
  ASSERT_THAT(reply.writes, SizeIs(60));
  EXPECT_EQ(reply.writes[0][0].length, kLongCount);
  EXPECT_EQ(filled(reply.writes), kLongCount);  // the others are unused
  EXPECT_EQ(s.lives(), "the same connection");
  s.leave();
}

TEST(LimitsOfAServer, ConfiguredOnesAreExplained) {
  service::ServerOptions options;
  options.responder.max_segments = 10;
  options.responder.max_write_chunks = 3;
  AgainstServer s{options};
  s.connect();
  s.exchange();
  s.send(read_with_chunks(s, 2, 1, 11, 800));
  EXPECT_EQ(in_words(s.next()), "ERR_CHUNK");
  s.send(read_with_chunks(s, 3, 4, 1, kLongCount));
  EXPECT_EQ(in_words(s.next()), "ERR_CHUNK");
  const auto reasons = s.server->counters().responder.refusals.reasons();
  ASSERT_THAT(reasons, SizeIs(2));
  EXPECT_EQ(reasons[0].why, "the chunks have more segments than are accepted");
  EXPECT_EQ(reasons[1].why, "the Write list has more chunks than are accepted");
  EXPECT_STREQ(reasons[1].error, "ERR_CHUNK");
  s.leave();
}

}  // namespace
}  // namespace rpcrdma::hostile
