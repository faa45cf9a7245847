// The values of a field: each finds as many messages as were counted.
#include "index_for_tests.h"

#include <gmock/gmock.h>

#include <rpcrdma/index/search.h>
#include <rpcrdma/index/values.h>

namespace rpcrdma::index {
namespace {

using decode::FieldId;
using testing::Loaded;

std::string filter_of(FieldId field, const FieldValue& value) {
  const decode::FieldSpec& spec = decode::spec(field);
  const std::string name = spec.name;
  return spec.type == decode::FieldType::kString ? name + " == \"" + value.text + "\""
                                                 : name + " == " + std::to_string(value.number);
}

TEST(Values, EachFindsAsManyMessagesAsWereCounted) {
  const std::atomic<bool> cancelled = false;
  for (const char* name : {"linux-nfs41.pcap", "linux-nfs3.pcap", "rules/FC-02.pcap"}) {
    const Loaded loaded(testing::capture(name));
    std::size_t checked = 0;
    for (const FieldId field : {FieldId::kKind, FieldId::kConnection, FieldId::kRpcProgram,
                                FieldId::kRpcProcedureName, FieldId::kNfsOp, FieldId::kRpcStatus,
                                FieldId::kProc, FieldId::kCredit, FieldId::kFinding}) {
      const FieldValues found = count_values(loaded.store, field, cancelled);
      EXPECT_FALSE(found.too_many);
      std::uint64_t before = UINT64_MAX;
      for (const FieldValue& value : found.values) {
        const std::string text = filter_of(field, value);
        EXPECT_EQ(testing::search(loaded, text).size(), value.messages) << name << ": " << text;
        EXPECT_LE(value.messages, before);
        before = value.messages;
        ++checked;
      }
    }
    EXPECT_GT(checked, 8U) << name;
  }
}

TEST(Values, NumbersHaveTheirNames) {
  const std::atomic<bool> cancelled = false;
  const Loaded loaded(testing::capture("linux-nfs41.pcap"));
  const FieldValues found = count_values(loaded.store, FieldId::kRpcProgram, cancelled);
  ASSERT_FALSE(found.values.empty());
  EXPECT_EQ(found.values[0].number, 100003U);
  EXPECT_EQ(found.values[0].text, "NFS");
}

TEST(Values, MoreThanCanBeListedAreSaidToBeMore) {
  const std::atomic<bool> cancelled = false;
  const Loaded loaded(testing::capture("linux-nfs3.pcap"));
  const FieldValues found = count_values(loaded.store, FieldId::kFrameNumber, cancelled);
  EXPECT_TRUE(found.too_many);
  EXPECT_EQ(found.values.size(), FieldValues::kMost);
  EXPECT_TRUE(count_values(loaded.store, FieldId::kNfsPath, cancelled).values.empty());
}

}  // namespace
}  // namespace rpcrdma::index
