// The RPC header, credentials, and the fields shown of the upper layer. Expected values were
// derived by hand from RFC 5531, RFC 2203 and RFC 8881.
#include "messages_for_tests.h"
#include "recording_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/decode/programs.h>

namespace rpcrdma::decode {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::string rpc_text(std::string_view hex, const ProcedureId* call = nullptr) {
  std::string out;
  TextSink sink(out);
  decode_rpc_message(from_hex(hex), sink, call);
  return out;
}

TEST(DecodeRpc, AuthSysCredential) {
  EXPECT_THAT(message_text(from_hex(kWriteCall)), HasSubstr("    Credential: AUTH_SYS\n"
                                                            "        Flavor: AUTH_SYS (1)\n"
                                                            "        Length: 28\n"
                                                            "        Stamp: 0x00000000\n"
                                                            "        Machine name: (none)\n"
                                                            "        UID: 0\n"
                                                            "        GID: 0\n"
                                                            "    Verifier: AUTH_NONE\n"));
}

TEST(DecodeRpc, AuxiliaryGroups) {
  RecordingSink sink;
  decode_rpc_message(from_hex("0000002a 00000000 00000002 000186a3 00000003 00000000"
                              "00000001 00000020 00000007 00000001 61000000 000003e8 00000064"
                              "00000002 00000018 0000001b 00000000 00000000"),
                     sink);
  EXPECT_THAT(sink.lines,
              testing::IsSupersetOf({"rpc.cred @24+40", "rpc.auth_sys.stamp @32+4",
                                     "rpc.auth_sys.machine @40+1", "rpc.auth_sys.uid @44+4",
                                     "rpc.auth_sys.gid @48+4", "rpc.auth_sys.gids @56+4",
                                     "rpc.auth_sys.gids @60+4", "rpc.verf @64+8"}));
}

TEST(DecodeRpc, MalformedAuthSysKeepsTheRest) {
  // The machine name's length is 255 in a body of 20 bytes.
  const std::string text = rpc_text(
      "0000002a 00000000 00000002 000186a3 00000003 00000000"
      "00000001 00000014 00000007 000000ff 00000000 00000000 00000000 00000000 00000000");
  EXPECT_THAT(text, HasSubstr("        [Malformed: offset "));
  EXPECT_THAT(text, HasSubstr("    Verifier: AUTH_NONE\n"));
}

TEST(DecodeRpc, GssCredential) {
  EXPECT_THAT(rpc_text("0000002a 00000000 00000002 000186a3 00000004 00000001"
                       "00000006 00000018 00000001 00000000 00000009 00000003 00000004 cafe0001"
                       "00000006 00000004 01020304 5555"),
              EndsWith("    Credential: RPCSEC_GSS\n"
                       "        Flavor: RPCSEC_GSS (6)\n"
                       "        Length: 24\n"
                       "        GSS version: 1\n"
                       "        GSS procedure: RPCSEC_GSS_DATA (0)\n"
                       "        GSS sequence number: 9\n"
                       "        GSS service: krb5p (3)\n"
                       "        GSS context handle: cafe0001 (4 bytes)\n"
                       "    Verifier: RPCSEC_GSS\n"
                       "        Flavor: RPCSEC_GSS (6)\n"
                       "        Length: 4\n"
                       "        Body: 01020304 (4 bytes)\n"
                       "    Arguments: 5555 (2 bytes)\n"));
}

// COMPOUND of one operation, PUTROOTFH, first unwrapped and then wrapped for privacy.
TEST(DecodeRpc, WrappedArgumentsAreNotTakenForACompound) {
  const std::string head = "0000002a 00000000 00000002 000186a3 00000004 00000001";
  const std::string rest =
      " 00000004 cafe0001 00000000 00000000 00000000 00000001 00000001 00000018";
  EXPECT_THAT(rpc_text(head + "00000006 00000018 00000001 00000000 00000009 00000001" + rest),
              HasSubstr("NFSv4 COMPOUND: minor version 1: PUTROOTFH\n"));
  EXPECT_THAT(rpc_text(head + "00000006 00000018 00000001 00000000 00000009 00000003" + rest),
              Not(HasSubstr("COMPOUND: ")));
}

// A Reply does not state its service; its Call does.
TEST(DecodeRpc, AReplyHasTheServiceOfItsCall) {
  const std::string reply =
      "0000002a 00000001 00000000 00000006 00000004 01020304 00000000"
      "0000000c 00000009 00000046 00000000 00000004 01020304";
  ProcedureId call{100003, 3, 1, Wrapping::kIntegrity};
  EXPECT_THAT(rpc_text(reply, &call), HasSubstr("[GSS service: krb5i (2)]\n"));
  call.wrapping = Wrapping::kUnknown;
  EXPECT_THAT(rpc_text(reply, &call), Not(HasSubstr("GSS service")));
}

TEST(DecodeRpc, CompoundCallWithAReadChunk) {
  EXPECT_THAT(
      message_text(from_hex(kWriteCall)),
      EndsWith("    Arguments: 000000000000000100000004000000355253016b4fde46c4... (128 bytes)\n"
               "    NFSv4 COMPOUND: minor version 1: SEQUENCE, PUTFH, WRITE, GETATTR\n"
               "        Minor version: 1\n"
               "        Operation: SEQUENCE (53)\n"
               "        Session ID: 5253016b4fde46c40100000000000000 (16 bytes)\n"
               "        Sequence ID: 25\n"
               "        Slot: 0\n"
               "        Highest slot: 0\n"
               "        Operation: PUTFH (22)\n"
               "        File handle: 0xf9e70e3a\n"
               "        Operation: WRITE (38)\n"
               "        State ID: 000000005253016b4fde46c403000000 (16 bytes)\n"
               "        Offset: 0\n"
               "        Count: 65536\n"
               "        Operation: GETATTR (9)\n"));
}

TEST(DecodeRpc, ReverseCall) {
  EXPECT_THAT(
      message_text(from_hex(kRecallCall)),
      AllOf(HasSubstr("    NFSv4 COMPOUND: minor version 1: CB_SEQUENCE, CB_RECALL\n"),
            HasSubstr("CB_SEQUENCE (11)\n        Session ID: "), HasSubstr("        Slot: 0\n")));
}

TEST(DecodeRpc, ReplyAloneSaysNothingOfItsProcedure) {
  EXPECT_THAT(message_text(from_hex(kSecinfoReply)),
              HasSubstr("Remote Procedure Call: Reply, SUCCESS, XID 0xe722da5e\n"
                        "    XID: 0xe722da5e\n"
                        "    Message type: Reply (1)\n"
                        "    Reply status: MSG_ACCEPTED (0)\n"
                        "    Verifier: AUTH_NONE\n"
                        "        Flavor: AUTH_NONE (0)\n"
                        "        Length: 0\n"
                        "    Accept status: SUCCESS (0)\n"
                        "    Results: 0000000000000000000000030000003500000000"
                        "5253016b... (80 bytes)\n"));
}

TEST(DecodeRpc, ReplyWithItsCallKnown) {
  const ProcedureId call{kProgNfs, 4, 1};
  const std::string text = message_text(from_hex(kSecinfoReply), &call);
  EXPECT_THAT(text, HasSubstr("Remote Procedure Call: Reply, NFS version 4 COMPOUND, SUCCESS, XID "
                              "0xe722da5e\n"
                              "    XID: 0xe722da5e\n"
                              "    Message type: Reply (1)\n"
                              "    [Program: NFS (100003)]\n"
                              "    [Program version: 4]\n"
                              "    [Procedure: COMPOUND (1)]\n"));
  EXPECT_THAT(text, EndsWith("    NFSv4 COMPOUND: NFS4_OK: SEQUENCE, PUTROOTFH, SECINFO_NO_NAME\n"
                             "        Status: NFS4_OK (0)\n"
                             "        Operation: SEQUENCE (53)\n"
                             "        Session ID: 5253016b4fde46c40100000000000000 (16 bytes)\n"
                             "        Sequence ID: 2\n"
                             "        Slot: 0\n"
                             "        Highest slot: 29\n"
                             "        Target highest slot: 29\n"
                             "        Status flags: 0x00000000\n"
                             "        Operation: PUTROOTFH (24)\n"
                             "        Operation: SECINFO_NO_NAME (52)\n"));
}

TEST(DecodeRpc, ReverseReplyWithItsCallKnown) {
  const ProcedureId call{kProgNfsCallback, 1, 1};
  EXPECT_THAT(message_text(from_hex(kRecallReply), &call),
              HasSubstr("    NFSv4 COMPOUND: NFS4_OK: CB_SEQUENCE, CB_RECALL\n"));
}

TEST(DecodeRpc, ProgMismatch) {
  EXPECT_THAT(rpc_text("0000002a 00000001 00000000 00000000 00000000 00000002 00000003 00000004"),
              EndsWith("    Accept status: PROG_MISMATCH (2)\n"
                       "    Lowest version: 3\n"
                       "    Highest version: 4\n"));
}

TEST(DecodeRpc, RpcMismatch) {
  EXPECT_THAT(rpc_text("0000002a 00000001 00000001 00000000 00000002 00000002"),
              EndsWith("    Reply status: MSG_DENIED (1)\n"
                       "    Reject status: RPC_MISMATCH (0)\n"
                       "    Lowest version: 2\n"
                       "    Highest version: 2\n"));
}

TEST(DecodeRpc, AuthError) {
  EXPECT_THAT(rpc_text("0000002a 00000001 00000001 00000001 00000005"),
              EndsWith("    Reject status: AUTH_ERROR (1)\n"
                       "    Authentication status: AUTH_TOOWEAK (5)\n"));
}

TEST(DecodeRpc, ConfRdmaCall) {
  EXPECT_THAT(rpc_text("0000002a 00000000 00000002 00018841 00000001 00000001"
                       "00000000 00000000 00000000 00000000 00001000 00002000 00000008"),
              EndsWith("    Connection configuration\n"
                       "        Maximum Call size: 4096\n"
                       "        Maximum Reply size: 8192\n"
                       "        Maximum RDMA Reads: 8\n"));
}

TEST(DecodeRpc, ConfRdmaReply) {
  const ProcedureId call{kProgRdmaConfig, 1, 1};
  EXPECT_THAT(rpc_text("0000002a 00000001 00000000 00000000 00000000 00000000"
                       "00001000 00000040 00000008",
                       &call),
              EndsWith("    Connection configuration\n"
                       "        Maximum Call size: 4096\n"
                       "        Alignment: 64\n"
                       "        Maximum RDMA Reads: 8\n"));
}

}  // namespace
}  // namespace rpcrdma::decode
