// Hand-made messages that follow the drafts' XDR: draft-cel-nfsv4-rpcrdma-version-two-07,
// draft-ietf-nfsv4-rpcrdma-version-two-02 and -07.
#include "support/counting_new.h"
#include "support/wire_bytes.h"

#include <string>

#include <gmock/gmock.h>

#include <rpcrdma/wire/dialect.h>

namespace rpcrdma::wire {
namespace {

using ::testing::ElementsAre;
using Octets = std::vector<std::uint8_t>;

// Returns a version 2 message with this type and `rest` after the four fixed words.
Octets message(std::uint32_t type, std::string_view rest) {
  Octets bytes = hex("11223344 00000002 00000020 00000000");
  bytes[15] = static_cast<std::uint8_t>(type);
  const Octets more = hex(rest);
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

constexpr std::string_view kNoLists = "00000000 00000000 00000000";
// A Read list of one segment at Position 8; a Write list of one chunk of one segment; a Reply
// chunk.
const std::string kReadsHex = "00000001 00000008 00000070 00000400 0000000000001000 00000000";
const std::string kWritesHex = "00000001 00000001 00000071 00000800 0000000000002000 00000000";
const std::string kReply = "00000001 00000001 00000072 00000900 0000000000003000";
// An RPC message begins with the XID.
const std::string kRpc = "11223344 00000000 00000002";

LaterHeader decoded(Dialect dialect, const Octets& bytes) {
  const auto header = decode_later_header(dialect, bytes);
  EXPECT_TRUE(header) << describe(header.error());
  return header.value_or(LaterHeader());
}

const char* recorded(const Octets& bytes) {
  const auto evidence = detect_dialect(bytes);
  return evidence ? dialect_name(evidence->dialect) : "";
}

TEST(LaterHeader, Ietf03CallExternal) {
  const Octets bytes = message(8, "00000099" + kReadsHex + kReadsHex + kWritesHex + kReply);
  const LaterHeader h = decoded(Dialect::kIetf03, bytes);
  EXPECT_EQ(h.xid, 0x11223344U);
  EXPECT_EQ(h.credit, 32U);
  EXPECT_EQ(h.use, HeaderUse::kExternal);
  EXPECT_EQ(h.direction, MsgType::kCall);
  EXPECT_EQ(h.inv_handle, 0x99U);
  ASSERT_TRUE(h.call_reads && h.reads && h.writes && h.reply);
  EXPECT_EQ((*h.call_reads)[0].position, 8U);
  EXPECT_EQ((*h.reads)[0].target.handle, 0x70U);
  EXPECT_EQ((*h.writes->begin())[0].length, 0x800U);
  EXPECT_EQ((*h.reply)[0].offset, 0x3000U);
  EXPECT_EQ(h.length, bytes.size());
  EXPECT_STREQ(recorded(bytes), "ietf-03");
}

TEST(LaterHeader, Ietf03CallInline) {
  const Octets bytes = message(10, "00000000" + std::string(kNoLists) + kRpc);
  const LaterHeader h = decoded(Dialect::kIetf03, bytes);
  EXPECT_EQ(h.use, HeaderUse::kInline);
  EXPECT_FALSE(h.call_reads);
  EXPECT_TRUE(h.has_reply);
  EXPECT_EQ(h.length, 32U);
  EXPECT_STREQ(recorded(bytes), "ietf-03");
}

TEST(LaterHeader, Ietf03Replies) {
  const Octets inlined = message(13, kWritesHex + kRpc);
  LaterHeader h = decoded(Dialect::kIetf03, inlined);
  EXPECT_EQ(h.use, HeaderUse::kInline);
  EXPECT_EQ(h.direction, MsgType::kReply);
  EXPECT_FALSE(h.inv_handle || h.reads || h.has_reply);
  EXPECT_EQ(h.writes->size(), 1U);
  EXPECT_EQ(h.length, inlined.size() - 12);
  EXPECT_STREQ(recorded(inlined), "ietf-03");
  const Octets external = message(11, kWritesHex + kReply);
  h = decoded(Dialect::kIetf03, external);
  EXPECT_EQ(h.use, HeaderUse::kExternal);
  EXPECT_TRUE(h.reply);
  EXPECT_EQ(h.length, external.size());
  EXPECT_STREQ(recorded(external), "ietf-03");
}

TEST(LaterHeader, Ietf03Parts) {
  for (const std::uint32_t type : {9U, 12U}) {
    const Octets bytes = message(type, "00000010" + kRpc);
    const LaterHeader h = decoded(Dialect::kIetf03, bytes);
    EXPECT_EQ(h.use, HeaderUse::kPart);
    EXPECT_EQ(h.direction, type == 9 ? MsgType::kCall : MsgType::kReply);
    EXPECT_EQ(h.remaining, 16U);
    EXPECT_EQ(h.length, 20U);
    EXPECT_STREQ(recorded(bytes), "ietf-03");
    // Nothing remains, so this is not a part.
    EXPECT_STREQ(recorded(message(type, "00000000" + kRpc)), "");
    // A part without content.
    EXPECT_STREQ(recorded(message(type, "00000010")), "");
  }
}

TEST(LaterHeader, GrantsOfBothKinds) {
  const Octets bare = message(5, "");
  EXPECT_EQ(decoded(Dialect::kIetf03, bare).use, HeaderUse::kGrant);
  EXPECT_STREQ(recorded(bare), "ietf-03");
  const Octets flagged = message(6, "00000001");
  const LaterHeader h = decoded(Dialect::kFlags, flagged);
  EXPECT_EQ(h.use, HeaderUse::kGrant);
  EXPECT_EQ(h.flags, kFlagResponse);
  EXPECT_STREQ(recorded(flagged), "flags");
}

TEST(LaterHeader, FlagsMessages) {
  const Octets bytes = message(0, "00000003 00000099" + kReadsHex + kWritesHex + kReply + kRpc);
  const LaterHeader h = decoded(Dialect::kFlags, bytes);
  EXPECT_EQ(h.flags, kFlagResponse | kFlagMore);
  EXPECT_EQ(h.use, HeaderUse::kPart);
  EXPECT_EQ(h.direction, MsgType::kReply);
  EXPECT_EQ(h.inv_handle, 0x99U);
  EXPECT_EQ(h.length, bytes.size() - 12);
  EXPECT_STREQ(recorded(bytes), "flags");
  // Without MORE and TPMORE the bytes are also valid draft-02, with the same meaning.
  const Octets plain = message(0, "00000001 00000099" + kReadsHex + kWritesHex + kReply + kRpc);
  EXPECT_STREQ(recorded(plain), "");
  const auto draft02 = decode_header(plain);
  const LaterHeader same = decoded(Dialect::kFlags, plain);
  ASSERT_TRUE(draft02);
  EXPECT_EQ(same.length, draft02->length);
  EXPECT_EQ(same.direction, draft02->direction);
  EXPECT_EQ(same.inv_handle, draft02->inv_handle);
  EXPECT_EQ(same.use, HeaderUse::kInline);
  expect_error(decode_later_header(Dialect::kFlags, message(0, "00000008 00000000")),
               Errc::kBadValue, 16, "flags");
}

TEST(LaterHeader, PropertiesOfEachDialect) {
  // SBSIZ 4096, and a HOSTAUTH of three bytes.
  const std::string two = "00000002 00000001 00000004 00001000 00000006 00000003 61626300";
  const auto check = [](const LaterHeader& h) {
    EXPECT_EQ(h.use, HeaderUse::kProperties);
    ASSERT_TRUE(h.properties);
    std::vector<std::uint32_t> ids;
    std::vector<std::optional<std::uint32_t>> words;
    h.properties->for_each([&](const Property& p, const std::uint8_t*) {
      ids.push_back(p.id);
      words.push_back(p.word());
    });
    EXPECT_THAT(ids, ElementsAre(1, 6));
    EXPECT_THAT(words, ElementsAre(4096, std::nullopt));
  };
  for (const std::uint32_t type : {6U, 7U}) {
    const Octets bytes = message(type, two);
    check(decoded(Dialect::kIetf03, bytes));
    EXPECT_STREQ(recorded(bytes), "ietf-03");
  }
  const Octets flagged = message(5, "00000004" + two);
  check(decoded(Dialect::kFlags, flagged));
  EXPECT_STREQ(recorded(flagged), "flags");
  const Octets first = message(6, two + "00000001 00000002");
  const LaterHeader h = decoded(Dialect::kCel03, first);
  check(h);
  EXPECT_THAT(Octets(first.end() - 4, first.end()), ElementsAre(0, 0, 0, 2));
  ASSERT_TRUE(h.unchanging);
  EXPECT_EQ((*h.unchanging)[0], 2U);
  EXPECT_STREQ(recorded(first), "cel-03");
  check(decoded(Dialect::kCel03, message(9, two)));
  EXPECT_STREQ(recorded(message(9, two)), "cel-03");
}

TEST(LaterHeader, AResponseAboutProperties) {
  const Octets bytes = message(
      8, "00000001 00000001 00000002 00000002 00000003 00000001 00000001 00000004 00002000");
  const LaterHeader h = decoded(Dialect::kCel03, bytes);
  ASSERT_TRUE(h.done && h.rejected && h.properties);
  EXPECT_EQ(h.done->size(), 1U);
  EXPECT_EQ(h.rejected->size(), 2U);
  EXPECT_EQ((*h.rejected)[1], 3U);
  EXPECT_EQ(h.properties->size(), 1U);
  EXPECT_EQ(h.length, bytes.size());
  EXPECT_STREQ(recorded(bytes), "cel-03");
}

TEST(LaterHeader, Errors) {
  struct Case {
    std::uint32_t code;
    const char* rest;
    const char* name;
    ErrorBody body;
  };
  for (const Case& c : {Case{1, "00000001 00000002", "RDMA2_ERR_VERS", ErrorBody::kVersions},
                        Case{2, "", "RDMA2_ERR_BAD_XDR", ErrorBody::kNone},
                        Case{3, "", "RDMA2_ERR_BAD_PROPVAL", ErrorBody::kNone},
                        Case{4, "", "RDMA2_ERR_INVAL_HTYPE", ErrorBody::kNone},
                        Case{5, "", "RDMA2_ERR_INVAL_CONT", ErrorBody::kNone},
                        Case{6, "00000001", "RDMA2_ERR_READ_CHUNKS", ErrorBody::kMaxChunks},
                        Case{7, "00000001", "RDMA2_ERR_WRITE_CHUNKS", ErrorBody::kMaxChunks},
                        Case{8, "00000001", "RDMA2_ERR_SEGMENTS", ErrorBody::kMaxSegments},
                        Case{9, "00000001 00000002", "RDMA2_ERR_WRITE_RESOURCE", ErrorBody::kWrite},
                        Case{10, "00000001", "RDMA2_ERR_REPLY_RESOURCE", ErrorBody::kLength},
                        Case{11, "", "RDMA2_ERR_VERS_MISMATCH", ErrorBody::kNone},
                        Case{100, "", "RDMA2_ERR_SYSTEM", ErrorBody::kNone}}) {
    Octets bytes = message(4, "00000000" + std::string(c.rest));
    bytes[19] = static_cast<std::uint8_t>(c.code);
    for (const Dialect dialect : {Dialect::kIetf03, Dialect::kFlags}) {
      if (dialect == Dialect::kFlags) bytes.insert(bytes.begin() + 16, {0, 0, 0, 1});
      const LaterHeader h = decoded(dialect, bytes);
      EXPECT_EQ(h.use, HeaderUse::kError);
      EXPECT_EQ(h.error, c.code);
      EXPECT_STREQ(h.error_name, c.name);
      EXPECT_STREQ(later_error_name(dialect, c.code), c.name);
      EXPECT_EQ(h.error_body, c.body) << c.name;
      EXPECT_EQ(h.length, bytes.size()) << c.name;
    }
  }
}

TEST(LaterHeader, ErrorsThatShowTheirDialect) {
  EXPECT_STREQ(recorded(message(4, "00000006 00000001")), "ietf-03");
  EXPECT_STREQ(recorded(message(4, "00000009 00000001 00000002")), "ietf-03");
  EXPECT_STREQ(recorded(message(4, "00000064")), "ietf-03");
  EXPECT_STREQ(recorded(message(4, "00000007 00000001 00000002")), "cel-03");  // WRITE_RESOURCE
  EXPECT_STREQ(recorded(message(4, "0000000a")), "cel-03");                    // SYSTEM
  EXPECT_STREQ(recorded(message(4, "00000001 00000009 00000001 00000002")), "flags");
  // CANT_REPLY, ERR_VERS and INVAL_OPTION of draft-02; ambiguous errors.
  EXPECT_STREQ(recorded(message(4, "00000003 00000001 00000001 00002000")), "");
  EXPECT_STREQ(recorded(message(4, "00000001 00000001 00000002")), "");
  EXPECT_STREQ(recorded(message(4, "00000005")), "");
  EXPECT_STREQ(recorded(message(4, "00000003")), "");
  EXPECT_STREQ(recorded(message(4, "00000099")), "");
}

TEST(LaterHeader, AnEarlyDraftWithFlagsHasEarlierNumbers) {
  const Octets bytes = message(4, "00000001 00000007 00000001 00000002");
  const LaterHeader h = decoded(Dialect::kFlags, bytes);
  EXPECT_STREQ(h.error_name, "RDMA2_ERR_WRITE_RESOURCE");
  EXPECT_EQ(h.error_body, ErrorBody::kWrite);
}

TEST(LaterHeader, Cel03HasWhatDraft02Has) {
  const LaterHeader h = decoded(Dialect::kCel03, message(5, "00000001 00000007 00000003 61626300"));
  EXPECT_EQ(h.use, HeaderUse::kOptional);
  EXPECT_EQ(h.direction, MsgType::kReply);
  EXPECT_EQ(h.opttype, 7U);
  EXPECT_EQ(h.optinfo.size(), 3U);
  EXPECT_EQ(
      decoded(Dialect::kCel03, message(1, "00000000 00000000" + kReadsHex + kWritesHex + kReply))
          .use,
      HeaderUse::kExternal);
}

// Evidence that a wrong word in a draft-02 message could produce is weak.
TEST(ShowDialect, WhatABrokenMessageCouldBeIsWeak) {
  const auto strong = [](const Octets& bytes) {
    const auto evidence = detect_dialect(bytes);
    EXPECT_TRUE(evidence);
    return evidence && evidence->strong;
  };
  const std::string lists(kNoLists);
  EXPECT_TRUE(strong(message(5, "00000000 00000001 00000001 00000004 00001000")));
  EXPECT_TRUE(strong(message(6, "00000001 00000001 00000004 00001000")));
  EXPECT_TRUE(strong(message(6, "00000001 00000001 00000004 00001000 00000000")));
  EXPECT_TRUE(strong(message(8, "00000099" + kReadsHex + kReadsHex + kWritesHex + kReply)));
  EXPECT_TRUE(strong(message(10, "00000000" + lists + kRpc)));
  EXPECT_TRUE(strong(message(11, kWritesHex + kReply)));

  EXPECT_FALSE(strong(message(0, "00000002 00000000" + lists + kRpc)));
  EXPECT_FALSE(strong(message(4, "0000000a")));
  EXPECT_FALSE(strong(message(4, "00000001 00000009 00000001 00000002")));
  EXPECT_FALSE(strong(message(5, "")));
  EXPECT_FALSE(strong(message(5, "00000000 00000001 00000000 00000000")));
  EXPECT_FALSE(strong(message(6, "00000000")));
  EXPECT_FALSE(strong(message(6, "00000001 00000063 00000004 00001000")));
  EXPECT_FALSE(strong(message(7, "00000000")));
  EXPECT_FALSE(strong(message(9, "00000001" + kRpc)));
  // Neither Read list nor Reply chunk: what would be external?
  const std::string nothing = "00000099 00000000 00000000 00000000 00000000";
  EXPECT_FALSE(strong(message(8, nothing)));
  EXPECT_TRUE(strong(message(8, "00000099" + kReadsHex + "00000000 00000000 00000000")));
}

// An OPTIONAL whose information ends with the message remains draft-02.
TEST(ShowDialect, OptionalIsNoConnprop) {
  EXPECT_STREQ(recorded(message(5, "00000001 00000007 00000003 61626300")), "");
  EXPECT_STREQ(recorded(message(5, "00000000 00000001 00000000")), "");
}

TEST(ShowDialect, OtherVersionsAndUnknownTypesShowNothing) {
  Octets other = message(10, "00000000" + std::string(kNoLists) + kRpc);
  other[7] = 1;
  EXPECT_STREQ(recorded(other), "");
  other[7] = 3;
  EXPECT_STREQ(recorded(other), "");
  EXPECT_STREQ(recorded(message(2, "00000000")), "");
  EXPECT_STREQ(recorded(message(14, "00000000")), "");
  EXPECT_STREQ(recorded({}), "");
  // A Call with another XID, as after other parts; recognized only once the connection's dialect is
  // known.
  EXPECT_STREQ(recorded(message(10, "00000000" + std::string(kNoLists) + "55555555")), "");
}

TEST(LaterHeader, WhatIsCutShortIsTruncatedWhereverThatIs) {
  const std::vector<std::pair<Dialect, Octets>> whole{
      {Dialect::kIetf03, message(8, "00000099" + kReadsHex + kReadsHex + kWritesHex + kReply)},
      {Dialect::kIetf03, message(11, kWritesHex + kReply)},
      {Dialect::kIetf03, message(9, "00000001")},
      {Dialect::kIetf03, message(6, "00000001 00000001 00000004 00001000")},
      {Dialect::kIetf03, message(4, "00000009 00000001 00000002")},
      {Dialect::kFlags, message(0, "00000001 00000099" + kReadsHex + kWritesHex + kReply)},
      {Dialect::kCel03,
       message(8, "00000001 00000001 00000000 00000001 00000001 00000002 61620000")},
      {Dialect::kCel03, message(5, "00000001 00000007 00000003 61626300")}};
  for (const auto& [dialect, bytes] : whole) {
    EXPECT_EQ(decoded(dialect, bytes).length, bytes.size());
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      const auto header = decode_later_header(dialect, Bytes(bytes).first(n));
      ASSERT_FALSE(header) << n;
      EXPECT_EQ(header.error().code, Errc::kTruncated);
      EXPECT_LE(header.error().offset, n);
    }
  }
}

TEST(LaterHeader, TheErrorNamesTheItemThatIsCutOff) {
  struct Case {
    Dialect dialect;
    Octets bytes;
    const char* what;
  };
  for (const Case& c :
       {Case{Dialect::kCel03, message(0, ""), "header ends before the direction does"},
        Case{Dialect::kCel03, message(0, "00000000"), "header ends before rdma_inv_handle does"},
        Case{Dialect::kCel03, message(5, ""), "header ends before the direction does"},
        Case{Dialect::kCel03, message(5, "00000001"), "header ends before rdma_optinfo begins"},
        Case{Dialect::kFlags, message(0, ""), "header ends before rdma_flags does"},
        Case{Dialect::kFlags, message(0, "00000000"), "header ends before rdma_inv_handle does"},
        Case{Dialect::kFlags, message(4, "00000000"), "header ends before rdma_err does"},
        Case{Dialect::kIetf03, message(9, ""), "header ends before rdma_remaining does"},
        Case{Dialect::kIetf03, message(10, "00000000"), "header ends before the Read list does"},
        Case{Dialect::kIetf03, message(4, "00000009 00000001"),
             "header ends inside the body of an error"}}) {
    const auto header = decode_later_header(c.dialect, c.bytes);
    ASSERT_FALSE(header) << c.what;
    EXPECT_STREQ(header.error().what, c.what);
  }
}

TEST(LaterHeader, AllFlagsTogether) {
  const LaterHeader h =
      decoded(Dialect::kFlags, message(0, "00000007 00000000" + std::string(kNoLists) + kRpc));
  EXPECT_EQ(h.flags, 7U);
  EXPECT_EQ(h.use, HeaderUse::kPart);
}

// A later draft may define it.
TEST(LaterHeader, AnErrorWithoutANameKeepsItsNumber) {
  const LaterHeader h = decoded(Dialect::kIetf03, message(4, "00000099"));
  EXPECT_EQ(h.use, HeaderUse::kError);
  EXPECT_EQ(h.error, 0x99U);
  EXPECT_EQ(h.error_body, ErrorBody::kNone);
  EXPECT_EQ(h.length, 20U);
}

TEST(LaterHeader, HugeCountsAreTruncated) {
  for (const char* const rest :
       {"ffffffff", "00000001 00000001 ffffffff", "00000001 00000001 fffffffc"}) {
    expect_error(decode_later_header(Dialect::kIetf03, message(6, rest)), Errc::kTruncated,
                 static_cast<std::uint32_t>(message(6, rest).size()), "ietf-03");
  }
  EXPECT_FALSE(decode_later_header(Dialect::kCel03, message(8, "ffffffff 00000001")));
  EXPECT_FALSE(decode_later_header(Dialect::kIetf03, message(11, "00000001 ffffffff")));
}

TEST(LaterHeader, DecodingAllocatesNothing) {
  const Octets bytes = message(8, "00000099" + kReadsHex + kReadsHex + kWritesHex + kReply);
  bool good = false;
  EXPECT_EQ(testing::allocations_in([&] {
              good = decode_later_header(Dialect::kIetf03, bytes).has_value() &&
                     !decode_later_header(Dialect::kFlags, bytes) && detect_dialect(bytes);
            }),
            0U);
  EXPECT_TRUE(good);
}

TEST(DialectNames, TypesAndPropertiesOfEach) {
  EXPECT_STREQ(later_type_name(Dialect::kDraft02, 5), "RDMA2_OPTIONAL");
  EXPECT_STREQ(later_type_name(Dialect::kCel03, 5), "RDMA2_OPTIONAL");
  EXPECT_STREQ(later_type_name(Dialect::kCel03, 9), "RDMA2_UPDPROP");
  EXPECT_STREQ(later_type_name(Dialect::kFlags, 5), "RDMA2_CONNPROP");
  EXPECT_STREQ(later_type_name(Dialect::kFlags, 1), "RDMA2_NOMSG");
  EXPECT_STREQ(later_type_name(Dialect::kIetf03, 5), "RDMA2_GRANT");
  EXPECT_STREQ(later_type_name(Dialect::kIetf03, 13), "RDMA2_REPLY_INLINE");
  EXPECT_STREQ(later_type_name(Dialect::kIetf03, 0), "unknown");
  EXPECT_STREQ(later_type_name(Dialect::kIetf03, 4), "RDMA2_ERROR");
  EXPECT_STREQ(later_type_name(Dialect::kIetf03, 14), "unknown");
  EXPECT_STREQ(later_type_name(Dialect::kCel03, 6), "RDMA2_CONNPROP");
  EXPECT_STREQ(property_name(Dialect::kCel03, 1), "RBSIZ");
  EXPECT_STREQ(property_name(Dialect::kFlags, 1), "SBSIZ");
  EXPECT_STREQ(property_name(Dialect::kIetf03, 7), "unknown");
}

TEST(DialectNames, DraftsOfEach) {
  const std::string_view cel = "draft-cel-nfsv4-rpcrdma-version-two-";
  const std::string_view ietf = "draft-ietf-nfsv4-rpcrdma-version-two-";
  EXPECT_EQ(dialect_drafts(Dialect::kDraft02), std::string(cel) + "00 to -02");
  EXPECT_EQ(dialect_drafts(Dialect::kCel03), std::string(cel) + "03 to -07");
  EXPECT_EQ(dialect_drafts(Dialect::kFlags),
            std::string(cel) + "08 to " + std::string(ietf) + "02");
  EXPECT_EQ(dialect_drafts(Dialect::kIetf03), std::string(ietf) + "03 to -07");
}

}  // namespace
}  // namespace rpcrdma::wire
