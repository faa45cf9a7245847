#include "upper_for_tests.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <rpcrdma/decode/nfs_items.h>
#include <rpcrdma/decode/programs.h>

namespace rpcrdma::decode {
namespace {

// "fh 0x1a2b, name 78, offset 1, count 2, stateid 0101..."
class Written final : public NfsItemSink {
 public:
  explicit Written(wire::Bytes stream) : stream_(stream) {}

  void item(const NfsItem& item) override {
    static constexpr const char* kNames[] = {"fh", "name", "offset", "count", "stateid"};
    text += fmt::format("{}{}:{} ", text.empty() ? "" : "| ", item.operation,
                        kNames[static_cast<std::size_t>(item.kind)]);
    const bool bytes = item.kind == NfsItem::Kind::kName || item.kind == NfsItem::Kind::kStateid;
    if (!bytes) {
      text += fmt::format("{:x} ", item.value);
      return;
    }
    for (const std::uint8_t byte : stream_.subspan(item.offset, item.length)) {
      text += fmt::format("{:02x}", byte);
    }
    text += ' ';
  }

  std::string text;

 private:
  wire::Bytes stream_;
};

std::string items(const ProcedureId& id, const std::vector<std::uint8_t>& args,
                  std::span<const Removed> removed = {}, std::uint32_t padded = kNotPadded) {
  Written written(args);
  find_nfs_items(id, args, removed, padded, written);
  return written.text;
}

std::string results(const ProcedureId& id, const std::vector<std::uint8_t>& stream,
                    std::span<const std::uint64_t> lengths = {}) {
  Written written(stream);
  find_nfs_result_items(id, stream, lengths, written);
  return written.text;
}

TEST(NfsItemsTest, TheHashIsThatOfZlibAndWireshark) {
  constexpr std::string_view kCheck = "123456789";
  EXPECT_EQ(handle_hash({reinterpret_cast<const std::uint8_t*>(kCheck.data()), kCheck.size()}),
            0xcbf43926U);
  EXPECT_EQ(handle_hash({}), 0U);
}

TEST(NfsItemsTest, Nfs3) {
  const std::string fh = items({kProgNfs, 3, 1}, stream("4 01020304"));
  EXPECT_EQ(fh, "0:fh b63cfbcd ");
  EXPECT_EQ(items({kProgNfs, 3, 6}, stream("4 01020304 1 2000 1000")),
            "0:fh b63cfbcd | 0:offset 100002000 | 0:count 1000 ");
  EXPECT_EQ(items({kProgNfs, 3, 3}, stream("4 01020304 2 78790000")),
            "0:fh b63cfbcd | 0:name 7879 ");
  EXPECT_EQ(items({kProgNfs, 3, 14}, stream("4 01020304 1 61000000 4 01020304 1 62000000")),
            "0:fh b63cfbcd | 0:name 61 | 0:fh b63cfbcd | 0:name 62 ");
  EXPECT_EQ(results({kProgNfs, 3, 3}, stream("0 4 01020304 0 0")), "0:fh b63cfbcd ");
  EXPECT_EQ(results({kProgNfs, 3, 3}, stream("2 0")), "");
  EXPECT_EQ(results({kProgNfs, 3, 6}, stream("0 0 1000 1 1000")), "0:count 1000 ");
  EXPECT_EQ(results({kProgNfs, 3, 7}, stream("0 0 1 *84 1000 2 *8")), "0:count 1000 ");
  EXPECT_EQ(results({kProgNfs, 3, 17}, stream("0 0 *8 1 *8 1 61000000 *8 1 *84 1 4 01020304 1 *8 "
                                              "1 62000000 *8 0 0 0 1")),
            "0:name 61 | 0:fh b63cfbcd | 0:name 62 ");
}

TEST(NfsItemsTest, MountAndNfs2) {
  EXPECT_EQ(items({kProgMount, 3, 1}, stream("2 2f780000")), "0:name 2f78 ");
  EXPECT_EQ(results({kProgMount, 3, 1}, stream("0 4 01020304 1 1")), "0:fh b63cfbcd ");
  EXPECT_EQ(items({kProgMount, 3, 2}, stream("2 2f780000")), "");
  EXPECT_EQ(items({kProgNfs, 2, 6}, stream("*32 2000 1000 0")),
            items({kProgNfs, 2, 1}, stream("*32")) + "| 0:offset 2000 | 0:count 1000 ");
}

TEST(NfsItemsTest, CompoundsGiveTheOperationOfEachItem) {
  // PUTFH, LOOKUP, GETFH.
  EXPECT_EQ(items(kCompound, stream("0 1 3 16 4 01020304 f 1 61000000 a")),
            "0:fh b63cfbcd | 1:name 61 ");
  EXPECT_EQ(results(kCompound, stream("0 0 3 16 0 f 0 a 0 4 01020304")), "2:fh b63cfbcd ");
  // OPEN that creates, by name.
  EXPECT_EQ(items(kCompound, stream("0 1 1 12 0 3 0 *8 2 61610000 1 0 0 0 0 1 62000000")),
            "0:name 62 ");
  EXPECT_EQ(items(kCompound, stream("0 1 1 1d 1 61000000 1 62000000")), "0:name 61 | 0:name 62 ");
}

TEST(NfsItemsTest, ReducedMessagesKeepTheirItems) {
  // PUTFH, WRITE whose data is in a Read chunk.
  const auto args = stream("0 1 2 16 4 01020304 26 *16 1 2000 2 8");
  const Removed at_data[] = {{static_cast<std::uint32_t>(args.size()), 8}};
  EXPECT_EQ(items(kCompound, args, at_data),
            "0:fh b63cfbcd | 1:stateid a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5 | 1:offset 100002000 | "
            "1:count 8 ");
  // Data that is missing elsewhere makes what follows uncertain.
  const Removed astray[] = {{24, 8}};
  EXPECT_EQ(items(kCompound, args, astray).find("1:"), std::string::npos);
}

TEST(NfsItemsTest, HostileBytesGiveOnlyWhatIsThere) {
  EXPECT_EQ(items({kProgNfs, 3, 6}, stream("ffffffff 0")), "");
  EXPECT_EQ(items({kProgNfs, 3, 6}, stream("4 01020304 1")), "0:fh b63cfbcd ");
  EXPECT_EQ(items({kProgNfs, 3, 99}, stream("4 01020304")), "");
  EXPECT_EQ(items(kCompound, stream("0 1 ffffffff 16 4 01020304")), "0:fh b63cfbcd ");
  EXPECT_EQ(items({kProgNfs, 3, 1}, stream("4 01020304"), {}, 4), "");
  EXPECT_EQ(results(kCompound, stream("0 0 1 1a 0 *8 1 *8 1 61000000 ffffffff")), "0:name 61 ");
}

}  // namespace
}  // namespace rpcrdma::decode
