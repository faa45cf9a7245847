// decode_message(): the transport header. Expected values were derived from the bytes by hand.
#include "messages_for_tests.h"
#include "recording_sink.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/decode/programs.h>

namespace rpcrdma::decode {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(DecodeMessage, NullCall) {
  EXPECT_EQ(message_text(from_hex(kNullCall)),
            "RPC-over-RDMA: version 1, RDMA_MSG, XID 0xe222da5e, credit 128\n"
            "    XID: 0xe222da5e\n"
            "    Version: 1\n"
            "    Credit value: 128\n"
            "    Message type: RDMA_MSG (0)\n"
            "    Read segments: 0\n"
            "    Write chunks: 0\n"
            "    Reply chunk present: False\n"
            "Remote Procedure Call: Call, NFS version 4 NULL, XID 0xe222da5e\n"
            "    XID: 0xe222da5e\n"
            "    Message type: Call (0)\n"
            "    RPC version: 2\n"
            "    Program: NFS (100003)\n"
            "    Program version: 4\n"
            "    Procedure: NULL (0)\n"
            "    Credential: AUTH_NONE\n"
            "        Flavor: AUTH_NONE (0)\n"
            "        Length: 0\n"
            "    Verifier: AUTH_NONE\n"
            "        Flavor: AUTH_NONE (0)\n"
            "        Length: 0\n");
}

TEST(DecodeMessage, ReadChunk) {
  EXPECT_THAT(message_text(from_hex(kWriteCall)),
              StartsWith("RPC-over-RDMA: version 1, RDMA_MSG, XID 0x0023da5e, credit 128\n"
                         "    XID: 0x0023da5e\n"
                         "    Version: 1\n"
                         "    Credit value: 128\n"
                         "    Message type: RDMA_MSG (0)\n"
                         "    Read segments: 1\n"
                         "    Read chunk: 65536 bytes in 1 segment at Position 180\n"
                         "        Segment: 65536 bytes at 0x0023da5ecc5f0000, handle 0x000008b5\n"
                         "            Position: 180\n"
                         "            Handle: 0x000008b5\n"
                         "            Length: 65536\n"
                         "            Offset: 0x0023da5ecc5f0000\n"
                         "    Write chunks: 0\n"
                         "    Reply chunk present: False\n"));
}

TEST(DecodeMessage, WriteChunk) {
  EXPECT_THAT(message_text(from_hex(kNfs3ReadReply)),
              HasSubstr("    Read segments: 0\n"
                        "    Write chunks: 1\n"
                        "    Write chunk: 5003 bytes in 1 segment\n"
                        "        Segments: 1\n"
                        "        Segment: 5003 bytes at 0x417f06edcc596000, handle 0x000006c3\n"
                        "            Handle: 0x000006c3\n"
                        "            Length: 5003\n"
                        "            Offset: 0x417f06edcc596000\n"
                        "    Reply chunk present: False\n"));
}

TEST(DecodeMessage, ReplyChunkOfThreeSegments) {
  EXPECT_EQ(message_text(from_hex(kNomsgReply)),
            "RPC-over-RDMA: version 1, RDMA_NOMSG, XID 0xf222da5e, credit 64\n"
            "    XID: 0xf222da5e\n"
            "    Version: 1\n"
            "    Credit value: 64\n"
            "    Message type: RDMA_NOMSG (1)\n"
            "    Read segments: 0\n"
            "    Write chunks: 0\n"
            "    Reply chunk present: True\n"
            "    Reply chunk: 1076 bytes in 3 segments\n"
            "        Segments: 3\n"
            "        Segment: 104 bytes at 0xf222da5eca71a000, handle 0x00000c1e\n"
            "            Handle: 0x00000c1e\n"
            "            Length: 104\n"
            "            Offset: 0xf222da5eca71a000\n"
            "        Segment: 972 bytes at 0xf222da5ec30ef058, handle 0x00000b68\n"
            "            Handle: 0x00000b68\n"
            "            Length: 972\n"
            "            Offset: 0xf222da5ec30ef058\n"
            "        Segment: 0 bytes at 0xf222da5eca71a068, handle 0x00000af5\n"
            "            Handle: 0x00000af5\n"
            "            Length: 0\n"
            "            Offset: 0xf222da5eca71a068\n");
}

// Consecutive entries with one Position form one Read chunk; a new Position begins another.
TEST(DecodeMessage, ReadListOfTwoChunks) {
  RecordingSink sink;
  decode_message(from_hex("0000002a 00000001 00000010 00000001"
                          "00000001 00000000 00000001 00000100 0000000000001000"
                          "00000001 00000000 00000002 00000100 0000000000002000"
                          "00000001 00000080 00000003 00000100 0000000000003000"
                          "00000000 00000000 00000000"),
                 sink);
  std::vector<std::string> chunks;
  for (const std::string& line : sink.lines) {
    if (line.starts_with("rpcrdma.read") || line.starts_with("rpcrdma.write") ||
        line.starts_with("rpcrdma.reply") || line.starts_with("rpcrdma.segment @")) {
      chunks.push_back(line);
    }
  }
  EXPECT_THAT(chunks, ElementsAre("rpcrdma.read.count @16+76", "rpcrdma.read @16+48",
                                  "rpcrdma.segment @20+20", "rpcrdma.read.position @20+4",
                                  "rpcrdma.segment @44+20", "rpcrdma.read.position @44+4",
                                  "rpcrdma.read @64+24", "rpcrdma.segment @68+20",
                                  "rpcrdma.read.position @68+4", "rpcrdma.write.count @92+4",
                                  "rpcrdma.reply.present @96+4"));
}

TEST(DecodeMessage, OffsetsOfVersionTwo) {
  RecordingSink sink;
  decode_message(from_hex(kVersionTwoCall), sink);
  EXPECT_THAT(sink.lines,
              ElementsAre("rpcrdma @0+60", "rpcrdma.xid @0+4", "rpcrdma.version @4+4",
                          "rpcrdma.credit @8+4", "rpcrdma.proc @12+4", "rpcrdma.direction @16+4",
                          "rpcrdma.inv_handle @20+4", "rpcrdma.read.count @24+4",
                          "rpcrdma.write.count @28+28", "rpcrdma.write @32+20",
                          "rpcrdma.write.segments @32+4", "rpcrdma.segment @36+16",
                          "rpcrdma.segment.handle @36+4", "rpcrdma.segment.length @40+4",
                          "rpcrdma.segment.offset @44+8", "rpcrdma.reply.present @56+4",
                          "rpc @60+40", "rpc.xid @60+4", "rpc.msgtype @64+4", "rpc.rpcvers @68+4",
                          "rpc.program @72+4", "rpc.version @76+4", "rpc.procedure @80+4",
                          "rpc.cred @84+8", "rpc.cred.flavor @84+4", "rpc.cred.length @88+4",
                          "rpc.verf @92+8", "rpc.verf.flavor @92+4", "rpc.verf.length @96+4"));
}

TEST(DecodeMessage, VersionTwoHasItsOwnNames) {
  EXPECT_THAT(message_text(from_hex(kVersionTwoCall)),
              StartsWith("RPC-over-RDMA: version 2, RDMA2_MSG, XID 0x0000002a, credit 16\n"
                         "    XID: 0x0000002a\n"
                         "    Version: 2\n"
                         "    Credit value: 16\n"
                         "    Message type: RDMA2_MSG (0)\n"
                         "    Direction: Call (0)\n"
                         "    Handle to invalidate: 0x00001111\n"));
}

TEST(DecodeMessage, CantReply) {
  EXPECT_EQ(message_text(from_hex(kCantReply)),
            "RPC-over-RDMA: version 2, RDMA2_ERROR, XID 0x0000002a, credit 16\n"
            "    XID: 0x0000002a\n"
            "    Version: 2\n"
            "    Credit value: 16\n"
            "    Message type: RDMA2_ERROR (4)\n"
            "    Error: RDMA2_ERR_CANT_REPLY (3)\n"
            "    Processed: True\n"
            "    Segment index: 1\n"
            "    Length needed: 8192\n");
}

TEST(DecodeMessage, TheOptionTimeEcho) {
  const std::string text =
      message_text(from_hex("0000002a 00000002 00000010 00000005 00000001 54454348 00000010 "
                            "0000000000000007 0000000100000000"));
  EXPECT_THAT(text, ::testing::HasSubstr("Optional type: TIME_ECHO (1413825352)\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("Sent: 7\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("Answered: 4294967296\n"));
}

TEST(DecodeMessage, OptionalWithPayload) {
  EXPECT_EQ(message_text(from_hex(kOptional)),
            "RPC-over-RDMA: version 2, RDMA2_OPTIONAL, XID 0x0000002a, credit 16\n"
            "    XID: 0x0000002a\n"
            "    Version: 2\n"
            "    Credit value: 16\n"
            "    Message type: RDMA2_OPTIONAL (5)\n"
            "    Direction: Reply (1)\n"
            "    Optional type: 7\n"
            "    Optional information: aabbcc (3 bytes)\n"
            "Payload: 01020304 (4 bytes)\n");
}

TEST(DecodeMessage, ErrVers) {
  EXPECT_THAT(message_text(from_hex(kErrVers)), HasSubstr("    Error: ERR_VERS (1)\n"
                                                          "    Lowest version: 1\n"
                                                          "    Highest version: 1\n"));
}

TEST(DecodeMessage, Msgp) {
  const std::string text = message_text(from_hex(kMsgp));
  EXPECT_THAT(text, HasSubstr("    Message type: RDMA_MSGP (2)\n"
                              "    Alignment: 64\n"
                              "    Padding threshold: 1024\n"
                              "    Read segments: 0\n"));
  EXPECT_THAT(text, HasSubstr("Remote Procedure Call: Call, unknown version 1 unknown,"));
}

// kWriteCall as an RDMA_MSGP: bytes that may be padding are not decoded as arguments.
std::vector<std::uint8_t> padded_call(std::uint32_t align, std::uint32_t thresh) {
  std::vector<std::uint8_t> send = from_hex(kNullCall);
  send.resize(28);
  const auto write = from_hex(kWriteCall);
  send.insert(send.begin() + 16, {0, 0, 0, static_cast<std::uint8_t>(align), 0, 0, 0,
                                  static_cast<std::uint8_t>(thresh)});
  send[15] = 2;
  constexpr std::ptrdiff_t kBehindLists = 52;
  send.insert(send.end(), write.begin() + kBehindLists, write.end());
  return send;
}

TEST(DecodeMessage, OfAPaddedCallOnlyWhatIsCertain) {
  const std::string plain = message_text(padded_call(64, 255));
  EXPECT_THAT(plain, HasSubstr("SEQUENCE, PUTFH, WRITE"));
  EXPECT_THAT(plain, HasSubstr("Arguments: "));
  // The file handle is 20 bytes long.
  const std::string padded = message_text(padded_call(64, 20 + 8 + 1));
  EXPECT_THAT(padded, HasSubstr("SEQUENCE, PUTFH, WRITE"));
  EXPECT_THAT(padded, Not(HasSubstr("Arguments: ")));
  EXPECT_THAT(padded, HasSubstr("Payload: "));
  // The credentials are 28 bytes long.
  const std::string early = message_text(padded_call(64, 20));
  EXPECT_THAT(early, HasSubstr("Procedure: COMPOUND (1)"));
  EXPECT_THAT(early, Not(HasSubstr("Credential")));
  EXPECT_THAT(early, Not(HasSubstr("PUTFH")));
}

// The operations before the Read chunk are decoded; nothing after it is certain.
TEST(DecodeMessage, OfAReplyWithReadChunksOnlyWhatIsCertain) {
  const ProcedureId compound{kProgNfs, 4, 1};
  const auto reply = from_hex(kSecinfoReply);
  EXPECT_THAT(message_text(reply, &compound), HasSubstr("SEQUENCE, PUTROOTFH, SECINFO_NO_NAME"));
  const auto with_read = [&](std::uint8_t position) {
    std::vector<std::uint8_t> send = reply;
    const std::array<std::uint8_t, 24> chunk = {0, 0, 0, 1, 0, 0, 0, position, 0, 0, 0, 7,
                                                0, 0, 0, 8, 0, 0, 0, 0,        0, 0, 0, 0};
    send.insert(send.begin() + 16, chunk.begin(), chunk.end());
    return message_text(send, &compound);
  };
  // Header 24 bytes; status, tag and count 12; SEQUENCE 44.
  EXPECT_THAT(with_read(24 + 12 + 44), HasSubstr("NFS4_OK: SEQUENCE, ...\n"));
  EXPECT_THAT(with_read(24 + 12), HasSubstr("NFS4_OK: ...\n"));
  EXPECT_THAT(with_read(24), HasSubstr("Results: "));
  EXPECT_THAT(with_read(16), Not(HasSubstr("Accept")));
}

TEST(DecodeMessage, ReadChunksInAnyOrder) {
  std::string hex(kWriteCall);
  // A second chunk of the same Position before it, and an empty one of a lower Position.
  const std::string entry = "00000001000000b4000008b50000000400000000cc5f0000";
  const std::string empty = "0000000100000050000008b50000000000000000cc5f0000";
  const std::size_t list = hex.find("00000001000000b4");
  hex.insert(list, entry + empty);
  EXPECT_THAT(message_text(from_hex(hex)), HasSubstr("SEQUENCE, PUTFH, WRITE, GETATTR\n"));
}

TEST(DecodeMessage, ShortPrefixIsShownAsFarAsItGoes) {
  EXPECT_EQ(message_text(from_hex("0000002a 00000001 0000")),
            "RPC-over-RDMA: malformed\n"
            "    XID: 0x0000002a\n"
            "    Version: 1\n"
            "    [Malformed: offset 8: message ends inside the four fixed words (HDR-01)]\n");
}

TEST(DecodeMessage, UnknownVersionShowsThePrefix) {
  EXPECT_EQ(message_text(from_hex("0000002a 00000003 00000010 00000000 00000000")),
            "RPC-over-RDMA: malformed\n"
            "    XID: 0x0000002a\n"
            "    Version: 3\n"
            "    Credit value: 16\n"
            "    Message type: unknown (0)\n"
            "    [Malformed: offset 4: rdma_vers is not 1 or 2 (HDR-03)]\n");
}

TEST(DecodeMessage, ErrorOfAListNamesOffsetAndRule) {
  // The Read list's marker is 2.
  EXPECT_THAT(
      message_text(from_hex("0000002a 00000001 00000010 00000000 00000002 00000000 00000000")),
      HasSubstr("[Malformed: offset 16: optional marker is not 0 or 1 (HDR-06)]\n"));
}

TEST(DecodeMessage, HeaderWithoutItsRpcMessage) {
  EXPECT_THAT(message_text(from_hex(kNullCall.substr(0, 56))),
              HasSubstr("[Malformed: offset 28: no RPC message follows the header (HDR-07)]\n"));
}

TEST(DecodeMessage, ErrorOfTheRpcHeaderCountsFromTheSend) {
  std::vector<std::uint8_t> send = from_hex(kNullCall);
  send[28 + 7] = 9;  // msg_type
  EXPECT_THAT(message_text(send), HasSubstr("Remote Procedure Call: malformed\n"
                                            "    XID: 0xe222da5e\n"
                                            "    Message type: unknown (9)\n"
                                            "    [Malformed: offset 32: "));
}

}  // namespace
}  // namespace rpcrdma::decode
