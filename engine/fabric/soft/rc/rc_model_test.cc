// Every fate of the first packets of short exchanges: each is delivered, lost, duplicated, or
// overtaken by the next one, in all combinations. All bytes arrive, once and in order.
#include "rc_exchange_for_tests.h"

namespace rpcrdma::soft {
namespace {

using testing::Exchange;
using testing::exchange_options;
using testing::Flying;
using testing::Pair;
using testing::PairOptions;

enum Fate : unsigned { kDeliver, kDrop, kDuplicate, kSwap, kFates };
constexpr std::size_t kPackets = 8;  // packets of both directions with a fate: 4^8 runs

void short_send(Exchange& e) {
  e.send(300);
  e.send(1);
}
void short_read(Exchange& e) {
  e.read(600, 0);
  e.send(1);
}
void short_mix(Exchange& e) {
  e.write(300, 0);
  e.read(300, 100);
  e.read(1, 0);
}

void run(void (*post)(Exchange&), const PairOptions& options, bool server_first,
         const std::array<unsigned, kPackets>& fates, bool may_fail) {
  Pair p(options);
  p.server_first = server_first;
  Exchange e(p);
  post(e);
  std::size_t n = 0;
  std::vector<Flying> held;
  p.network = [&](Flying f) {
    std::vector<Flying> out;
    const unsigned fate = n < kPackets ? fates[n] : kDeliver;
    ++n;
    if (fate == kSwap && held.empty()) {
      held.push_back(std::move(f));
      return out;
    }
    if (fate != kDrop) out.push_back(f);
    if (fate == kDuplicate) out.push_back(f);
    for (Flying& h : held) out.push_back(std::move(h));
    held.clear();
    return out;
  };
  EXPECT_TRUE(p.run(10'000));
  // Seven retries and the first transmission: no more may be lost.
  const bool all_lost = std::count_if(fates.begin(), fates.end(), [](unsigned f) {
                          return f == kDrop || f == kSwap;  // lost, if nothing overtakes it
                        }) > 7;
  const std::string verdict = e.verdict(may_fail || all_lost);
  if (!verdict.empty()) {
    std::string what;
    for (const unsigned f : fates) what += std::to_string(f);
    ADD_FAILURE() << verdict << ", fates " << what;
  }
}

void try_all(void (*post)(Exchange&), const PairOptions& options, bool server_first,
             bool may_fail = false) {
  std::array<unsigned, kPackets> fates{};
  for (;;) {
    run(post, options, server_first, fates, may_fail);
    if (::testing::Test::HasFailure()) return;
    std::size_t i = 0;
    while (i < kPackets && ++fates[i] == kFates) fates[i++] = kDeliver;
    if (i == kPackets) return;
  }
}

TEST(RcModel, Sends) {
  try_all(short_send, exchange_options(), true);
}

TEST(RcModel, ReadsAndASend) {
  try_all(short_read, exchange_options(), true);
}

TEST(RcModel, WritesAndReads) {
  try_all(short_mix, exchange_options(), false);
}

TEST(RcModel, ReadsInPartsOneAtATime) {
  PairOptions o = exchange_options();
  o.parameters.read_packets = o.parameters.initiator_depth = o.parameters.responder_resources = 1;
  try_all(short_read, o, true);
}

TEST(RcModel, WithOneRetryItMayFailButNotLie) {
  PairOptions o = exchange_options();
  o.parameters.retry_count = 1;
  try_all(short_mix, o, true, true);
}

}  // namespace
}  // namespace rpcrdma::soft
