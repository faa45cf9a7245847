// Mounts and sessions of whole captures: scenes, real traffic, parts of captures, and damage.
#include "session_scenes.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/report/analysis.h>
#include <rpcrdma/report/merge.h>
#include <rpcrdma/report/report_csv.h>
#include <rpcrdma/report/report_html.h>
#include <rpcrdma/report/report_json.h>
#include <rpcrdma/report/report_text.h>

namespace rpcrdma::scenes {
namespace {

using mounts::Mount;
using report::Report;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kPcapHeader = 24;

Report analyzed(const Bytes& capture, bool check_icrc = true) {
  const auto analysis = std::make_unique<report::Analysis>(
      report::AnalysisOptions{.model = {.check_icrc = check_icrc}});
  const auto source = capture::open_memory(capture);
  EXPECT_TRUE(source);
  if (!source) return {};
  EXPECT_TRUE(analysis->pipeline().run(**source, nullptr, 1));
  analysis->pipeline().finish();
  analysis->finish((*source)->stats());
  return analysis->report();
}

Report analyzed(const Scene& scene) {
  return analyzed(scene.pcap());
}

Scene session_scene(const std::string& name) {
  Scene scene;
  for (const SessionScene& s : session_scenes()) {
    if (s.name == name) s.make(scene);
  }
  EXPECT_NE(scene.packets(), 0U) << name;
  return scene;
}

Bytes committed(const std::string& name) {
  std::ifstream in(std::string(RPCRDMA_TEST_CAPTURES) + "/" + name, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

std::string session_text(const Report& r) {
  std::string text;
  report::write_text(r, {.all = true}, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string session_json(const Report& r) {
  std::string text;
  report::write_json(r, [&](std::string_view piece) { text += piece; });
  return text;
}

// The mounts alone, as JSON.
std::string mounts_of(const Report& r) {
  const std::string text = session_json(r);
  const std::size_t from = text.find("\"sessions\":");
  return from == std::string::npos ? ""
                                   : text.substr(from, text.find("\"findings\":", from) - from);
}

std::vector<std::uint32_t> connection_ids(const Mount& m) {
  std::vector<std::uint32_t> list;
  for (const mounts::MountConnection& c : m.connections) list.push_back(c.id);
  return list;
}

TEST(Sessions, CommittedCapturesAreTheScenes) {
  for (const SessionScene& s : session_scenes()) {
    EXPECT_EQ(committed("sessions/" + s.name + ".pcap"), session_scene(s.name).pcap()) << s.name;
  }
}

TEST(Sessions, NconnectIsOneSessionOnFourConnections) {
  const Report r = analyzed(session_scene("nconnect"));
  ASSERT_EQ(r.mounts.list.size(), 1U);
  const Mount& m = r.mounts.list[0];
  EXPECT_THAT(connection_ids(m), ElementsAre(1U, 2U, 3U, 4U));
  EXPECT_EQ(version_text(m), "NFSv4.1");
  EXPECT_EQ(m.client, "192.0.2.1");
  EXPECT_EQ(m.server, "192.0.2.2");
  EXPECT_EQ(m.client_id, 7U);
  EXPECT_EQ(m.client_owner, "client one");
  EXPECT_EQ(m.server_owner, "server one");
  EXPECT_EQ(m.calls, 11U);
  EXPECT_EQ(m.replies, 11U);
  EXPECT_TRUE(m.reclaim_complete);
  ASSERT_TRUE(m.fore.has_value());
  EXPECT_EQ(m.fore->slots, 4U);
  EXPECT_EQ(m.fore->max_request_size, 1U << 20);
  EXPECT_EQ(m.back->slots, 16U);
  for (const mounts::MountConnection& c : m.connections) {
    EXPECT_EQ(c.back_bound, c.id <= 2) << c.id;
    EXPECT_EQ(c.callbacks, c.id == 2 ? 1U : 0U);
  }
}

TEST(Sessions, SlotsAreTheLimitWhileCreditsAreLeft) {
  const Mount m = analyzed(session_scene("nconnect")).mounts.list.at(0);
  EXPECT_EQ(m.slots, 4U);
  EXPECT_EQ(m.slots_in_use_max, 4U);
  EXPECT_EQ(m.slots_full.count, 2U);
  EXPECT_GT(m.slots_full.ns, 4'000'000U);
  EXPECT_LT(m.slots_full.ns, 5'000'000U);
  EXPECT_EQ(m.credits_granted(), 128U);
  EXPECT_EQ(m.credits_in_use_max(), 1U);
  EXPECT_EQ(m.credits_full.count, 0U);
  EXPECT_EQ(m.limit(), mounts::Limit::kSlots);
}

TEST(Sessions, CreditsAreTheLimitWhileSlotsAreLeft) {
  Scene scene;
  Connection& c = scene.connect();
  create_session(c, 1, {.slots = 16});
  const auto with_credit = [](Message m) {
    m.credit = 2;
    return m;
  };
  for (std::uint32_t xid = 10; xid < 13; ++xid) {
    c.call(with_credit(call(xid, Compound(xid).sequence(1, xid - 10).call())));
    if (xid == 11) scene.wait(3'000'000);
    if (xid == 10) {
      c.reply(with_credit(reply(xid, Compound(xid).sequence_results(1, 0, 16).reply())));
      c.call(with_credit(call(20, Compound(20).sequence(1, 0).call())));
    }
    if (xid == 11) {
      c.reply(with_credit(reply(20, Compound(20).sequence_results(1, 0, 16).reply())));
      c.reply(with_credit(reply(11, Compound(11).sequence_results(1, 1, 16).reply())));
    }
  }
  const Mount m = analyzed(scene).mounts.list.at(0);
  EXPECT_EQ(m.limit(), mounts::Limit::kCredits);
  EXPECT_EQ(m.credits_full.count, 1U);
  EXPECT_GT(m.credits_full.ns, 3'000'000U);
  EXPECT_EQ(m.slots_full.count, 0U);
  EXPECT_EQ(m.slots_in_use_max, 2U);
}

// The server can lower the number of slots in any Reply.
TEST(Sessions, TheTargetOfTheServerIsTheNumberOfSlots) {
  Scene scene;
  Connection& c = scene.connect();
  create_session(c, 1, {.slots = 16});
  c.call(call(5, Compound(5).sequence(1, 0).call()));
  c.reply(reply(5, Compound(5).sequence_results(1, 0, 2).reply()));
  for (std::uint32_t slot = 0; slot < 2; ++slot) {
    c.call(call(6 + slot, Compound(6 + slot).sequence(1, slot).call()));
  }
  const Mount m = analyzed(scene).mounts.list.at(0);
  EXPECT_EQ(m.fore->slots, 16U);
  EXPECT_EQ(m.slots, 2U);
  EXPECT_EQ(m.slots_full.count, 1U);
}

TEST(Sessions, ADownBackchannelIsAWarningOnlyWhereItIsNeeded) {
  for (const bool delegated : {true, false}) {
    Scene scene = delegated ? session_scene("nconnect") : Scene();
    if (!delegated) {
      Connection& c = scene.connect();
      create_session(c, 1, {.flags = 0, .granted = 0});
      c.call(call(5, Compound(5).sequence(1, 0).call()));
      c.reply(reply(5, Compound(5).sequence_results(1, 0, 4, 0x200).reply()));
    }
    const Report r = analyzed(scene);
    const auto down = std::find_if(r.findings.begin(), r.findings.end(),
                                   [](const auto& f) { return f.rule == "CB-PATH-DOWN"; });
    ASSERT_NE(down, r.findings.end());
    EXPECT_EQ(down->severity, delegated ? rules::Severity::kWarning : rules::Severity::kNote);
    EXPECT_THAT(down->text,
                HasSubstr(delegated ? "; it granted 1 delegation" : "PATH_DOWN_SESSION"));
    EXPECT_EQ(down->frames.size(), 1U);
  }
  const Report up = analyzed(session_scene("pnfs-flexfiles"));
  EXPECT_THAT(session_text(up), Not(HasSubstr("CB-PATH-DOWN")));
}

TEST(Sessions, TextSaysWhereTheBackchannelIs) {
  EXPECT_THAT(session_text(analyzed(session_scene("nconnect"))),
              HasSubstr("connections 1, 2, over RDMA; 1 callback, 1 answered, last CB_RECALL "
                        "(NFS4_OK) at 08:00:00.004"));
  Scene scene;
  Connection& c = scene.connect();
  create_session(c, 1, {.flags = 0, .granted = 0});
  EXPECT_THAT(session_text(analyzed(scene)), HasSubstr("none: CREATE_SESSION did not ask for one"));
  Scene refused;
  create_session(refused.connect(), 1, {.granted = 0});
  EXPECT_THAT(session_text(analyzed(refused)), HasSubstr("none: the server did not bind it"));
}

TEST(Sessions, LayoutsNameTheirDataServers) {
  const Report r = analyzed(session_scene("pnfs-flexfiles"));
  ASSERT_EQ(r.mounts.list.size(), 2U);
  const mounts::Layouts& l = r.mounts.list[0].layouts;
  EXPECT_EQ(l.granted, 1U);
  EXPECT_EQ(l.types[4], 1U);
  EXPECT_EQ(l.refused, 1U);
  EXPECT_EQ(l.last_refusal, "NFS4ERR_LAYOUTUNAVAILABLE");
  EXPECT_EQ(l.returned, 1U);
  EXPECT_EQ(l.recalled, 1U);
  EXPECT_EQ(l.errors, 1U);
  // The READ while the layout was held, not the WRITEs after its return.
  EXPECT_EQ(l.mds_reads, 1U);
  EXPECT_EQ(l.mds_writes, 0U);
  ASSERT_EQ(l.servers.size(), 3U);
  EXPECT_EQ(l.servers[0].address, "192.0.2.9");
  EXPECT_TRUE(l.servers[0].rdma);
  EXPECT_THAT(l.servers[0].connections, ElementsAre(2U));
  EXPECT_EQ(l.servers[0].reads, 3U);
  EXPECT_EQ(l.servers[1].address, "2001:db8::9");
  EXPECT_THAT(l.servers[1].connections, ElementsAre());
  EXPECT_FALSE(l.servers[2].rdma);
  EXPECT_EQ(l.servers[2].port, 2049U);
  const Mount& data = r.mounts.list[1];
  EXPECT_EQ(version_text(data), "NFSv3");
  EXPECT_EQ(data.exports.at(0).path, "/export");
  const std::string text = session_text(r);
  EXPECT_THAT(text, HasSubstr("192.0.2.9 port 20049 over RDMA: connection 2, 3 READs, 0 WRITEs"));
  EXPECT_THAT(text, HasSubstr("192.0.2.10 port 2049 over tcp: not captured as RDMA"));
}

TEST(Sessions, OfLinux) {
  const Report deleg = analyzed(committed("linux-deleg.pcap"));
  ASSERT_EQ(deleg.mounts.list.size(), 2U);
  const Mount& first = deleg.mounts.list[0];
  EXPECT_EQ(version_text(first), "NFSv4.1");
  EXPECT_EQ(first.client, "10.77.0.2");
  EXPECT_EQ(first.slots, 30U);
  EXPECT_EQ(first.connections.at(0).credits_granted, 64U);
  EXPECT_TRUE(first.connections[0].back_bound);
  EXPECT_EQ(first.backchannel.callbacks, 2U);
  EXPECT_EQ(first.backchannel.answered, 2U);
  EXPECT_EQ(first.backchannel.last->operation, "CB_RECALL");
  EXPECT_GE(first.delegations, 1U);
  EXPECT_EQ(version_text(deleg.mounts.list[1]), "NFSv4.2");
  EXPECT_EQ(deleg.mounts.list[1].client, "10.77.0.3");
  const Report v41 = analyzed(committed("linux-nfs41.pcap"));
  ASSERT_EQ(v41.mounts.list.size(), 1U);
  EXPECT_EQ(v41.mounts.list[0].calls, 44U);
  EXPECT_NE(v41.mounts.list[0].destroyed_frame, 0U);
  EXPECT_EQ(v41.mounts.list[0].limit(), mounts::Limit::kNone);
  EXPECT_EQ(v41.mounts.list[0].slots_in_use_max, 3U);
  const Report v3 = analyzed(committed("linux-nfs3.pcap"));
  ASSERT_EQ(v3.mounts.list.size(), 1U);
  EXPECT_EQ(version_text(v3.mounts.list[0]), "NFSv3");
  EXPECT_EQ(v3.mounts.list[0].connections.at(0).reads, 10U);
  EXPECT_THAT(mounts_of(analyzed(committed("linux-non-rpc.pcap"))), "");
}

// The packets from number `first` on.
Bytes packets_from(const Bytes& capture, std::size_t first) {
  Bytes out(capture.begin(), capture.begin() + kPcapHeader);
  std::size_t at = kPcapHeader;
  for (std::size_t n = 0; at < capture.size(); ++n) {
    const std::size_t size = 16U + capture[at + 8] + 256U * capture[at + 9];
    const auto begin = capture.begin() + static_cast<std::ptrdiff_t>(at);
    if (n >= first) out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
    at += size;
  }
  return out;
}
Bytes packets_before(const Bytes& capture, std::size_t packets) {
  const Bytes rest = packets_from(capture, packets);
  return Bytes(capture.begin(),
               capture.end() - static_cast<std::ptrdiff_t>(rest.size() - kPcapHeader));
}

TEST(Sessions, WithoutTheirSetUpAreGroupedBySequence) {
  constexpr std::size_t kSetUp = 36;  // packets: CM, EXCHANGE_ID, CREATE_SESSION, three BINDs
  const Mount m =
      analyzed(packets_from(session_scene("nconnect").pcap(), kSetUp)).mounts.list.at(0);
  EXPECT_EQ(m.session, "01080f161d242b323940474e555c636a");
  EXPECT_EQ(m.connections.size(), 4U);
  EXPECT_FALSE(m.fore.has_value());
  EXPECT_EQ(m.slots, 4U);
  EXPECT_EQ(m.backchannel.requested, std::nullopt);
  EXPECT_EQ(m.backchannel.callbacks, 1U);
}

TEST(Sessions, AreReadBackFromJson) {
  for (const SessionScene& s : session_scenes()) {
    const Report r = analyzed(session_scene(s.name));
    const auto again = report::read_json(session_json(r));
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(session_json(*again), session_json(r));
    EXPECT_EQ(session_text(*again), session_text(r));
  }
}

TEST(Sessions, PartsAreMergedBySession) {
  for (const SessionScene& s : session_scenes()) {
    const Bytes capture = session_scene(s.name).pcap();
    const Report whole = analyzed(capture);
    // Where neither Calls are in flight nor layouts are held: a part does not know of those before.
    const std::size_t cut = s.name == "nconnect" ? 68 : 14;
    auto merged = report::merge(
        {analyzed(packets_from(capture, cut)), analyzed(packets_before(capture, cut))});
    ASSERT_TRUE(merged) << merged.error();
    EXPECT_EQ(mounts_of(*merged), mounts_of(whole)) << s.name;
  }
}

TEST(Sessions, AreInTableAndPage) {
  const Report r = analyzed(session_scene("nconnect"));
  std::string csv;
  report::write_csv(r, report::Table::kSessions, [&](std::string_view text) { csv += text; });
  EXPECT_THAT(csv, HasSubstr("4,1,192.0.2.1,192.0.2.2,01080f161d242b323940474e555c636a,1 2 3 4,11,"
                             "11,4,4,2,"));
  EXPECT_THAT(csv, HasSubstr(",slots,1 2,1,"));
  std::string html;
  report::write_html(r, {}, [&](std::string_view text) { html += text; });
  EXPECT_THAT(html, HasSubstr("id=\"sessions\""));
  EXPECT_THAT(html, HasSubstr("all 4 in use 2 times"));
}

// More sessions than are listed.
TEST(Sessions, BeyondTheBoundAreCounted) {
  Scene scene;
  Connection& c = scene.connect();
  constexpr std::uint32_t kMore = 5;
  for (std::uint32_t i = 0; i < mounts::kMaxMounts + kMore; ++i) {
    Bytes rpc = Compound(i).sequence(1, 0).call();
    constexpr std::size_t kSession = 40 + 4 + 4 + 4 + 4;  // after header, tag, minor, count, number
    rpc[kSession] = static_cast<std::uint8_t>(i);
    rpc[kSession + 1] = static_cast<std::uint8_t>(i >> 8U);
    c.call(call(i, rpc));
  }
  const Report r = analyzed(scene);
  EXPECT_EQ(r.mounts.list.size(), mounts::kMaxMounts);
  EXPECT_EQ(r.mounts.omitted_calls, kMore);
  EXPECT_THAT(session_text(r), HasSubstr("5 Calls of more mounts than are listed"));
}

TEST(Sessions, SlotsBeyondTheBoundAreCounted) {
  Scene scene;
  Connection& c = scene.connect();
  c.call(call(1, Compound(1).sequence(1, UINT32_MAX).call()));
  c.reply(reply(1, Compound(1).sequence_results(1, UINT32_MAX, 0).reply()));
  const Mount m = analyzed(scene).mounts.list.at(0);
  EXPECT_EQ(m.slots_beyond, 1U);
  EXPECT_EQ(m.slots_in_use_max, 0U);
}

// Whatever the bytes of COMPOUNDs are, they are decoded within bounds; the sanitizers watch.
TEST(Sessions, DamagedCompoundsAreReadWithinBounds) {
  std::uint32_t random = 1;
  const auto next = [&](std::size_t below) {
    random = random * 1664525U + 1013904223U;
    return (random >> 8U) % below;
  };
  for (const SessionScene& s : session_scenes()) {
    const Bytes capture = session_scene(s.name).pcap();
    for (int round = 0; round < 300; ++round) {
      Bytes damaged = capture;
      std::size_t at = kPcapHeader;
      while (at < damaged.size()) {
        const std::size_t size = damaged[at + 8] + 256U * damaged[at + 9];
        constexpr std::size_t kRpc = 14 + 20 + 8 + 12 + 28;  // up to the RPC message
        if (size > kRpc + 8 && next(3) == 0) {
          damaged[at + 16 + kRpc + next(size - kRpc - 4)] = static_cast<std::uint8_t>(next(256));
        }
        at += 16 + size;
      }
      const Report r = analyzed(damaged, false);
      EXPECT_LE(r.mounts.list.size(), mounts::kMaxMounts);
      EXPECT_TRUE(report::read_json(session_json(r)));
    }
  }
}

}  // namespace
}  // namespace rpcrdma::scenes
