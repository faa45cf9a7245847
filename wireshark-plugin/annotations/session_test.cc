// Notes of frames, with real traffic. The expected values were read from it by other tools; frame
// numbers are those of the captures.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/annotations/session.h>
#include <rpcrdma/capture/source.h>

namespace rpcrdma::annotations {
namespace {

struct Kept {
  capture::Frame frame;
  std::vector<std::uint8_t> data;
};

std::vector<Kept> frames_of(const std::string& name) {
  const auto source = capture::open_file(std::string(RPCRDMA_TEST_CAPTURES) + "/" + name);
  EXPECT_TRUE(source) << name;
  std::vector<Kept> all;
  if (!source) return all;
  capture::Frame frame;
  while ((*source)->next(frame).value_or(false)) {
    all.push_back({frame, {frame.data.begin(), frame.data.end()}});
  }
  return all;
}

void give(Session& session, const Kept& kept) {
  capture::Frame frame = kept.frame;
  frame.data = kept.data;
  session.frame(frame);
}

std::unique_ptr<Session> session_of(const std::string& name, const Options& options = {}) {
  auto session = std::make_unique<Session>(options);
  for (const Kept& kept : frames_of(name)) give(*session, kept);
  return session;
}

const MessageNote* message_of(const Session& session, std::uint64_t frame) {
  const FrameAnnotation* const note = session.find(frame);
  return note != nullptr && note->message != 0 ? &session.message(note->message) : nullptr;
}

// The messages whose RPC message is complete with a frame, by the frames of their Sends.
std::vector<std::uint64_t> rpcs_with(const Session& session, std::uint64_t frame) {
  std::vector<std::uint64_t> sends;
  const FrameAnnotation* const note = session.find(frame);
  for (Ref r = note != nullptr ? note->rpc : 0; r != 0; r = session.rpc(r).next) {
    sends.push_back(session.message(session.rpc(r).message).frame);
  }
  return sends;
}

using Frames = std::vector<std::uint64_t>;
constexpr std::uint64_t kFrames41 = 881;

TEST(NotesSession, CallAndReplyKnowEachOther) {
  const auto session = session_of("linux-nfs41.pcap");
  const MessageNote* const call = message_of(*session, 187);
  const MessageNote* const reply = message_of(*session, 253);
  ASSERT_TRUE(call != nullptr && reply != nullptr);
  EXPECT_EQ(call->kind, model::Kind::kCall);
  EXPECT_EQ(call->frame, 187U);
  EXPECT_EQ(call->match_frame, 253U);
  EXPECT_EQ(reply->kind, model::Kind::kReply);
  EXPECT_EQ(reply->match_frame, 187U);
  EXPECT_EQ(reply->call, session->find(187)->message);
  EXPECT_EQ(reply->latency_ns, reply->time_ns - call->time_ns);
  EXPECT_EQ(call->latency_ns, reply->latency_ns);
  EXPECT_EQ(call->label, "NFS v4 READ");
  EXPECT_EQ(reply->label, call->label);
  EXPECT_EQ(reply->procedure.program, 100003U);
  EXPECT_NE(call->summary.find("0xf722da5e"), std::string::npos) << call->summary;
  EXPECT_FALSE(call->before.empty() || call->behind.empty());
  EXPECT_FALSE(reply->before.empty() || reply->behind.empty());
  EXPECT_EQ(call->connection, 1U);
  EXPECT_FALSE(call->reverse);
}

// The Call alone does not show its Reply.
TEST(NotesSession, CallWaitsForItsReply) {
  Session session({});
  const std::vector<Kept> frames = frames_of("linux-nfs41.pcap");
  ASSERT_EQ(frames.size(), kFrames41);
  for (std::size_t i = 0; i < 187; ++i) give(session, frames[i]);
  const MessageNote* const call = message_of(session, 187);
  ASSERT_NE(call, nullptr);
  const FieldLog before_reply = call->behind;
  EXPECT_EQ(call->match_frame, 0U);
  EXPECT_LT(call->latency_ns, 0);
  EXPECT_TRUE(call->operations.empty());
  for (std::size_t i = 187; i < 253; ++i) give(session, frames[i]);
  EXPECT_EQ(call->match_frame, 253U);
  EXPECT_FALSE(call->operations.empty());
  EXPECT_GT(call->behind.size(), before_reply.size());
}

TEST(NotesSession, RpcOfAnInlineMessageIsInItsSend) {
  const auto session = session_of("linux-nfs41.pcap");
  EXPECT_EQ(rpcs_with(*session, 137), Frames{137});
  EXPECT_EQ(rpcs_with(*session, 139), Frames{139});
  const RpcNote& call = session->rpc(session->find(137)->rpc);
  const RpcNote& reply = session->rpc(session->find(139)->rpc);
  EXPECT_TRUE(call.in_send);
  EXPECT_TRUE(call.bytes.empty());
  EXPECT_EQ(call.offset, message_of(*session, 137)->header_length);
  EXPECT_EQ(call.length, call.reported_length);
  EXPECT_EQ(reply.conversation, call.conversation);
  EXPECT_EQ(message_of(*session, 137)->rpc_frame, 137U);
}

// Four operations read its data; the last one ends with frame 580.
TEST(NotesSession, RpcOfACallWithReadChunksIsWholeWithTheLastReadResponse) {
  const auto session = session_of("linux-nfs41.pcap");
  const MessageNote* const call = message_of(*session, 505);
  ASSERT_NE(call, nullptr);
  ASSERT_EQ(call->operations.size(), 4U);
  EXPECT_EQ(call->rpc_frame, 580U);
  EXPECT_EQ(rpcs_with(*session, 505), Frames{});
  EXPECT_EQ(rpcs_with(*session, 580), Frames{505});
  const RpcNote& rpc = session->rpc(session->find(580)->rpc);
  EXPECT_FALSE(rpc.in_send);
  EXPECT_EQ(rpc.bytes.size(), rpc.length);
  EXPECT_EQ(rpc.length, 248 - call->header_length + 65536);
  EXPECT_EQ(rpcs_with(*session, 647), Frames{647});
  EXPECT_EQ(session->rpc(session->find(647)->rpc).conversation, rpc.conversation);
}

// RDMA Writes precede the Reply that returns their chunks.
TEST(NotesSession, RpcOfAReplyIsWholeWithItsSend) {
  const auto session = session_of("linux-nfs41.pcap");
  EXPECT_EQ(rpcs_with(*session, 253), Frames{253});  // READ through a Write chunk
  const RpcNote& read = session->rpc(session->find(253)->rpc);
  EXPECT_FALSE(read.in_send);
  EXPECT_GT(read.length, 65536U);
  EXPECT_EQ(rpcs_with(*session, 177), Frames{177});  // READDIR through a Reply chunk
  EXPECT_EQ(session->rpc(session->find(177)->rpc).length, 27436U);
}

TEST(NotesSession, EveryRpcIsThereOnceAndCallsComeFirst) {
  for (const char* name : {"linux-nfs41.pcap", "linux-nfs3.pcap", "linux-deleg.pcap"}) {
    const auto session = session_of(name);
    std::set<Ref> seen;
    std::size_t messages = 0;
    for (std::uint64_t frame = 1; frame <= 2000; ++frame) {
      const FrameAnnotation* const note = session->find(frame);
      if (note == nullptr) continue;
      messages += note->message != 0 ? 1 : 0;
      for (Ref r = note->rpc; r != 0; r = session->rpc(r).next) {
        const RpcNote& rpc = session->rpc(r);
        const MessageNote& m = session->message(rpc.message);
        EXPECT_TRUE(seen.insert(rpc.message).second) << name << " frame " << frame;
        EXPECT_EQ(m.rpc_frame, frame) << name;
        EXPECT_EQ(m.conversation, rpc.conversation) << name;
        EXPECT_EQ(seen.count(m.call), 1U) << name << ": Reply before its Call, frame " << frame;
      }
    }
    EXPECT_EQ(seen.size(), messages) << name;
    EXPECT_GT(messages, 50U) << name;
  }
}

// Wireshark's dissectors would decode padding as arguments: they get only the bytes before it, as
// the front of a longer message.
TEST(NotesSession, AnRpcThatIsNotWholeEndsWhereItIsNoLongerCertain) {
  const char* const name = "cases/msgp-threshold-0.pcap";
  const auto session = session_of(name);
  std::size_t incomplete = 0;
  for (std::uint64_t frame = 1; frame <= frames_of(name).size(); ++frame) {
    const MessageNote* const m = message_of(*session, frame);
    if (m == nullptr || m->summary.find("not rebuilt)") == std::string::npos) continue;
    ++incomplete;
    ASSERT_NE(m->rpc_frame, 0U) << m->summary;
    const RpcNote& rpc = session->rpc(session->find(m->rpc_frame)->rpc);
    EXPECT_LT(rpc.length, rpc.reported_length) << m->summary;
  }
  EXPECT_EQ(incomplete, 1U);
}

// A padded Call and a Reply that is read are whole for Wireshark.
TEST(NotesSession, AnRpcThatIsRebuiltIsWhole) {
  for (const char* name :
       {"cases/protocol-c03-msgp-write.pcap", "cases/protocol-own-5666-no-offer.pcapng"}) {
    const auto session = session_of(name);
    std::size_t rpcs = 0;
    for (std::uint64_t frame = 1; frame <= frames_of(name).size(); ++frame) {
      const MessageNote* const m = message_of(*session, frame);
      if (m == nullptr || m->rpc_frame == 0) continue;
      ++rpcs;
      const RpcNote& rpc = session->rpc(session->find(m->rpc_frame)->rpc);
      EXPECT_EQ(rpc.length, rpc.reported_length) << name << ": " << m->summary;
    }
    EXPECT_GE(rpcs, 4U) << name;
  }
}

// The last three frames are ARP, the last one 90 s behind the Calls without Reply.
TEST(NotesSession, CallsAgeUntilTheLastFrameOfAnyKind) {
  constexpr std::uint64_t kLastOfRdma = 71;
  const auto findings = [&](bool others) {
    Session session{Options{}};
    for (const Kept& kept : frames_of("cases/hung-32-calls-90s.pcap")) {
      if (kept.frame.number <= kLastOfRdma) {
        give(session, kept);
      } else if (others) {
        session.other_frame(kept.frame.number, kept.frame.time_ns);
      }
    }
    const std::size_t before = session.findings();
    session.finish();
    return session.findings() - before;
  };
  EXPECT_GE(findings(true), findings(false) + 32);
}

TEST(NotesSession, OperationsAreWithTheirPackets) {
  const auto session = session_of("linux-nfs41.pcap");
  const MessageNote* const call = message_of(*session, 505);
  ASSERT_NE(call, nullptr);
  const Ref ref = session->find(505)->message;
  for (const model::ChunkOperation& o : call->operations) {
    for (const std::uint64_t frame : {o.first_frame, o.last_frame}) {
      ASSERT_NE(session->find(frame), nullptr) << frame;
      ASSERT_NE(session->find(frame)->operation, 0U) << frame;
      const OperationNote& note = session->operation(session->find(frame)->operation);
      EXPECT_EQ(note.call, ref);
      EXPECT_TRUE(note.ended);
      EXPECT_EQ(note.operation.first_frame, o.first_frame);
      EXPECT_EQ(note.operation.last_frame, o.last_frame);
      EXPECT_EQ(note.operation.offset, o.offset);
      EXPECT_EQ(note.operation.bytes, o.bytes);
      EXPECT_EQ(note.operation.list, model::ChunkList::kRead);
    }
  }
  EXPECT_EQ(call->operations[0].first_frame, 507U);
  EXPECT_EQ(call->operations[0].last_frame, 536U);
  // An RDMA operation with a READ's data.
  const OperationNote& middle = session->operation(session->find(200)->operation);
  EXPECT_EQ(session->message(middle.call).frame, 187U);
  EXPECT_EQ(middle.operation.list, model::ChunkList::kWrite);
}

TEST(NotesSession, CallsInTheReverseDirectionAreApart) {
  const auto session = session_of("linux-deleg.pcap");
  std::set<std::uint32_t> forward, reverse;
  for (std::uint64_t frame = 1; frame <= 511; ++frame) {
    const MessageNote* const m = message_of(*session, frame);
    if (m != nullptr) (m->reverse ? reverse : forward).insert(m->conversation);
  }
  ASSERT_FALSE(reverse.empty());
  for (const std::uint32_t conversation : reverse) EXPECT_EQ(forward.count(conversation), 0U);
}

TEST(NotesSession, FindingsAreWithTheirFrames) {
  const auto session = session_of("rules/RD-01.pcap");
  session->finish();
  const FrameAnnotation* const note = session->find(10);
  ASSERT_NE(note, nullptr);
  ASSERT_NE(note->finding, 0U);
  const FindingNote& finding = session->finding(note->finding);
  EXPECT_STREQ(rules::rule(finding.rule).name, "RD-01");
  EXPECT_EQ(finding.severity, rules::Severity::kError);
  EXPECT_EQ(finding.frame, 10U);
  EXPECT_EQ(finding.connection, 1U);
  EXPECT_EQ(finding.peer, "192.0.2.2");
  EXPECT_FALSE(finding.text.empty() || finding.advice.empty());

  std::set<Ref> listed;
  for (std::uint64_t frame = 0; frame <= 19; ++frame) {
    const FrameAnnotation* const n = session->find(frame);
    for (Ref r = n != nullptr ? n->finding : 0; r != 0; r = session->finding(r).next) {
      EXPECT_EQ(session->finding(r).frame, frame);
      EXPECT_TRUE(listed.insert(r).second);
    }
  }
  EXPECT_EQ(listed.size(), session->findings());
}

TEST(NotesSession, ProfileDecidesWhatIsAFinding) {
  Options options;
  options.profile = rules::Profile::k5666;
  const auto session = session_of("rules/RD-01-5666.pcap", options);
  session->finish();
  for (std::size_t i = 1; i <= session->findings(); ++i) {
    const FindingNote& f = session->finding(static_cast<Ref>(i));
    EXPECT_FALSE(std::string(rules::rule(f.rule).name) == "RD-01" &&
                 f.severity == rules::Severity::kError);
  }
}

// The Call in frame 187 has no Reply.
TEST(NotesSession, FinishShowsWhatWaited) {
  Session session({});
  const std::vector<Kept> frames = frames_of("linux-nfs41.pcap");
  ASSERT_EQ(frames.size(), kFrames41);
  for (std::size_t i = 0; i < 252; ++i) give(session, frames[i]);
  const std::size_t recorded = session.findings();
  const std::size_t unfinished = message_of(session, 187)->operations.size();
  EXPECT_FALSE(session.finished());
  session.finish();
  EXPECT_TRUE(session.finished());
  EXPECT_GT(session.findings(), recorded);
  EXPECT_GT(message_of(session, 187)->operations.size(), unfinished);
  ASSERT_NE(session.connection(1), nullptr);
  EXPECT_EQ(session.connection(1)->unanswered, 1U);
  // Later frames change nothing, nor does another finish().
  const std::size_t in_all = session.findings();
  give(session, frames[252]);
  session.finish();
  EXPECT_EQ(message_of(session, 253), nullptr);
  EXPECT_EQ(session.findings(), in_all);
  EXPECT_STREQ(session.failure(), "");
}

TEST(NotesSession, FramesThatCameBeforeArePassedOver) {
  const std::vector<Kept> frames = frames_of("linux-nfs41.pcap");
  ASSERT_EQ(frames.size(), kFrames41);
  const auto once = session_of("linux-nfs41.pcap");
  once->finish();
  Session again({});
  for (std::size_t i = 0; i < frames.size(); ++i) {
    give(again, frames[i]);
    give(again, frames[i]);
    give(again, frames[i / 2]);
  }
  again.finish();
  EXPECT_EQ(again.findings(), once->findings());
  for (std::uint64_t frame = 1; frame <= kFrames41; ++frame) {
    const MessageNote* const a = message_of(*once, frame);
    const MessageNote* const b = message_of(again, frame);
    ASSERT_EQ(a == nullptr, b == nullptr) << frame;
    EXPECT_EQ(rpcs_with(*once, frame), rpcs_with(again, frame)) << frame;
    if (a == nullptr) continue;
    EXPECT_EQ(a->summary, b->summary);
    EXPECT_EQ(a->before, b->before);
    EXPECT_EQ(a->behind, b->behind);
  }
}

TEST(NotesSession, NumbersThatNoFrameHasAreNothing) {
  Session session({});
  EXPECT_EQ(session.find(0), nullptr);
  EXPECT_EQ(session.find(UINT64_MAX), nullptr);
  EXPECT_EQ(session.connection(0), nullptr);
  EXPECT_EQ(session.connections(), 0U);
  EXPECT_FALSE(session.speaks_rpc(0));
  // A frame number that would use all memory.
  std::vector<Kept> frames = frames_of("linux-nfs41.pcap");
  frames.at(60).frame.number = UINT64_MAX;
  give(session, frames[60]);
  EXPECT_EQ(session.find(UINT64_MAX), nullptr);
  EXPECT_STREQ(session.failure(), "");
}

TEST(NotesSession, RowShowsOfItsConnection) {
  const auto session = session_of("linux-nfs41.pcap");
  session->finish();
  const ConnectionRow* const row = session->connection(1);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->client, "10.77.0.2 QP 17");
  EXPECT_EQ(row->server, "10.77.0.1 QP 17");
  EXPECT_TRUE(row->set_up_seen);
  EXPECT_EQ(row->version, 1U);
  EXPECT_EQ(row->threshold_call, 4096U);
  EXPECT_EQ(row->threshold_reply, 4096U);
  EXPECT_EQ(row->private_data, "both");
  EXPECT_EQ(row->invalidation, "client");
  EXPECT_EQ(row->calls, 50U);
  EXPECT_EQ(row->replies, 50U);
  EXPECT_EQ(row->reverse_calls, 0U);
  EXPECT_EQ(row->unanswered, 0U);
  EXPECT_EQ(row->errors, 0U);
  EXPECT_EQ(row->requested, 128U);
  EXPECT_EQ(row->granted_min, 64U);
  EXPECT_EQ(row->granted_max, 64U);
  EXPECT_EQ(row->in_use_max, 3U);
  EXPECT_EQ(row->chunks, (std::array<std::uint64_t, 3>{3, 7, 11}));
  EXPECT_TRUE(session->speaks_rpc(1));
}

TEST(NotesSession, OtherTrafficHasNoMessages) {
  const auto session = session_of("linux-non-rpc.pcap");
  session->finish();
  for (std::uint64_t frame = 1; frame <= 541; ++frame) {
    const FrameAnnotation* const note = session->find(frame);
    if (note == nullptr) continue;
    EXPECT_EQ(note->message, 0U) << frame;
    EXPECT_EQ(note->rpc, 0U) << frame;
    EXPECT_FALSE(session->speaks_rpc(note->connection)) << frame;
  }
}

// RPC is dissected even if no dissector knows the program.
TEST(NotesSession, MessagesOfUnknownProgramsArePutTogetherToo) {
  Options options;
  options.is_dissected = [](std::uint32_t) { return false; };
  const auto session = session_of("linux-nfs41.pcap", options);
  EXPECT_EQ(rpcs_with(*session, 137), Frames{137});
  EXPECT_EQ(rpcs_with(*session, 177), Frames{177});
  EXPECT_EQ(rpcs_with(*session, 253), Frames{253});
  EXPECT_EQ(rpcs_with(*session, 580), Frames{505});
}

// Replies to Calls from before the capture.
TEST(NotesSession, RpcOfAReplyWithoutItsCallIsInItsSend) {
  const std::vector<Kept> frames = frames_of("linux-nfs41.pcap");
  ASSERT_EQ(frames.size(), kFrames41);
  Session session({});
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].frame.number != 137) give(session, frames[i]);  // its Call
  }
  const MessageNote* const reply = message_of(session, 139);
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(reply->kind, model::Kind::kReply);
  EXPECT_TRUE(reply->orphan);
  EXPECT_EQ(rpcs_with(session, 139), Frames{139});
  EXPECT_TRUE(session.rpc(session.find(139)->rpc).in_send);
  const auto whole = session_of("linux-nfs41.pcap");
  EXPECT_FALSE(message_of(*whole, 139)->orphan);
}

// Feeds the frames of the capture `name` as several packets of one frame.
std::unique_ptr<Session> session_of_packets(const std::string& name, std::size_t of_each) {
  auto session = std::make_unique<Session>(Options());
  const std::vector<Kept> frames = frames_of(name);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    capture::Frame frame = frames[i].frame;
    frame.data = frames[i].data;
    frame.number = i / of_each + 1;
    if (i % of_each == 0) {
      session->frame(frame);
    } else {
      session->next_packet(frame);
    }
  }
  session->finish();
  return session;
}

TEST(NotesSession, EachPacketOfAFrameHasItsOwnNote) {
  const std::string name = "cases/ok-5-getattr.pcap";
  const auto one = session_of(name);
  one->finish();
  for (const std::uint32_t of_each : {2U, 5U, 25U}) {
    const auto several = session_of_packets(name, of_each);
    for (std::uint32_t i = 0; i < 25; ++i) {
      const FrameAnnotation* const alone = one->find(i + 1);
      const FrameAnnotation* const packet = several->find(i / of_each + 1, i % of_each);
      if (alone == nullptr || alone->message == 0) {
        EXPECT_TRUE(packet == nullptr || packet->message == 0) << i << " of " << of_each;
        continue;
      }
      ASSERT_NE(packet, nullptr) << i << " of " << of_each;
      ASSERT_NE(packet->message, 0U) << i << " of " << of_each;
      EXPECT_EQ(packet->message, alone->message);
      EXPECT_NE(packet->rpc, 0U) << i << " of " << of_each;
      EXPECT_TRUE(several->rpc(packet->rpc).in_send);
    }
  }
}

TEST(NotesSession, OnlyTheNewestFrameHasNextPackets) {
  const std::vector<Kept> frames = frames_of("cases/ok-5-getattr.pcap");
  Session session({});
  for (std::size_t i = 0; i < 3; ++i) give(session, frames[i]);
  capture::Frame call = frames[3].frame;
  call.data = frames[3].data;
  session.next_packet(call);  // of frame 4, which was not fed
  EXPECT_EQ(session.find(4), nullptr);
  session.frame(call);
  EXPECT_NE(message_of(session, 4), nullptr);
}

// A Call behind a gap is dissected with its own frame, and not again when the gap is explained.
TEST(NotesSession, RpcOfAHeldMessageStaysWithItsFrame) {
  const std::vector<Kept> frames = frames_of("cases/ok-5-getattr.pcap");
  Session session({});
  for (std::size_t i = 0; i < 7; ++i) give(session, frames[i]);
  // A Call with all its packets is lost, so the next one waits for an acknowledgment.
  give(session, frames[11]);
  ASSERT_EQ(message_of(session, 12), nullptr);
  const std::array<std::uint8_t, 4> server{10, 77, 0, 1};
  ASSERT_TRUE(session.expects_messages(server, 0x11));
  constexpr std::size_t kHeaders = 14 + 20 + 8 + 12;
  const std::vector<std::uint8_t>& call = frames[11].data;
  const std::span<const std::uint8_t> send(call.data() + kHeaders, call.size() - kHeaders - 4);
  const RpcNote* const held = session.rpc_of_held(server, 0x11, send);
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->offset, 28U);
  EXPECT_EQ(held->length, send.size() - 28);
  EXPECT_EQ(held->conversation, message_of(session, 4)->conversation);
  EXPECT_EQ(session.rpc_of_held(12), held);
  EXPECT_EQ(session.rpc_of_held(server, 0x12, send), nullptr);
  EXPECT_EQ(session.rpc_of_held(server, 0x11, send.first(40)), nullptr);
  for (std::size_t i = 12; i < frames.size(); ++i) give(session, frames[i]);
  session.finish();
  ASSERT_NE(message_of(session, 12), nullptr);
  EXPECT_EQ(message_of(session, 12)->rpc_frame, 12U);
  EXPECT_EQ(rpcs_with(session, 12), Frames{12});
  for (std::uint64_t frame = 13; frame <= 25; ++frame) {
    for (const std::uint64_t of : rpcs_with(session, frame)) EXPECT_NE(of, 12U);
  }
}

// The roundup of its chunk was not read, or a chunk has a wrong position: shows the part that can
// be reassembled.
TEST(NotesSession, CallsThatCannotBePutTogetherAreThereInPart) {
  const auto roundup = session_of("rules/OPS-03-read-no-roundup.pcap");
  ASSERT_EQ(rpcs_with(*roundup, 9), Frames{4});
  const RpcNote& most = roundup->rpc(roundup->find(9)->rpc);
  EXPECT_EQ(most.length, 80U + 1003);
  EXPECT_EQ(most.reported_length, 80U + 1004);
  const auto misplaced = session_of("rules/RD-10-chunk.pcap");
  ASSERT_EQ(rpcs_with(*misplaced, 13), Frames{8});
  const RpcNote& front = misplaced->rpc(misplaced->find(13)->rpc);
  EXPECT_EQ(front.length, 80U);
  EXPECT_GT(front.reported_length, 80U + 1001);
}

TEST(NotesSession, CallAnsweredWhileItIsReadIsThereWithTheEndOfThat) {
  const auto session = session_of("rules/OPS-02-read.pcap");
  EXPECT_EQ(rpcs_with(*session, 7), Frames{7});
  EXPECT_EQ(rpcs_with(*session, 8), Frames{4});
}

TEST(NotesSession, DialectIsReportedOrGiven) {
  const auto recorded = session_of("dialects/flags.pcap");
  ASSERT_NE(recorded->connection(1), nullptr);
  EXPECT_EQ(recorded->connection(1)->dialect, wire::Dialect::kFlags);
  Options options;
  options.dialect = wire::Dialect::kDraft02;
  const auto given = session_of("dialects/flags.pcap", options);
  ASSERT_NE(given->connection(1), nullptr);
  EXPECT_EQ(given->connection(1)->dialect, wire::Dialect::kDraft02);
}

}  // namespace
}  // namespace rpcrdma::annotations
