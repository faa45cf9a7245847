#include "messages_for_tests.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

#include <rpcrdma/filter/model_fields.h>

namespace rpcrdma::filter {
namespace {

using decode::FieldId;

class CountingSink : public decode::Sink {
 public:
  void open(FieldId id, std::size_t, std::size_t, std::string_view) override {
    ++count[id];
    ++depth;
  }
  void close() override { --depth; }
  void number(FieldId id, std::size_t, std::size_t, std::uint64_t, const char*) override {
    ++count[id];
  }
  void bytes(FieldId id, std::size_t, std::size_t, wire::Bytes) override { ++count[id]; }
  void text(FieldId id, std::size_t, std::size_t, std::string_view value) override {
    ++count[id];
    const decode::FieldSpec& field = decode::spec(id);
    if (field.values.empty()) return;
    bool known = false;
    for (const decode::ValueName& name : field.values) known |= name.name == value;
    EXPECT_TRUE(known) << field.name << " " << value;
  }
  void error(const wire::DecodeError&) override {}

  std::map<FieldId, int> count;
  int depth = 0;
};

CountingSink reported(const testing::Sample& sample, const FieldSet& wanted) {
  CountingSink sink;
  model_fields(sample.inputs(), wanted, sink);
  EXPECT_EQ(sink.depth, 0);
  return sink;
}

// Samples that together have every field that a model knows.
std::vector<testing::Sample> samples() {
  std::vector<testing::Sample> all(6);
  all[1].message.kind = model::Kind::kReply;
  all[1].message.rpc.has_status = true;
  all[1].message.has_reply_chunk = true;
  all[1].message.reply_segments = {{1, 2, 3}};
  all[1].message.has_invalidate = true;
  all[2].message.kind = model::Kind::kReply;
  all[2].message.rpc.reply_stat = wire::ReplyStat::kDenied;
  all[3].message.kind = model::Kind::kError;
  all[4].message.absent = roce::kAbsentBytes;
  roce::TunnelsSeen mirror;
  mirror.tunnels.count = 1;
  mirror.tunnels.kind[0] = capture::TunnelKind::kErspan2;
  mirror.tunnels.keyed = 1;
  mirror.tunnels.key[0] = 9;
  mirror.tunnels.erspan_session = 100;
  mirror.tunnels.src = mirror.tunnels.dst = all[5].client.address;
  all[5].client.tunnels = {mirror};
  all[5].client.is_port = all[5].server.is_port = true;
  return all;
}

TEST(ModelFields, ReportsWhatItSaysAndNothingElse) {
  const FieldSet all = FieldSet().set();
  FieldSet seen;
  for (const testing::Sample& sample : samples()) {
    for (const auto& [id, count] : reported(sample, all).count) {
      seen.set(static_cast<std::size_t>(id));
    }
  }
  for (const decode::FieldSpec& field : decode::schema()) {
    const auto i = static_cast<std::size_t>(field.id);
    EXPECT_EQ(seen[i], fields_of_model()[i]) << field.name;
  }
}

TEST(ModelFields, OnlyWhatIsWanted) {
  for (const testing::Sample& sample : samples()) {
    const CountingSink full = reported(sample, FieldSet().set());
    for (const decode::FieldSpec& field : decode::schema()) {
      const CountingSink one = reported(sample, field_set({field.id}));
      const auto found = full.count.find(field.id);
      const std::size_t there = found == full.count.end() ? 0 : 1;
      ASSERT_EQ(one.count.size(), there) << field.name;
      if (there == 1) {
        EXPECT_EQ(one.count.at(field.id), found->second) << field.name;
      }
    }
  }
}

TEST(ModelFields, ValuesThatTheSourceDoesNotShowAreAbsent) {
  testing::Sample sample;
  model::Message& m = sample.message;
  m.absent = roce::kAbsentBytes | roce::kAbsentCredit | roce::kAbsentLengths | roce::kAbsentChunks;
  m.credits.requested_known = false;
  filter::Inputs in = sample.inputs();
  in.thresholds = {0, 0};
  CountingSink sink;
  model_fields(in, FieldSet().set(), sink);
  for (const FieldId id :
       {FieldId::kCredit, FieldId::kSendLength, FieldId::kReadCount, FieldId::kWriteCount,
        FieldId::kReplyPresent, FieldId::kCreditRequested, FieldId::kThresholdCall}) {
    EXPECT_EQ(sink.count.count(id), 0U) << decode::spec(id).name;
  }
  for (const FieldId id : {FieldId::kXid, FieldId::kFieldsOnly, FieldId::kSegmentHandle,
                           FieldId::kCreditGranted, FieldId::kCreditInUse}) {
    EXPECT_NE(sink.count.count(id), 0U) << decode::spec(id).name;
  }
}

TEST(ModelFields, OfAMalformedMessageOnlyWhatWasRead) {
  testing::Sample sample;
  sample.message.reset();
  sample.message.kind = model::Kind::kMalformed;
  sample.message.wire_length = 12;
  const CountingSink sink = reported(sample, FieldSet().set());
  EXPECT_EQ(sink.count.count(FieldId::kXid), 0U);
  EXPECT_EQ(sink.count.count(FieldId::kPeer), 0U);
  EXPECT_EQ(sink.count.count(FieldId::kReadCount), 0U);
  EXPECT_EQ(sink.count.count(FieldId::kRpc), 0U);
  EXPECT_EQ(sink.count.at(FieldId::kKind), 1);
}

TEST(ModelFields, KindsAreThoseOfTheModelAndEvents) {
  const auto names = decode::spec(FieldId::kKind).values;
  constexpr std::size_t kKinds = 7;
  ASSERT_EQ(names.size(), kKinds + 1);
  for (const decode::ValueName& name : names.first(kKinds)) {
    EXPECT_STREQ(name.name, model::kind_name(static_cast<model::Kind>(name.value)));
  }
  EXPECT_STREQ(names[kKinds].name, "event");
}

}  // namespace
}  // namespace rpcrdma::filter
