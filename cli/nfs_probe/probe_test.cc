// Tests the probe against a small NFS server that can misbehave in every step.
#include "support/counting_new.h"
#include "tiny_nfs_for_tests.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <rpcrdma/nfs_probe/probe.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/soft/provider.h>

namespace rpcrdma::nfs_probe {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <typename T>
T must(fabric::Expected<T> value) {
  EXPECT_TRUE(value) << value.error().message;
  return std::move(*value);
}

// Server and probe in one loop, at an address of this test.
class Probing : public ::testing::Test {
 protected:
  Probing() {
    const auto pid = static_cast<unsigned>(::getpid());
    soft::ProviderOptions options;
    options.adapter.address =
        fabric::make_ipv4(127, static_cast<std::uint8_t>(210 + pid / 65536 % 40),
                          static_cast<std::uint8_t>(pid / 256), static_cast<std::uint8_t>(pid));
    provider = must(soft::SoftProvider::open(options));
    loop = must(service::Loop::create(*provider));
    service::Program* const programs[] = {&nfs};
    server = must(service::Server::create(*loop, programs));
    plan.client.server = options.adapter.address;
    plan.folder = *service::nfs3::make_handle(std::vector<std::uint8_t>{0, 0, 0, 1});
    plan.file = "probe";
    plan.timeout = 60 * fabric::kSecond;
    plan.interrupted = [this] { return asked_++ >= interrupt_after; };
  }
  // Returns the names of steps that failed.
  std::vector<std::string> run() {
    verdict = must(probe(*loop, plan, [this](const Step& s) { steps.push_back(s); }));
    std::vector<std::string> failed;
    for (const Step& s : steps) {
      if (!s.good) failed.push_back(s.name + ": " + s.detail);
    }
    return failed;
  }
  [[nodiscard]] std::string detail(const std::string& name) const {
    const auto at = std::ranges::find(steps, name, &Step::name);
    return at == steps.end() ? "no such step" : at->detail;
  }

  TinyNfs nfs;
  std::unique_ptr<soft::SoftProvider> provider;
  std::unique_ptr<service::Loop> loop;
  std::unique_ptr<service::Server> server;
  Plan plan;
  int interrupt_after = INT32_MAX;
  std::vector<Step> steps;
  Verdict verdict;

 private:
  int asked_ = 0;
};

TEST_F(Probing, AGoodServerPassesAndIsLeftAsItWas) {
  // More than fits inline.
  for (int i = 0; i < 200; ++i) nfs.files["file" + std::to_string(i)];
  const auto before = nfs.files;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_TRUE(verdict.good);
  EXPECT_FALSE(verdict.left_behind);
  EXPECT_EQ(nfs.files, before);
  EXPECT_EQ(steps.front().name, "NULL");
  EXPECT_EQ(steps.back().name, "REMOVE");
  EXPECT_EQ(detail("GETATTR"), "a directory, mode 0755");
  EXPECT_EQ(detail("FSINFO"), "READ up to 64 KiB, WRITE up to 64 KiB");
  EXPECT_EQ(detail("READDIRPLUS"), "201 entries, Reply chunk");
  EXPECT_EQ(detail("WRITE 1"), "inline");
  EXPECT_EQ(detail("READ 1"), "inline, data verified");
  EXPECT_EQ(detail("WRITE 65536"), "Read chunk");
  EXPECT_EQ(detail("READ 65536"), "Write chunk, data verified");
  EXPECT_EQ(detail("WRITE 65537"), "no such step") << "exceeds the server's maximum";
  EXPECT_EQ(verdict.server.read_most, 65536U);
  EXPECT_EQ(verdict.server.connection.thresholds.send, 4096U);
  EXPECT_GT(verdict.server.granted, 1U);
}

// One byte more than fits inline goes into a chunk, in Calls and in Replies.
TEST_F(Probing, SizesAreOnBothSidesOfWhatGoesInline) {
  EXPECT_THAT(run(), IsEmpty());
  for (const char* const what : {"WRITE ", "READ "}) {
    std::uint32_t longest_inline = 0, shortest_chunk = UINT32_MAX;
    for (const Step& s : steps) {
      if (!s.name.starts_with(what)) continue;
      const auto size = static_cast<std::uint32_t>(std::stoul(s.name.substr(s.name.find(' ') + 1)));
      if (s.detail.starts_with("inline")) {
        longest_inline = std::max(longest_inline, size);
      } else {
        shortest_chunk = std::min(shortest_chunk, size);
      }
    }
    EXPECT_EQ(longest_inline + 1, shortest_chunk) << what;
  }
}

TEST_F(Probing, SizesMayBeChosen) {
  plan.sizes = {5, 5000};
  nfs.hides_handles = true;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(nfs.log,
              ElementsAre("GETATTR", "FSINFO", "READDIRPLUS", "CREATE", "LOOKUP", "WRITE 5",
                          "READ 5", "WRITE 5000", "READ 5000", "COMMIT", "REMOVE"));
}

TEST_F(Probing, TheFirstThingThatFailsEndsItButForRemoving) {
  plan.sizes = {5000};
  nfs.refuses[Proc::kWrite] = 28;
  EXPECT_THAT(run(), ElementsAre("WRITE 5000: NFS3ERR_NOSPC"));
  EXPECT_FALSE(verdict.good);
  EXPECT_FALSE(verdict.left_behind);
  EXPECT_EQ(steps.back().name, "REMOVE");
  EXPECT_THAT(nfs.files, ElementsAre(::testing::Key("other")));
}

TEST_F(Probing, AFileThatIsSomebodyElsesIsNotTouched) {
  plan.file = "other";
  nfs.refuses[Proc::kCreate] = 17;
  EXPECT_THAT(run(), ElementsAre("CREATE other: NFS3ERR_EXIST"));
  EXPECT_THAT(nfs.log, Not(Contains("REMOVE")));
  EXPECT_FALSE(verdict.left_behind);
}

TEST_F(Probing, WhatCannotBeRemovedIsSaid) {
  plan.sizes = {5};
  nfs.refuses[Proc::kRemove] = 13;
  EXPECT_THAT(run(), ElementsAre("REMOVE: NFS3ERR_ACCES"));
  EXPECT_TRUE(verdict.left_behind);
}

TEST_F(Probing, WrongDataIsFound) {
  plan.sizes = {5000};
  nfs.wrong_at = 4321;
  EXPECT_THAT(run(), ElementsAre("READ 5000: byte 4321 differs from what was written"));
}

TEST_F(Probing, AShortWriteIsFound) {
  plan.sizes = {5000};
  nfs.short_by = 1;
  EXPECT_THAT(run(), ElementsAre("WRITE 5000: 4999 of 5000 bytes were written"));
}

TEST_F(Probing, AServerThatHasForgottenIsFound) {
  plan.sizes = {5};
  nfs.forgets = true;
  EXPECT_THAT(run(), ElementsAre("COMMIT: the server has restarted since the WRITEs"));
}

// FSINFO is the server's claim, and its sizes would determine our memory.
TEST_F(Probing, SizesBeyondAMebibyteAreNotTriedUnasked) {
  nfs.most = 1U << 20;
  nfs.boasts = UINT32_MAX;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_EQ(detail("FSINFO"), "READ up to 4096 MiB, WRITE up to 4096 MiB; testing up to 1024 KiB");
  EXPECT_EQ(detail("WRITE 1048576"), "Read chunk");
  EXPECT_EQ(detail("READ 1048576"), "Write chunk, data verified");
  EXPECT_EQ(detail("WRITE 1048577"), "no such step");
  EXPECT_EQ(verdict.server.read_most, UINT32_MAX);
  EXPECT_FALSE(verdict.left_behind);
}

TEST_F(Probing, WhenTheTimeOfAllStepsIsOverNothingMoreIsBegun) {
  plan.sizes = {5};
  plan.whole = 0;
  EXPECT_THAT(run(), ElementsAre(HasSubstr("time: all steps together took longer than")));
  EXPECT_FALSE(verdict.good);
  EXPECT_THAT(nfs.log, Not(Contains("CREATE")));
}

// What a server may answer in place of the truth, and how the probe takes it.
TEST_F(Probing, LiesAreFoundOrHarmless) {
  constexpr std::uint32_t kAll = UINT32_MAX;
  struct Lie {
    const char* what;
    Proc proc;
    std::vector<std::uint32_t> results;
    std::string found;  // what failed first; empty: nothing
    bool left_behind = false;
  };
  // Entries until the Reply chunk is full, each with a name of one octet and no attributes.
  std::vector<std::uint32_t> endless{0, 0, 0, 0};
  for (int i = 0; i < 900; ++i) {
    for (const std::uint32_t w : {1U, 0U, 7U, 1U, 0x41000000U, 0U, 1U, 0U, 0U})
      endless.push_back(w);
  }
  const std::string undecodable = "the results cannot be decoded";
  std::vector<std::uint32_t> attributes(22);
  const std::vector<Lie> lies{
      {"a status that does not exist", Proc::kGetattr, {kAll}, "GETATTR: nfsstat3 4294967295"},
      {"a file as the directory", Proc::kGetattr, attributes, "GETATTR: it is not a directory"},
      {"attributes cut short", Proc::kGetattr, {0, 2}, "GETATTR: " + undecodable},
      {"a flag that is none", Proc::kFsinfo, {0, 2}, "FSINFO: " + undecodable},
      {"sizes of nothing", Proc::kFsinfo, std::vector<std::uint32_t>(14), ""},
      {"preferred sizes of 4 GiB",
       Proc::kFsinfo,
       {0, 0, kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll, kAll},
       ""},
      {"more results than FSINFO has", Proc::kFsinfo, std::vector<std::uint32_t>(20),
       "FSINFO: " + undecodable},
      {"a list that does not end", Proc::kReaddirplus, endless, "READDIRPLUS: " + undecodable},
      {"a name of 4 GiB",
       Proc::kReaddirplus,
       {0, 0, 0, 0, 1, 0, 7, kAll},
       "READDIRPLUS: " + undecodable},
      {"a handle of 65 octets in a list",
       Proc::kReaddirplus,
       {0, 0, 0, 0, 1, 0, 7, 1, 0x41000000, 0, 1, 0, 1, 65},
       "READDIRPLUS: " + undecodable},
      {"a handle of no octets", Proc::kCreate, {0, 1, 0, 0, 0, 0}, "CREATE probe: " + undecodable},
      {"a handle of 4 GiB", Proc::kCreate, {0, 1, kAll, 0, 0, 0}, "CREATE probe: " + undecodable},
      {"an error after the file was made", Proc::kCreate, {5, 0, 0}, "CREATE probe: NFS3ERR_IO"},
      {"an unknown error after the file was made",
       Proc::kCreate,
       {12345, 0, 0},
       "CREATE probe: nfsstat3 12345"},
      {"4 GiB written",
       Proc::kWrite,
       {0, 0, 0, kAll, 0, 1, 1},
       "WRITE 5: 4294967295 of 5 bytes were written"},
      {"nothing written",
       Proc::kWrite,
       {0, 0, 0, 0, 0, 1, 1},
       "WRITE 5: 0 of 5 bytes were written"},
      {"data of 4 GiB", Proc::kRead, {0, 0, kAll, 1, kAll}, "READ 5: " + undecodable},
      {"more data than asked for", Proc::kRead, {0, 0, 8, 1, 8, 1, 2}, "READ 5: " + undecodable},
      {"another count than data", Proc::kRead, {0, 0, 5, 1, 4, 1}, "READ 5: " + undecodable},
      {"a verifier cut short", Proc::kCommit, {0, 0, 0, 1}, "COMMIT: " + undecodable},
      {"that the file is not there", Proc::kRemove, {2, 0, 0}, "REMOVE: NFS3ERR_NOENT"},
      {"garbage", Proc::kRemove, {7}, "REMOVE: " + undecodable, true},
  };
  plan.sizes = {5};
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.what);
    steps.clear();
    nfs.lies = {{lie.proc, lie.results}};
    nfs.files.erase("probe");
    const std::vector<std::string> failed = run();
    EXPECT_EQ(failed.empty() ? "" : failed.front(), lie.found);
    EXPECT_EQ(verdict.good, lie.found.empty());
    EXPECT_EQ(verdict.left_behind, lie.left_behind);
    if (lie.proc != Proc::kRemove) {
      EXPECT_FALSE(nfs.files.contains("probe"));
    }
  }
}

// The whole time bounds the Calls themselves, too.
TEST_F(Probing, ACallEndsWithTheTimeOfAllSteps) {
  plan.whole = 300 * fabric::kMillisecond;
  nfs.silent = Proc::kFsinfo;
  EXPECT_THAT(run(), ElementsAre(HasSubstr("FSINFO: timed out")));
}

// A report can fail: its reader is gone, or memory ran out.
TEST_F(Probing, WithoutAReportTheFileIsRemovedAllTheSame) {
  plan.sizes = {5};
  for (const char* const fails_at : {"CREATE probe", "WRITE 5", "READ 5", "REMOVE"}) {
    nfs.log.clear();
    const auto result = must(probe(*loop, plan, [&](const Step& s) {
      if (s.name == fails_at) throw std::bad_alloc();
    }));
    EXPECT_FALSE(result.good) << fails_at;
    EXPECT_FALSE(result.left_behind) << fails_at;
    EXPECT_THAT(nfs.log, Contains("REMOVE")) << fails_at;
    EXPECT_FALSE(nfs.files.contains("probe")) << fails_at;
  }
}

TEST_F(Probing, WhileTheFileMayExistThePlanSaysSo) {
  plan.sizes = {5};
  std::atomic<bool> may_exist{false};
  plan.may_exist = &may_exist;
  std::vector<std::string> during;
  (void)must(probe(*loop, plan, [&](const Step& s) {
    if (may_exist) during.push_back(s.name);
  }));
  EXPECT_THAT(during, ElementsAre("CREATE probe", "WRITE 5", "READ 5", "COMMIT"));
  EXPECT_FALSE(may_exist);
}

// From CREATE on no allocation succeeds any more, not even those of REMOVE.
TEST_F(Probing, AFileThatIsLeftBehindIsKnownWithoutAnyMemory) {
  using wire::testing::FailingNew;
  plan.sizes = {5};
  plan.timeout = 100 * fabric::kMillisecond;
  std::atomic<bool> may_exist{false};
  plan.may_exist = &may_exist;
  // A run without failures counts the allocations until CREATE, and warms what is allocated once.
  // On a busy machine packets are sent again, and the count differs from run to run: then CREATE
  // fails before the server has it, or REMOVE succeeds. Until one run leaves the file behind.
  constexpr int kTries = 50;
  bool left = false;
  for (int i = 0; i < kTries && !left; ++i) {
    std::size_t until_created = 0;
    const std::size_t before = wire::testing::allocations();
    (void)must(probe(*loop, plan, [&](const Step& s) {
      if (s.name == "CREATE probe") until_created = wire::testing::allocations() - before;
    }));
    FailingNew failing(until_created, FailingNew::kAll);
    try {
      failing.in([&] { (void)probe(*loop, plan, [](const Step&) {}); });
    } catch (const std::bad_alloc&) {
      // The program then reports what `may_exist` says.
    }
    failing.stop();
    left = nfs.files.contains("probe");
    if (left) {
      EXPECT_TRUE(failing.hit());
      EXPECT_TRUE(may_exist);
    }
  }
  EXPECT_TRUE(left);
}

// Wherever memory runs out: the file is removed, or the verdict says that it may still exist.
TEST_F(Probing, NoFileIsLeftBehindUnreportedWithoutMemory) {
  plan.sizes = {5000};
  plan.timeout = 2 * fabric::kSecond;
  bool hit = true;
  // Every allocation near the start, where a Call's parts are made for the first time, then fewer.
  for (std::size_t allocation = 0; hit; allocation += 1 + allocation / 8) {
    steps.clear();
    nfs.files.erase("probe");
    steps.reserve(100);
    std::atomic<bool> may_exist{false};
    plan.may_exist = &may_exist;
    wire::testing::FailingNew failing(allocation);
    std::optional<fabric::Expected<Verdict>> result;
    try {
      failing.in([&] {
        result.emplace(probe(*loop, plan, [this](const Step& s) { steps.push_back(s); }));
      });
    } catch (const std::bad_alloc&) {
      // Before anything was sent, or when everything was done.
    }
    hit = failing.hit();
    failing.stop();
    const bool said = may_exist;
    EXPECT_TRUE(said || !nfs.files.contains("probe")) << "at allocation " << allocation;
    if (result && result->has_value()) {
      EXPECT_EQ((*result)->left_behind, said);
    }
  }
}

TEST_F(Probing, NoAnswerIsAFailure) {
  plan.sizes = {5};
  plan.timeout = 200 * fabric::kMillisecond;
  nfs.silent = Proc::kFsinfo;
  EXPECT_THAT(run(), ElementsAre(HasSubstr("FSINFO: timed out")));
}

// Whenever the interrupt comes, the file is removed.
TEST_F(Probing, AnInterruptLeavesNothingBehind) {
  plan.sizes = {5, 5000};
  for (interrupt_after = 1; interrupt_after < 12; ++interrupt_after) {
    nfs.log.clear();
    EXPECT_THAT(run(), IsEmpty());
    EXPECT_THAT(nfs.files, ElementsAre(::testing::Key("other"))) << interrupt_after;
    EXPECT_FALSE(verdict.left_behind);
    EXPECT_TRUE(verdict.interrupted || verdict.good);
  }
}

TEST(DefaultSizes, AreWithinWhatTheServerTakes) {
  EXPECT_THAT(default_sizes({}, 100, 200, 3), ElementsAre(1, 2, 3));
  service::Thresholds thresholds;
  thresholds.send = 1024;
  thresholds.receive = 2048;
  const auto sizes = default_sizes(thresholds, 100, 200, 4000);
  // 924 and 1848 bytes of data fit inline.
  EXPECT_THAT(sizes, ElementsAre(1, 2, 3, 4, 923, 924, 925, 928, 1023, 1024, 1025, 1028, 1847, 1848,
                                 1849, 1852, 3999, 4000));
}

}  // namespace
}  // namespace rpcrdma::nfs_probe
