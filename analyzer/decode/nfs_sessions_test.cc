// Decodes the operations of sessions and layouts, whole and truncated.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <rpcrdma/decode/nfs_layouts.h>
#include <rpcrdma/decode/nfs_operations.h>
#include <rpcrdma/decode/nfs_sessions.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

using SessionStream = std::vector<std::uint8_t>;

SessionStream session_words(std::initializer_list<std::uint32_t> list) {
  SessionStream out;
  for (const std::uint32_t word : list) {
    for (int shift = 24; shift >= 0; shift -= 8)
      out.push_back(static_cast<std::uint8_t>(word >> shift));
  }
  return out;
}

void append_text(SessionStream& to, std::string_view text) {
  const SessionStream count = session_words({static_cast<std::uint32_t>(text.size())});
  to.insert(to.end(), count.begin(), count.end());
  to.insert(to.end(), text.begin(), text.end());
  to.resize((to.size() + 3) / 4 * 4);
}

NetAddress net_address(std::string_view netid, std::string_view universal) {
  const SessionStream n(netid.begin(), netid.end());
  const SessionStream u(universal.begin(), universal.end());
  return parse_universal(n, u);
}

TEST(NfsLayouts, UniversalAddresses) {
  const NetAddress v4 = net_address("rdma", "192.0.2.9.78.81");
  EXPECT_EQ(v4.host, "192.0.2.9");
  EXPECT_EQ(v4.port, 20049U);
  const NetAddress v6 = net_address("rdma6", "2001:DB8:0::9.8.1");
  EXPECT_EQ(v6.host, "2001:db8::9");
  EXPECT_EQ(v6.port, 2049U);
  for (const char* wrong : {"", ".", "192.0.2.9", "192.0.2.9.1", "192.0.2.9.256.1", "host.8.1",
                            "192.0.2.9.8.", "192.0.2.9.-1.1"}) {
    const NetAddress a = net_address("tcp", wrong);
    EXPECT_FALSE(a.port.has_value()) << wrong;
    EXPECT_EQ(a.host, wrong);
  }
  EXPECT_TRUE(is_rdma_netid("rdma6"));
  EXPECT_FALSE(is_rdma_netid("tcp6"));
}

struct Addresses final : DeviceAddressSink {
  void address(std::uint32_t server, const NetAddress& a) override {
    list += std::to_string(server) + " " + a.netid + " " + a.host + "; ";
  }
  std::string list;
};

TEST(NfsLayouts, DeviceOfTheFilesLayoutType) {
  SessionStream body = session_words({2, 0, 1, 2, 1});  // stripe indices, two servers, one address
  append_text(body, "rdma");
  append_text(body, "192.0.2.9.78.81");
  const SessionStream second = session_words({1});
  body.insert(body.end(), second.begin(), second.end());
  append_text(body, "tcp");
  append_text(body, "192.0.2.10.8.1");
  SessionStream results = session_words({1, static_cast<std::uint32_t>(body.size())});
  results.insert(results.end(), body.begin(), body.end());
  Addresses found;
  EXPECT_EQ(decode_device(results, found), 1U);
  EXPECT_EQ(found.list, "0 rdma 192.0.2.9; 1 tcp 192.0.2.10; ");
  for (std::size_t size = 0; size < results.size(); ++size) {
    Addresses of_part;
    EXPECT_FALSE(decode_device(wire::Bytes(results).first(size), of_part).has_value()) << size;
    EXPECT_EQ(of_part.list, "");
  }
}

TEST(NfsLayouts, CountsThatBytesCannotHoldAreNotFollowed) {
  const SessionStream results = session_words({4, 8, UINT32_MAX, 0});
  Addresses found;
  EXPECT_EQ(decode_device(results, found), 4U);
  EXPECT_EQ(found.list, "");
}

TEST(NfsLayouts, WhatLayoutReturnReturns) {
  const SessionStream whole = session_words({0, 4, 1, 1, 0, 0, UINT32_MAX, UINT32_MAX});
  EXPECT_EQ(decode_layout_return(whole), Returned::kFile);
  EXPECT_EQ(decode_layout_return(session_words({0, 4, 1, 1, 0, 0, 0, 4096})), Returned::kPart);
  EXPECT_EQ(decode_layout_return(session_words({0, 4, 1, 3})), Returned::kAll);
  EXPECT_EQ(decode_layout_return(wire::Bytes(whole).first(28)), std::nullopt);
}

TEST(NfsSessions, SequenceIsTheFirstOperation) {
  SessionStream call = session_words({0, 1, 1, 53, 1, 2, 3, 4, 9, 5, 7, 0});
  const auto sequence = first_sequence(call);
  ASSERT_TRUE(sequence.has_value());
  EXPECT_EQ(sequence->session[15], 4);
  EXPECT_EQ(sequence->slot, 5U);
  EXPECT_EQ(sequence->highest_slot, 7U);
  EXPECT_FALSE(first_sequence(wire::Bytes(call).first(40)).has_value());
  call[15] = 54;
  EXPECT_FALSE(first_sequence(call).has_value());
  SessionStream reply = session_words({0, 0, 1, 53, 0, 1, 2, 3, 4, 9, 5, 29, 15, 0x201});
  const auto results = first_sequence_results(reply);
  ASSERT_TRUE(results.has_value());
  EXPECT_EQ(results->target_highest_slot, 15U);
  EXPECT_EQ(results->status_flags, kCbPathDown | kCbPathDownSession);
  reply[19] = 1;  // its status
  EXPECT_FALSE(first_sequence_results(reply).has_value());
}

TEST(NfsSessions, ExchangeIdWithStateProtection) {
  // SP4_MACH_CRED: two bitmaps come before the owner.
  SessionStream results = session_words({0, 7, 1, 0x20000, 1, 1, 5, 2, 6, 7, 0, 0});
  append_text(results, "server");
  append_text(results, "scope");
  const auto e = decode_exchange_id_results(results);
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(e->client_id, 7U);
  EXPECT_EQ(std::string(e->server_owner.begin(), e->server_owner.end()), "server");
  EXPECT_EQ(std::string(e->server_scope.begin(), e->server_scope.end()), "scope");
  EXPECT_FALSE(decode_exchange_id_results(session_words({0, 7, 1, 0, 9, 0, 0})).has_value());
}

TEST(NfsSessions, DelegationsOfOpen) {
  SessionStream open(16 + 20 + 4);
  const auto with = [&](std::initializer_list<std::uint32_t> rest) {
    SessionStream results = open;
    const SessionStream more = session_words(rest);
    results.insert(results.end(), more.begin(), more.end());
    return grants_delegation(results);
  };
  EXPECT_TRUE(with({0, 1}));
  EXPECT_TRUE(with({1, 5, 2}));
  EXPECT_FALSE(with({0, 0}));
  EXPECT_FALSE(with({0, 3}));
  EXPECT_FALSE(with({0}));
}

struct Visited final : NfsOperationSink {
  bool operation(const NfsOperation& o) override {
    list += std::to_string(o.index) + ":" + std::to_string(o.op) + " " + std::to_string(o.status) +
            " " + std::to_string(o.bytes.size()) + "; ";
    return o.op != stop;
  }
  std::uint32_t stop = 0;
  std::string list;
};

TEST(NfsOperations, AreVisitedAsFarAsTheyAreWhole) {
  const ProcedureId id{kProgNfs, 4, 1, Wrapping::kNone};
  // PUTROOTFH, CLOSE, PUTROOTFH
  const SessionStream call = session_words({0, 1, 3, 24, 4, 1, 0, 0, 0, 0, 24});
  Visited all;
  visit_operations(id, call, all);
  EXPECT_EQ(all.list, "0:24 0 0; 1:4 0 20; 2:24 0 0; ");
  Visited front;
  visit_operations(id, wire::Bytes(call).first(call.size() - 8), front);
  EXPECT_EQ(front.list, "0:24 0 0; ");
  Visited stopped;
  stopped.stop = 24;
  visit_operations(id, call, stopped);
  EXPECT_EQ(stopped.list, "0:24 0 0; ");
  Visited none;
  visit_operations({kProgNfs, 3, 1, Wrapping::kNone}, call, none);
  EXPECT_EQ(none.list, "");
  Visited results;
  visit_result_operations(id, session_words({10018, 0, 2, 24, 0, 4, 10018}), {}, results);
  EXPECT_EQ(results.list, "0:24 0 0; 1:4 10018 0; ");
}

}  // namespace
}  // namespace rpcrdma::decode
