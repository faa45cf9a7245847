// MADs of the captures are given as bytes. The expected values are those that tshark shows for the
// same frames of linux-nfs41.pcap, except for the flow label and packet rate, which tshark 4.0
// reads from the wrong bits (our label agrees with the connection's UDP source port).
#include "support/wire_bytes.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/wire/cm.h>

namespace rpcrdma::wire {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

using MadBytes = std::vector<std::uint8_t>;

// Returns a MAD with these first bytes, zero after them.
MadBytes mad_of(std::string_view text) {
  MadBytes bytes = hex(text);
  bytes.resize(kMadBytes);
  return bytes;
}

// Bytes first, first + 1, ...
std::vector<std::uint8_t> counting(std::size_t size, std::uint8_t first) {
  std::vector<std::uint8_t> bytes(size);
  std::iota(bytes.begin(), bytes.end(), first);
  return bytes;
}

void append(MadBytes& bytes, const std::vector<std::uint8_t>& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

template <typename Message>
Message decode_as(const MadBytes& bytes) {
  const auto mad = decode_cm(bytes);
  if (!mad) {
    ADD_FAILURE() << describe(mad.error());
    return {};
  }
  const auto* message = std::get_if<Message>(&mad->message);
  if (message == nullptr) {
    ADD_FAILURE() << "another message";
    return {};
  }
  return *message;
}

MadBytes encode(const CmMessage& message) {
  CmMad mad;
  mad.header.transaction_id = 0x1122334455667788;
  mad.message = message;
  MadBytes bytes(kMadBytes, 0xee);
  EXPECT_EQ(encode_cm(mad, bytes), kMadBytes);
  return bytes;
}

std::vector<std::uint8_t> copy(Bytes bytes) {
  return {bytes.begin(), bytes.end()};
}

auto fields(const MadHeader& h) {
  return std::tuple(h.base_version, h.mgmt_class, h.class_version, h.method, h.status,
                    h.transaction_id, h.attribute_id, h.attribute_modifier);
}

auto fields(const CmPath& p) {
  return std::tuple(p.local_lid, p.remote_lid, p.local_gid, p.remote_gid, p.flow_label,
                    p.packet_rate, p.traffic_class, p.hop_limit, p.sl, p.subnet_local,
                    p.local_ack_timeout);
}

auto fields(const CmReq& m) {
  return std::tuple(
      std::tuple(m.local_comm_id, m.service_id, m.local_ca_guid, m.local_qkey, m.local_qpn,
                 m.responder_resources, m.local_eecn, m.initiator_depth, m.remote_eecn),
      std::tuple(m.remote_cm_response_timeout, m.transport_service, m.end_to_end_flow_control,
                 m.starting_psn, m.local_cm_response_timeout, m.retry_count, m.pkey, m.path_mtu),
      std::tuple(m.rdc_exists, m.rnr_retry_count, m.max_cm_retries, m.srq, m.extended_transport),
      fields(m.primary), fields(m.alternate), copy(m.private_data));
}

auto fields(const CmMra& m) {
  return std::tuple(m.local_comm_id, m.remote_comm_id, m.message_mraed, m.service_timeout,
                    copy(m.private_data));
}

auto fields(const CmRej& m) {
  return std::tuple(m.local_comm_id, m.remote_comm_id, m.message_rejected, m.reason,
                    copy(m.additional_info), copy(m.private_data));
}

auto fields(const CmRep& m) {
  return std::tuple(
      std::tuple(m.local_comm_id, m.remote_comm_id, m.local_qkey, m.local_qpn, m.local_eecn,
                 m.starting_psn, m.responder_resources, m.initiator_depth),
      std::tuple(m.target_ack_delay, m.failover_accepted, m.end_to_end_flow_control,
                 m.rnr_retry_count, m.srq, m.local_ca_guid, copy(m.private_data)));
}

auto fields(const CmRtu& m) {
  return std::tuple(m.local_comm_id, m.remote_comm_id, copy(m.private_data));
}

auto fields(const CmDreq& m) {
  return std::tuple(m.local_comm_id, m.remote_comm_id, m.remote_qpn, copy(m.private_data));
}

auto fields(const CmDrep& m) {
  return std::tuple(m.local_comm_id, m.remote_comm_id, copy(m.private_data));
}

// --- Hand-made MADs with a distinct value in each field

constexpr const char* kPathGids =
    "00000000000000000000ffff0a4d0002"
    "00000000000000000000ffff0a4d0001";
constexpr Gid kLocalGid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 2};
constexpr Gid kRemoteGid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 1};

MadBytes golden_req() {
  MadBytes bytes =
      hex("01 07 02 03 0000 0000 1122334455667788 0010 0000 00000000"
          "01020304 00000000"
          "0000000001064e51 505400fffe770002"
          "00000000 80010000"
          "0a0b0c 05"
          "0d0e0f 06"
          "101112 b5"   // timeout 10110, service 10, flow control 1
          "131415 a3"   // timeout 10100, retry 011
          "8001 3d fa"  // MTU 0011, RDC 1, RNR retry 101; retries 1111, SRQ 1, extended 010
          "1112 2122");
  append(bytes, hex(kPathGids));
  append(bytes, hex("97979023"     // flow label 97979, rate 100011
                    "60 40 98 70"  // SL 1001, subnet local 1; timeout 01110
                    "3132 4142"));
  append(bytes, hex(kPathGids));
  append(bytes, hex("12345005"
                    "61 41 20 f8"));  // SL 0010, subnet local 0; timeout 11111
  append(bytes, counting(92, 0x80));
  return bytes;
}

CmReq req_of_golden(Bytes private_data) {
  CmReq m;
  m.local_comm_id = 0x01020304;
  m.service_id = 0x0000000001064e51;
  m.local_ca_guid = 0x505400fffe770002;
  m.local_qkey = 0x80010000;
  m.local_qpn = 0x0a0b0c;
  m.responder_resources = 5;
  m.local_eecn = 0x0d0e0f;
  m.initiator_depth = 6;
  m.remote_eecn = 0x101112;
  m.remote_cm_response_timeout = 22;
  m.transport_service = 2;
  m.end_to_end_flow_control = true;
  m.starting_psn = 0x131415;
  m.local_cm_response_timeout = 20;
  m.retry_count = 3;
  m.pkey = 0x8001;
  m.path_mtu = 3;
  m.rdc_exists = true;
  m.rnr_retry_count = 5;
  m.max_cm_retries = 15;
  m.srq = true;
  m.extended_transport = 2;
  m.primary = {0x1112, 0x2122, kLocalGid, kRemoteGid, 0x97979, 35, 0x60, 0x40, 9, true, 14};
  m.alternate = {0x3132, 0x4142, kLocalGid, kRemoteGid, 0x12345, 5, 0x61, 0x41, 2, false, 31};
  m.private_data = private_data;
  return m;
}

TEST(CmReqTest, DecodesEveryField) {
  const MadBytes bytes = golden_req();
  const auto private_data = counting(92, 0x80);
  EXPECT_EQ(fields(decode_as<CmReq>(bytes)), fields(req_of_golden(private_data)));
}

TEST(CmReqTest, EncodesEveryField) {
  const auto private_data = counting(92, 0x80);
  EXPECT_EQ(encode(req_of_golden(private_data)), golden_req());
}

TEST(CmReqTest, HasNoAlternatePathUnlessItIsSet) {
  const MadBytes bytes = encode(CmReq{});
  const Bytes alternate = Bytes(bytes).subspan(24 + 96, 44);
  EXPECT_THAT(alternate, ElementsAreArray(std::vector<std::uint8_t>(44)));
}

TEST(CmReqTest, PrivateDataIsWhereTheOffsetSays) {
  const MadBytes bytes = golden_req();
  EXPECT_EQ(decode_as<CmReq>(bytes).private_data.data(), bytes.data() + CmReq::kPrivateOffset);
}

MadBytes golden_mra() {
  MadBytes bytes =
      hex("01 07 02 03 0000 0000 1122334455667788 0011 0000 00000000"
          "01020304 05060708"
          "40 98");  // MRA of a REP; timeout 10011
  append(bytes, counting(222, 0x10));
  return bytes;
}

CmMra mra_of_golden(Bytes private_data) {
  return {0x01020304, 0x05060708, 1, 19, private_data};
}

TEST(CmMraTest, DecodesEveryField) {
  const MadBytes bytes = golden_mra();
  const auto private_data = counting(222, 0x10);
  EXPECT_EQ(fields(decode_as<CmMra>(bytes)), fields(mra_of_golden(private_data)));
}

TEST(CmMraTest, EncodesEveryField) {
  const auto private_data = counting(222, 0x10);
  EXPECT_EQ(encode(mra_of_golden(private_data)), golden_mra());
}

MadBytes golden_rej() {
  MadBytes bytes =
      hex("01 07 02 03 0000 0000 1122334455667788 0012 0000 00000000"
          "01020304 05060708"
          "80 06 001c"  // no message; 3 bytes; 28
          "a1a2a3");
  bytes.resize(24 + 84);
  append(bytes, counting(148, 0x20));
  return bytes;
}

CmRej rej_of_golden(Bytes info, Bytes private_data) {
  return {0x01020304, 0x05060708, 2, 28, info, private_data};
}

TEST(CmRejTest, DecodesEveryField) {
  const MadBytes bytes = golden_rej();
  const auto info = hex("a1a2a3");
  const auto private_data = counting(148, 0x20);
  EXPECT_EQ(fields(decode_as<CmRej>(bytes)), fields(rej_of_golden(info, private_data)));
}

TEST(CmRejTest, EncodesEveryField) {
  const auto info = hex("a1a2a3");
  const auto private_data = counting(148, 0x20);
  EXPECT_EQ(encode(rej_of_golden(info, private_data)), golden_rej());
}

TEST(CmRejTest, AdditionalInformationMayFillItsField) {
  MadBytes bytes = golden_rej();
  bytes[24 + 9] = 72 << 1;
  EXPECT_EQ(decode_as<CmRej>(bytes).additional_info.size(), 72U);
}

TEST(CmRejTest, AdditionalInformationLongerThanItsField) {
  MadBytes bytes = golden_rej();
  bytes[24 + 9] = 73 << 1;
  expect_error(decode_cm(bytes), Errc::kTooLong, 24 + 9, "IBA 12.6.7");
}

MadBytes golden_rep() {
  MadBytes bytes =
      hex("01 07 02 03 0000 0000 1122334455667788 0013 0000 00000000"
          "01020304 05060708"
          "80010000"
          "0a0b0c 00 0d0e0f 00 101112 00"
          "05 06 7d b0"  // ACK delay 01111, failover 10, flow control 1; RNR retry 101, SRQ 1
          "505400fffe770001");
  append(bytes, counting(196, 0x30));
  return bytes;
}

CmRep rep_of_golden(Bytes private_data) {
  CmRep m;
  m.local_comm_id = 0x01020304;
  m.remote_comm_id = 0x05060708;
  m.local_qkey = 0x80010000;
  m.local_qpn = 0x0a0b0c;
  m.local_eecn = 0x0d0e0f;
  m.starting_psn = 0x101112;
  m.responder_resources = 5;
  m.initiator_depth = 6;
  m.target_ack_delay = 15;
  m.failover_accepted = 2;
  m.end_to_end_flow_control = true;
  m.rnr_retry_count = 5;
  m.srq = true;
  m.local_ca_guid = 0x505400fffe770001;
  m.private_data = private_data;
  return m;
}

TEST(CmRepTest, DecodesEveryField) {
  const MadBytes bytes = golden_rep();
  const auto private_data = counting(196, 0x30);
  EXPECT_EQ(fields(decode_as<CmRep>(bytes)), fields(rep_of_golden(private_data)));
}

TEST(CmRepTest, EncodesEveryField) {
  const auto private_data = counting(196, 0x30);
  EXPECT_EQ(encode(rep_of_golden(private_data)), golden_rep());
}

TEST(CmRepTest, PrivateDataIsWhereTheOffsetSays) {
  const MadBytes bytes = golden_rep();
  EXPECT_EQ(decode_as<CmRep>(bytes).private_data.data(), bytes.data() + CmRep::kPrivateOffset);
}

MadBytes golden_rtu_or_drep(std::uint8_t attribute) {
  MadBytes bytes =
      hex("01 07 02 03 0000 0000 1122334455667788 0000 0000 00000000"
          "01020304 05060708");
  bytes[17] = attribute;
  append(bytes, counting(224, 0x08));
  return bytes;
}

TEST(CmRtuTest, BothWays) {
  const auto private_data = counting(224, 0x08);
  const CmRtu rtu{0x01020304, 0x05060708, private_data};
  const MadBytes bytes = golden_rtu_or_drep(0x14);
  EXPECT_EQ(fields(decode_as<CmRtu>(bytes)), fields(rtu));
  EXPECT_EQ(encode(rtu), bytes);
}

TEST(CmDrepTest, BothWays) {
  const auto private_data = counting(224, 0x08);
  const CmDrep drep{0x01020304, 0x05060708, private_data};
  const MadBytes bytes = golden_rtu_or_drep(0x16);
  EXPECT_EQ(fields(decode_as<CmDrep>(bytes)), fields(drep));
  EXPECT_EQ(encode(drep), bytes);
}

TEST(CmDreqTest, BothWays) {
  MadBytes bytes =
      hex("01 07 02 03 0000 0000 1122334455667788 0015 0000 00000000"
          "01020304 05060708 0a0b0c 00");
  append(bytes, counting(220, 0x0c));
  const auto private_data = counting(220, 0x0c);
  const CmDreq dreq{0x01020304, 0x05060708, 0x0a0b0c, private_data};
  EXPECT_EQ(fields(decode_as<CmDreq>(bytes)), fields(dreq));
  EXPECT_EQ(encode(dreq), bytes);
}

// --- The MAD header

TEST(CmMadTest, DecodesEveryFieldOfTheHeader) {
  const MadBytes bytes =
      mad_of("01 07 02 83 0102 0000 1122334455667788 0014 0000 0a0b0c0d 01020304 05060708");
  const auto mad = decode_cm(bytes);
  ASSERT_TRUE(mad.has_value());
  MadHeader expected;
  expected.method = 0x83;
  expected.status = 0x0102;
  expected.transaction_id = 0x1122334455667788;
  expected.attribute_id = 0x14;
  expected.attribute_modifier = 0x0a0b0c0d;
  EXPECT_EQ(fields(mad->header), fields(expected));
}

TEST(CmMadTest, TheAttributeFollowsFromTheMessage) {
  CmMad mad;
  mad.header.attribute_id = 0x10;
  mad.message = CmDrep{};
  MadBytes bytes(kMadBytes);
  ASSERT_EQ(encode_cm(mad, bytes), kMadBytes);
  EXPECT_EQ(bytes[17], 0x16);
}

TEST(CmMadTest, BytesBehindTheMadAreNotLookedAt) {
  MadBytes bytes = golden_rtu_or_drep(0x14);
  bytes.resize(300, 0xee);
  EXPECT_EQ(decode_as<CmRtu>(bytes).private_data.size(), CmRtu::kPrivateBytes);
}

TEST(CmMadTest, EveryTruncationIsAnError) {
  const MadBytes bytes = golden_req();
  for (std::uint32_t size = 0; size < kMadBytes; ++size) {
    expect_error(decode_cm(Bytes(bytes).first(size)), Errc::kTruncated, size, "IBA 13.4.2");
  }
}

TEST(CmMadTest, AnotherBaseVersion) {
  expect_error(decode_cm(mad_of("02 07 02 03 0000 0000 0000000000000000 0010")), Errc::kUnsupported,
               0, "IBA 13.4.3");
}

TEST(CmMadTest, AnotherClass) {
  expect_error(decode_cm(mad_of("01 03 02 03 0000 0000 0000000000000000 0010")), Errc::kUnsupported,
               1, "IBA 13.4.4");
}

TEST(CmMadTest, AnotherClassVersion) {
  expect_error(decode_cm(mad_of("01 07 01 03 0000 0000 0000000000000000 0010")), Errc::kUnsupported,
               2, "IBA 12.6");
}

TEST(CmMadTest, OtherAttributes) {
  for (const char* attribute : {"0000", "000f", "0017", "0019", "1010"}) {
    const std::string text = "01 07 02 03 0000 0000 0000000000000000 ";
    expect_error(decode_cm(mad_of(text + attribute)), Errc::kUnsupported, 16, "IBA 12.6");
  }
}

// --- Messages that the encoder rejects

TEST(CmEncodeTest, ShortPrivateDataIsFollowedByZeros) {
  const auto private_data = hex("a1a2a3");
  const MadBytes bytes = encode(CmRtu{1, 2, private_data});
  MadBytes expected =
      mad_of("01 07 02 03 0000 0000 1122334455667788 0014 0000 00000000 00000001 00000002 a1a2a3");
  EXPECT_EQ(bytes, expected);
}

TEST(CmEncodeTest, WritesTheLowBitsOfWhatIsTooWide) {
  CmMra mra;
  mra.message_mraed = 0xfd;    // 01
  mra.service_timeout = 0xf3;  // 10011
  const MadBytes bytes = encode(mra);
  EXPECT_EQ(bytes[24 + 8], 0x40);
  EXPECT_EQ(bytes[24 + 9], 0x98);
}

// Sets one field at a time to all ones: its neighbours in the byte remain zero.
TEST(CmEncodeTest, AFieldThatIsTooWideKeepsToItsBits) {
  struct Case {
    std::uint8_t CmReq::*field;
    std::size_t at;
    std::uint8_t byte;
  };
  for (const Case& c :
       {Case{&CmReq::remote_cm_response_timeout, 43, 0xf8},
        Case{&CmReq::transport_service, 43, 0x06},
        Case{&CmReq::local_cm_response_timeout, 47, 0xf8}, Case{&CmReq::retry_count, 47, 0x07},
        Case{&CmReq::path_mtu, 50, 0xf0}, Case{&CmReq::rnr_retry_count, 50, 0x07},
        Case{&CmReq::max_cm_retries, 51, 0xf0}, Case{&CmReq::extended_transport, 51, 0x07}}) {
    CmReq req;
    req.*c.field = 0xff;
    EXPECT_EQ(encode(req)[24 + c.at], c.byte) << c.at;
  }
  struct RepCase {
    std::uint8_t CmRep::*field;
    std::size_t at;
    std::uint8_t byte;
  };
  for (const RepCase& c :
       {RepCase{&CmRep::target_ack_delay, 26, 0xf8}, RepCase{&CmRep::failover_accepted, 26, 0x06},
        RepCase{&CmRep::rnr_retry_count, 27, 0xe0}}) {
    CmRep rep;
    rep.*c.field = 0xff;
    EXPECT_EQ(encode(rep)[24 + c.at], c.byte) << c.at;
  }
  CmRej rej;
  rej.message_rejected = 0xff;
  EXPECT_EQ(encode(rej)[24 + 8], 0xc0);
  CmReq paths;
  paths.primary.sl = 0xff;
  paths.primary.packet_rate = 0xff;
  paths.alternate.local_ack_timeout = 0xff;
  const MadBytes bytes = encode(paths);
  EXPECT_EQ(bytes[24 + 52 + 42], 0xf0);
  EXPECT_EQ(bytes[24 + 52 + 38], 0x00);
  EXPECT_EQ(bytes[24 + 52 + 39], 0x3f);
  EXPECT_EQ(bytes[24 + 96 + 43], 0xf8);
}

void expect_nothing_written(const CmMessage& message, std::size_t size, Errc code,
                            std::uint32_t offset, const char* rule) {
  CmMad mad;
  mad.message = message;
  MadBytes out(size, 0xee);
  expect_error(encode_cm(mad, out), code, offset, rule);
  EXPECT_EQ(out, MadBytes(size, 0xee));
}

TEST(CmEncodeTest, NoSpace) {
  expect_nothing_written(CmRtu{}, 255, Errc::kNoSpace, 255, "");
}

TEST(CmEncodeTest, PrivateDataLongerThanItsField) {
  const auto bytes = counting(225, 0);
  const auto longer_than = [&bytes](std::size_t size) { return Bytes(bytes).first(size + 1); };
  CmReq req;
  req.private_data = longer_than(92);
  expect_nothing_written(req, 256, Errc::kTooLong, 164, "IBA 12.6");
  CmRep rep;
  rep.private_data = longer_than(196);
  expect_nothing_written(rep, 256, Errc::kTooLong, 60, "IBA 12.6");
  expect_nothing_written(CmMra{0, 0, 0, 0, longer_than(222)}, 256, Errc::kTooLong, 34, "IBA 12.6");
  expect_nothing_written(CmRej{0, 0, 0, 0, {}, longer_than(148)}, 256, Errc::kTooLong, 108,
                         "IBA 12.6");
  expect_nothing_written(CmRtu{0, 0, longer_than(224)}, 256, Errc::kTooLong, 32, "IBA 12.6");
  expect_nothing_written(CmDreq{0, 0, 0, longer_than(220)}, 256, Errc::kTooLong, 36, "IBA 12.6");
  expect_nothing_written(CmDrep{0, 0, longer_than(224)}, 256, Errc::kTooLong, 32, "IBA 12.6");
}

TEST(CmEncodeTest, AdditionalInformationLongerThanItsField) {
  const auto info = counting(73, 0);
  expect_nothing_written(CmRej{0, 0, 0, 0, info, {}}, 256, Errc::kTooLong, 36, "IBA 12.6.7");
}

// --- Round trips of random messages

class RandomMessage {
 public:
  explicit RandomMessage(std::uint64_t seed) : random_(seed) {
    for (std::uint8_t& byte : bytes_) byte = u8();
  }

  CmMessage next() {
    switch (random_() % 7) {
      case 0:
        return req();
      case 1:
        return CmMra{u32(), u32(), bits(2), bits(5), bytes(CmMra::kPrivateBytes)};
      case 2:
        return CmRej{u32(),
                     u32(),
                     bits(2),
                     u16(),
                     bytes(random_() % (CmRej::kInfoBytes + 1)),
                     bytes(CmRej::kPrivateBytes)};
      case 3:
        return rep();
      case 4:
        return CmRtu{u32(), u32(), bytes(CmRtu::kPrivateBytes)};
      case 5:
        return CmDreq{u32(), u32(), u24(), bytes(CmDreq::kPrivateBytes)};
      default:
        return CmDrep{u32(), u32(), bytes(CmDrep::kPrivateBytes)};
    }
  }

 private:
  std::uint8_t bits(unsigned count) {
    return static_cast<std::uint8_t>(random_() & ((1U << count) - 1));
  }
  std::uint8_t u8() { return bits(8); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(random_()); }
  std::uint32_t u24() { return u32() & 0xffffff; }
  std::uint32_t u32() { return static_cast<std::uint32_t>(random_()); }
  bool flag() { return bits(1) != 0; }
  Bytes bytes(std::size_t size) {
    return Bytes(bytes_).subspan(random_() % (bytes_.size() - size), size);
  }

  CmPath path() {
    CmPath p{u16(), u16(), {}, {}, u32() & 0xfffff, bits(6), u8(), u8(), bits(4), flag(), bits(5)};
    for (std::uint8_t& byte : p.local_gid) byte = u8();
    for (std::uint8_t& byte : p.remote_gid) byte = u8();
    return p;
  }

  CmReq req() {
    CmReq m;
    m.local_comm_id = u32();
    m.service_id = random_();
    m.local_ca_guid = random_();
    m.local_qkey = u32();
    m.local_qpn = u24();
    m.responder_resources = u8();
    m.local_eecn = u24();
    m.initiator_depth = u8();
    m.remote_eecn = u24();
    m.remote_cm_response_timeout = bits(5);
    m.transport_service = bits(2);
    m.end_to_end_flow_control = flag();
    m.starting_psn = u24();
    m.local_cm_response_timeout = bits(5);
    m.retry_count = bits(3);
    m.pkey = u16();
    m.path_mtu = bits(4);
    m.rdc_exists = flag();
    m.rnr_retry_count = bits(3);
    m.max_cm_retries = bits(4);
    m.srq = flag();
    m.extended_transport = bits(3);
    m.primary = path();
    m.alternate = path();
    m.private_data = bytes(CmReq::kPrivateBytes);
    return m;
  }

  CmRep rep() {
    CmRep m;
    m.local_comm_id = u32();
    m.remote_comm_id = u32();
    m.local_qkey = u32();
    m.local_qpn = u24();
    m.local_eecn = u24();
    m.starting_psn = u24();
    m.responder_resources = u8();
    m.initiator_depth = u8();
    m.target_ack_delay = bits(5);
    m.failover_accepted = bits(2);
    m.end_to_end_flow_control = flag();
    m.rnr_retry_count = bits(3);
    m.srq = flag();
    m.local_ca_guid = random_();
    m.private_data = bytes(CmRep::kPrivateBytes);
    return m;
  }

  std::mt19937_64 random_;
  std::array<std::uint8_t, 1024> bytes_;
};

TEST(CmPropertyTest, WhatIsEncodedDecodesToTheSame) {
  RandomMessage messages(12);
  for (int i = 0; i < 5'000; ++i) {
    const CmMessage message = messages.next();
    const MadBytes bytes = encode(message);
    const auto decoded = decode_cm(bytes);
    ASSERT_TRUE(decoded.has_value()) << describe(decoded.error());
    std::visit(
        [&]<typename Message>(const Message& expected) {
          const auto* actual = std::get_if<Message>(&decoded->message);
          ASSERT_NE(actual, nullptr);
          ASSERT_EQ(fields(*actual), fields(expected));
        },
        message);
  }
}

// --- Messages that Linux sent: linux-nfs41.pcap

// Frame 57.
MadBytes linux_req() {
  MadBytes bytes = mad_of(
      "01070203000000000000 00022e6f5dfa 0010000000000000 fa5d6f2e00000000 0000000001064e51"
      "505400fffe770002 0000000000000000 00001180 00000000 000000a0 c9b747a6 ffff30f0 ffffffff"
      "00000000000000000000ffff0a4d0002 00000000000000000000ffff0a4d0001 97979000 00400098");
  const auto private_data =
      hex("0040cfd8 0000000000000000000000000a4d0002 0000000000000000000000000a4d0001"
          "f6ab0e18 01010303");
  std::copy(private_data.begin(), private_data.end(), bytes.begin() + 164);
  return bytes;
}

TEST(CmLinuxTest, Req) {
  const MadBytes bytes = linux_req();
  const CmReq m = decode_as<CmReq>(bytes);
  CmReq expected;
  expected.local_comm_id = 0xfa5d6f2e;
  expected.service_id = 0x0000000001064e51;
  expected.local_ca_guid = 0x505400fffe770002;
  expected.local_qpn = 0x11;
  expected.responder_resources = 0x80;
  expected.remote_cm_response_timeout = 0x14;
  expected.starting_psn = 0xc9b747;
  expected.local_cm_response_timeout = 0x14;
  expected.retry_count = 6;
  expected.pkey = 0xffff;
  expected.path_mtu = 3;
  expected.max_cm_retries = 15;
  expected.primary.local_lid = 65535;
  expected.primary.remote_lid = 65535;
  expected.primary.local_gid = kLocalGid;
  expected.primary.remote_gid = kRemoteGid;
  expected.primary.flow_label = 0x97979;
  expected.primary.hop_limit = 0x40;
  expected.primary.local_ack_timeout = 0x13;
  expected.private_data = Bytes(bytes).subspan(164);
  EXPECT_EQ(fields(m), fields(expected));
  EXPECT_EQ(service_port(m.service_id), 20049);
}

TEST(CmLinuxTest, IpCmHeaderOfTheReq) {
  const MadBytes bytes = linux_req();
  const auto ip = decode_ip_cm(decode_as<CmReq>(bytes).private_data);
  ASSERT_TRUE(ip.has_value());
  EXPECT_EQ(ip->version, 0);
  EXPECT_EQ(ip->ip_version, 4);
  EXPECT_EQ(ip->source_port, 0xcfd8);
  EXPECT_EQ(ip->source, (Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 77, 0, 2}));
  EXPECT_EQ(ip->destination, (Gid{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 77, 0, 1}));
}

TEST(CmLinuxTest, Rep) {
  const MadBytes bytes = mad_of(  // frame 58
      "01070203000000000000 00022e6f5dfa 0013000000000000 ae570218 fa5d6f2e 00000000 00001100"
      "00000000 c7148800 00807800 505400fffe770001 f6ab0e18 01000303");
  CmRep expected;
  expected.local_comm_id = 0xae570218;
  expected.remote_comm_id = 0xfa5d6f2e;
  expected.local_qpn = 0x11;
  expected.starting_psn = 0xc71488;
  expected.initiator_depth = 0x80;
  expected.target_ack_delay = 0x0f;
  expected.local_ca_guid = 0x505400fffe770001;
  expected.private_data = Bytes(bytes).subspan(60);
  EXPECT_EQ(fields(decode_as<CmRep>(bytes)), fields(expected));
}

TEST(CmLinuxTest, Rtu) {
  const MadBytes bytes = mad_of(  // frame 59
      "01070203000000000000 00022e6f5dfa 0014000000000000 fa5d6f2e ae570218");
  EXPECT_EQ(fields(decode_as<CmRtu>(bytes)),
            fields(CmRtu{0xfa5d6f2e, 0xae570218, Bytes(bytes).subspan(32)}));
}

TEST(CmLinuxTest, Dreq) {
  const MadBytes bytes = mad_of(  // frame 880
      "01070203000000000000 00022e6f5dfa 0015000000000000 fa5d6f2e ae570218 00001100");
  EXPECT_EQ(fields(decode_as<CmDreq>(bytes)),
            fields(CmDreq{0xfa5d6f2e, 0xae570218, 0x11, Bytes(bytes).subspan(36)}));
}

TEST(CmLinuxTest, Drep) {
  const MadBytes bytes = mad_of(  // frame 881
      "01070203000000000000 00022e6f5dfa 0016000000000000 ae570218 fa5d6f2e");
  EXPECT_EQ(fields(decode_as<CmDrep>(bytes)),
            fields(CmDrep{0xae570218, 0xfa5d6f2e, Bytes(bytes).subspan(32)}));
}

// --- The IP CM header

constexpr const char* kIpv6Header =
    "00 60 4e51 fe80000000000000505400fffe770002 fe80000000000000505400fffe770001";

IpCmHeader ipv6_header() {
  IpCmHeader h;
  h.ip_version = 6;
  h.source_port = 20049;
  h.source = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 0x77, 0, 2};
  h.destination = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x50, 0x54, 0, 0xff, 0xfe, 0x77, 0, 1};
  return h;
}

TEST(IpCmTest, DecodesIpv6) {
  const auto h = decode_ip_cm(hex(kIpv6Header));
  ASSERT_TRUE(h.has_value());
  const IpCmHeader expected = ipv6_header();
  EXPECT_EQ(std::tuple(h->version, h->ip_version, h->source_port, h->source, h->destination),
            std::tuple(expected.version, expected.ip_version, expected.source_port, expected.source,
                       expected.destination));
}

TEST(IpCmTest, Encodes) {
  const auto bytes = encode_ip_cm(ipv6_header());
  EXPECT_THAT(bytes, ElementsAreArray(hex(kIpv6Header)));
}

TEST(IpCmTest, ReservedBitsAndMinorVersionDoNotMatter) {
  auto bytes = hex(kIpv6Header);
  bytes[0] = 0x0f;
  bytes[1] = 0x6f;
  const auto h = decode_ip_cm(bytes);
  ASSERT_TRUE(h.has_value());
  EXPECT_EQ(h->version, 0);
  EXPECT_EQ(h->ip_version, 6);
}

TEST(IpCmTest, EveryTruncationIsAnError) {
  const auto bytes = hex(kIpv6Header);
  for (std::uint32_t size = 0; size < kIpCmHeaderBytes; ++size) {
    expect_error(decode_ip_cm(Bytes(bytes).first(size)), Errc::kTruncated, size, "IBA A11");
  }
}

TEST(IpCmTest, AnotherMajorVersion) {
  auto bytes = hex(kIpv6Header);
  bytes[0] = 0x10;
  expect_error(decode_ip_cm(bytes), Errc::kUnsupported, 0, "IBA A11");
}

TEST(IpCmTest, AnotherIpVersion) {
  auto bytes = hex(kIpv6Header);
  bytes[1] = 0x50;
  expect_error(decode_ip_cm(bytes), Errc::kBadValue, 1, "IBA A11");
}

TEST(ServiceIdTest, OfTheIpService) {
  EXPECT_TRUE(is_rdma_ip_service(kServiceIdRdmaTcp | 20049));
  EXPECT_FALSE(is_rdma_ip_service(0x0000000002060000));
  EXPECT_FALSE(is_rdma_ip_service(0x1000000001060000));
}

// --- Names

TEST(CmNamesTest, Attributes) {
  const char* const expected[] = {"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "unknown"};
  std::uint16_t attribute = 0x10;
  for (const char* name : expected) {
    EXPECT_STREQ(cm_name(static_cast<CmAttribute>(attribute++)), name);
  }
}

TEST(CmNamesTest, RejectReasons) {
  EXPECT_STREQ(cm_rej_reason(1), "no QP available");
  EXPECT_STREQ(cm_rej_reason(4), "timeout");
  EXPECT_STREQ(cm_rej_reason(8), "invalid service ID");
  EXPECT_STREQ(cm_rej_reason(10), "stale connection");
  EXPECT_STREQ(cm_rej_reason(12), "primary remote port GID rejected");
  EXPECT_STREQ(cm_rej_reason(18), "alternate remote port GID rejected");
  EXPECT_STREQ(cm_rej_reason(24), "port and CM redirection");
  EXPECT_STREQ(cm_rej_reason(26), "invalid path MTU");
  EXPECT_STREQ(cm_rej_reason(28), "consumer reject");
  EXPECT_STREQ(cm_rej_reason(33), "invalid alternate flow label");
  EXPECT_STREQ(cm_rej_reason(35), "vendor option not supported");
}

TEST(CmNamesTest, ReasonsWithoutAName) {
  EXPECT_STREQ(cm_rej_reason(0), "unknown");
  EXPECT_STREQ(cm_rej_reason(34), "unknown");
  EXPECT_STREQ(cm_rej_reason(36), "unknown");
  EXPECT_STREQ(cm_rej_reason(65535), "unknown");
}

}  // namespace
}  // namespace rpcrdma::wire
