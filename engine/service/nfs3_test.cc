// NFS version 3 arguments and results in the layout of RFC 1813.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <rpcrdma/service/nfs3.h>

namespace rpcrdma::service::nfs3 {
namespace {

using protocol::StreamReader;
using ::testing::ElementsAre;

// Hexadecimal digits with arbitrary spaces.
std::vector<std::uint8_t> hex(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ' ') digits += c;
  }
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

template <typename Put>
std::vector<std::uint8_t> written(const Put& put) {
  std::vector<std::uint8_t> bytes(512);
  wire::XdrWriter w(bytes);
  put(w);
  bytes.resize(w.size());
  return bytes;
}

const Handle kHandle = *make_handle(hex("0102030405"));
const std::string kHandleBytes = "00000005 0102030405 000000";
// A folder, mode 0755, of 0x1000 bytes; every other word is 0.
const std::string kFolder =
    "00000002 000001ed 00000000 00000000 00000000 00000000 00001000 00000000 00000000 00000000"
    "00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000"
    "00000000";
const std::string kNoWcc = "00000000 00000000";
const std::string kWcc = "00000001" + std::string(48, '0') + "00000001" + kFolder;

// Returns what `read` decodes from these results.
template <typename Read>
auto results(const std::string& text, const Read& read) {
  const auto bytes = hex(text);
  StreamReader r(bytes, {});
  return read(r);
}

TEST(Nfs3, ArgumentsAreThoseOfTheSpecification) {
  EXPECT_EQ(written([](auto& w) { put_handle(w, kHandle); }), hex(kHandleBytes));
  EXPECT_EQ(written([](auto& w) { put_name(w, kHandle, "file"); }),
            hex(kHandleBytes + "00000004 66696c65"));
  EXPECT_EQ(
      written([](auto& w) { put_create(w, kHandle, "ab", 0600); }),
      hex(kHandleBytes + "00000002 61620000 00000001 00000001 00000180" + std::string(40, '0')));
  EXPECT_EQ(written([](auto& w) { put_read(w, kHandle, 0x100000002, 7); }),
            hex(kHandleBytes + "00000001 00000002 00000007"));
  EXPECT_EQ(written([](auto& w) { put_write(w, kHandle, 3, 7); }),
            hex(kHandleBytes + "00000000 00000003 00000007 00000000 00000007"));
  EXPECT_EQ(written([](auto& w) { put_commit(w, kHandle); }),
            hex(kHandleBytes + "00000000 00000000 00000000"));
  EXPECT_EQ(written([](auto& w) { put_readdirplus(w, kHandle, 0x8000); }),
            hex(kHandleBytes + std::string(32, '0') + "00008000 00008000"));
}

TEST(Nfs3, AttributesAndWhatTheServerTakes) {
  const auto a = results("00000000" + kFolder, read_getattr);
  ASSERT_TRUE(a);
  EXPECT_EQ(a->value.type, FileType::kFolder);
  EXPECT_EQ(a->value.mode, 0755U);
  EXPECT_EQ(a->value.size, 0x1000U);

  const std::string sizes =
      "00020000 00010000 00001000 00040000 00010000 00001000 00001000" + std::string(40, '0');
  const auto fs = results("00000000 00000001" + kFolder + sizes, read_fsinfo);
  ASSERT_TRUE(fs);
  EXPECT_EQ(fs->value.read_most, 0x20000U);
  EXPECT_EQ(fs->value.write_most, 0x40000U);
}

TEST(Nfs3, FilesAreMadeFoundAndRemoved) {
  const auto made =
      results("00000000 00000001" + kHandleBytes + "00000001" + kFolder + kWcc, read_create);
  ASSERT_TRUE(made && made->value);
  EXPECT_EQ(made->value->bytes, kHandle.bytes);
  const auto without = results("00000000 00000000 00000000" + kNoWcc, read_create);
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->value);
  const auto found = results("00000000" + kHandleBytes + "00000000 00000000", read_lookup);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value.size, 5U);
  EXPECT_TRUE(results("00000000" + kWcc, read_remove));
}

TEST(Nfs3, DataIsWrittenCommittedAndRead) {
  const auto w = results("00000000" + kNoWcc + "00000009 00000002 0102030405060708", read_write);
  ASSERT_TRUE(w);
  EXPECT_EQ(w->value.count, 9U);
  EXPECT_TRUE(w->value.stable);
  const auto c = results("00000000" + kWcc + "0102030405060708", read_commit);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->value, w->value.verifier);
  const auto bytes = hex("00000000 00000000 00000003 00000001 00000003 61626300");
  StreamReader r(bytes, {});
  const auto data = read_read(r, 3);
  ASSERT_TRUE(data);
  EXPECT_THAT(data->value.bytes, ElementsAre('a', 'b', 'c'));
  EXPECT_TRUE(data->value.end_of_file);
}

TEST(Nfs3, AFolderIsListed) {
  const std::string entry = "00000001 0000000000000001 00000002 61620000 0000000000000007";
  std::string names;
  const auto list =
      results("00000000 00000000 0000000000000000" + entry + "00000000 00000000" + entry +
                  "00000001" + kFolder + "00000001" + kHandleBytes + "00000000 00000001",
              [&](StreamReader& r) {
                return read_readdirplus(
                    r, [&](std::string_view name) { names += std::string(name) + ";"; });
              });
  ASSERT_TRUE(list);
  EXPECT_EQ(list->value.entries, 2U);
  EXPECT_TRUE(list->value.whole);
  EXPECT_EQ(names, "ab;ab;");
}

TEST(Nfs3, RefusalsHaveTheirStatus) {
  EXPECT_EQ(results("00000046", read_getattr)->status, 70U);
  for (const auto& status :
       {results("00000046 00000000", read_fsinfo)->status,
        results("00000046" + kNoWcc, read_create)->status,
        results("00000046 00000000", read_lookup)->status,
        results("00000046" + kWcc, read_write)->status,
        results("00000046" + kWcc, read_commit)->status,
        results("00000046" + kWcc, read_remove)->status,
        results("00000046 00000000", [](StreamReader& r) { return read_readdirplus(r); })->status,
        results("00000046 00000000", [](StreamReader& r) { return read_read(r, 1); })->status}) {
    EXPECT_EQ(status, 70U);
  }
}

TEST(Nfs3, WhatDoesNotDecodeIsNothing) {
  const std::string whole = "00000000 00000001" + kHandleBytes + "00000001" + kFolder + kWcc;
  const auto bytes = hex(whole);
  for (std::size_t cut = 0; cut < bytes.size(); cut += 4) {
    StreamReader r(wire::Bytes(bytes).first(cut), {});
    EXPECT_FALSE(read_create(r)) << cut;
  }
  EXPECT_FALSE(results(whole + "00000000", read_create)) << "something behind it";
  EXPECT_FALSE(results("00000000 00000002" + kFolder + kWcc, read_create)) << "a flag of 2";
  EXPECT_FALSE(results("00000000 00000001 00000041" + std::string(136, '0') + "00000000" + kNoWcc,
                       read_create))
      << "a handle of 65 bytes";
  EXPECT_FALSE(results("00000000 00000001 00000000 00000000" + kNoWcc, read_create))
      << "a handle of no bytes";
  // More data than was requested, or than its count states.
  const auto three = hex("00000000 00000000 00000003 00000001 00000003 61626300");
  StreamReader r(three, {});
  EXPECT_FALSE(read_read(r, 2));
  EXPECT_FALSE(results("00000000 00000000 00000002 00000001 00000003 61626300",
                       [](StreamReader& s) { return read_read(s, 3); }));
}

TEST(Nfs3, HandlesHaveOneTo64Bytes) {
  EXPECT_FALSE(make_handle({}));
  EXPECT_FALSE(make_handle(std::vector<std::uint8_t>(65)));
  EXPECT_TRUE(make_handle(std::vector<std::uint8_t>(64)));
}

}  // namespace
}  // namespace rpcrdma::service::nfs3
