// The hosts of the soak: a server and clients that may end like killed processes, without a word to
// their peers, and begin again at the same address.
#pragma once

#include "soak_ledger.h"
#include "support/sim_host.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/service/client.h>
#include <rpcrdma/service/echo.h>
#include <rpcrdma/service/loop.h>
#include <rpcrdma/service/server.h>
#include <rpcrdma/soft/sim_network.h>

namespace rpcrdma::testing {

inline constexpr fabric::Time kSoakTurn = 20 * fabric::kMicrosecond;

struct SoakNet {
  explicit SoakNet(std::uint64_t seed) : net(seed) { net.run_for(fabric::kSecond); }

  soft::SimNetwork net;
  fabric::Time clock = fabric::kSecond;
  std::uint64_t incarnations = 0;  // seeds that differ
};

// Every host has a link of this speed. Without one all Calls would end at the same instant.
inline soft::SimLink soak_link(const soft::FaultPlan& faults) {
  soft::SimLink link;
  link.out.bits_per_second = link.in.bits_per_second = 2'500'000'000;
  link.in.queue_bytes = link.out.queue_bytes = 512 << 10;
  link.faults = faults;
  return link;
}

class SoakHost : public protocol::testing::SimHost {
 public:
  SoakHost(SoakNet& net, std::uint8_t last, const soft::FaultPlan& faults)
      : SimHost(net.net, options(last), ++net.incarnations, soak_link(faults)), net_(net) {
    service::LoopOptions of;
    of.clock = &net.clock;
    of.memory.limit = 2ULL << 30;
    loop = service::Loop::create(*this, of).value();
  }
  // The process is killed: nothing leaves the host any more.
  void vanish() {
    net_.net.set_faults(id(), {});
    net_.net.remove(id());
  }
  [[nodiscard]] bool turn() {
    const auto done = loop->run_once(0);
    wake();
    return done.has_value();
  }

  std::unique_ptr<service::Loop> loop;

 private:
  static soft::AdapterOptions options(std::uint8_t last) {
    soft::AdapterOptions o;
    o.address = fabric::make_ipv4(127, 0, 1, last);
    o.ack_timeout = 8;  // a millisecond: a lost connection is noticed soon
    return o;
  }
  SoakNet& net_;
};

struct SoakServer {
  SoakServer(SoakNet& net, SoakBooks& books, std::uint32_t connections)
      : host(net, 1, {}),
        ledger(books),
        echo(service::echo::EchoProgram::create(host.loop->memory(), kSoakBulk).value()),
        programs{&ledger, echo.get()} {
    at_rest = host.loop->memory().in_use();
    service::ServerOptions options;
    options.max_connections = 3 * connections;  // those of killed clients wait for their probe
    options.max_calls = 8 * options.max_connections;
    options.responder.credits = 8;
    options.duplicates.entries = 2 * books.keeps;
    options.duplicates.bytes = 1ULL << 30;
    options.probe = fabric::kSecond;
    server = service::Server::create(*host.loop, programs, options).value();
  }
  ~SoakServer() { server.reset(); }

  SoakHost host;
  SoakLedger ledger;
  std::unique_ptr<service::echo::EchoProgram> echo;
  std::array<service::Program*, 2> programs;
  std::unique_ptr<service::Server> server;
  std::uint64_t at_rest = 0;
};

// Sums over all clients.
struct SoakTotals {
  std::uint64_t made = 0, ended = 0, right = 0, timed_out = 0;
  std::uint64_t wrong = 0;         // a Reply that is not right to the last byte
  std::uint64_t not_executed = 0;  // an ADD with a Reply that no server executed
  std::uint64_t failed = 0;        // any other outcome
  std::string first_failure, first_wrong;
  std::uint64_t abandoned = 0;  // by clients that were killed
  std::uint64_t lost = 0, resent = 0, established = 0;
  std::uint32_t next_id = 0;
};

class SoakClient : public service::ClientObserver {
 public:
  SoakClient(SoakNet& net, std::uint8_t last, const soft::FaultPlan& faults, SoakBooks& books,
             SoakTotals& totals, std::uint32_t connections, std::uint32_t calls_of_each,
             std::uint64_t wanted)
      : host(net, last, faults),
        random_(net.incarnations),
        books_(books),
        totals_(totals),
        wanted_(wanted),
        pattern_(service::echo::Pattern::create(host.loop->memory(), kSoakBulk).value()) {
    slots_.reserve(std::size_t{connections} * calls_of_each);
    while (slots_.size() < slots_.capacity()) {
      slots_.push_back(std::make_unique<Slot>(host.loop->memory(), pattern_));
    }
    service::ClientOptions options;
    options.server = fabric::make_ipv4(127, 0, 1, 1);
    options.connections = connections;
    options.version.versions = last % 2 == 0 ? protocol::Versions{1, 1} : protocol::Versions{1, 2};
    options.requester.credits = 8;
    options.backoff_first = fabric::kMillisecond;
    options.backoff_most = 50 * fabric::kMillisecond;
    options.connect_timeout = fabric::kSecond;
    options.probe = 200 * fabric::kMillisecond;
    client = service::Client::create(*host.loop, options, *this).value();
    for (std::size_t i = 0; i < slots_.size(); ++i) call(i);
  }
  ~SoakClient() override {
    totals_.abandoned += client->outstanding() + client->waiting();
    count();
    client.reset();
    for (const auto& slot : slots_) host.loop->memory().release(slot->space);
  }
  SoakClient(const SoakClient&) = delete;
  SoakClient& operator=(const SoakClient&) = delete;

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t /*connection*/) override {
    Slot& slot = *slots_[outcome.cookie];
    ++totals_.ended;
    if (outcome.status == protocol::CallStatus::kReplied) {
      slot.is_add ? check_add(slot, outcome) : check_echo(slot, outcome);
    } else if (outcome.status == protocol::CallStatus::kTimedOut) {
      ++totals_.timed_out;
    } else {
      fail(outcome);
    }
    call(outcome.cookie);
  }

  SoakHost host;
  std::unique_ptr<service::Client> client;

 private:
  // The memory of one Call at a time.
  struct Slot {
    Slot(protocol::MemoryPool& memory, service::echo::Pattern& pattern)
        : echo(service::echo::EchoCall::create(memory, pattern, kSoakBulk).value()),
          space(memory.acquire(kSoakBulk).value()) {}
    service::echo::EchoCall echo;
    protocol::Block space;
    service::CallHeader header{kSoakProgram, 1, kSoakAdd};
    std::array<std::uint8_t, 16> words{};
    std::vector<std::uint8_t> bulk;
    SoakAdd add;
    bool is_add = false;

    [[nodiscard]] protocol::ResultSpace result_space() const {
      return {space.data, kSoakBulk, space.memory};
    }
  };

  std::uint32_t some(std::uint32_t most) {
    return static_cast<std::uint32_t>(random_.below(most + 1));
  }
  void call(std::size_t index) {
    if (totals_.made >= wanted_) return;
    Slot& slot = *slots_[index];
    slot.is_add = random_.chance(0.3);
    protocol::CallSpec spec;
    std::array<protocol::Piece, 3> message{};
    std::array<protocol::ResultSpace, 1> results{};
    if (slot.is_add) {
      begin_add(slot, spec, message, results);
    } else {
      spec = slot.echo.begin(some_request()).value();
    }
    spec.cookie = index;
    spec.timeout = 20 * fabric::kSecond;
    ++totals_.made;
    if (!client->call(spec)) {
      ++totals_.failed;
      if (totals_.first_failure.empty()) totals_.first_failure = "a Call could not be made";
    }
  }
  void begin_add(Slot& slot, protocol::CallSpec& spec, std::array<protocol::Piece, 3>& message,
                 std::array<protocol::ResultSpace, 1>& results) {
    SoakAdd& add = slot.add;
    add = {totals_.next_id++};
    switch (some(3)) {
      case 0:
        break;
      case 1:
        add.argument = some(kSoakBulk);
        break;
      case 2:
        add.result = some(kSoakBulk);
        break;
      case 3:
        add.list = some(kSoakList);
        break;
    }
    slot.bulk.resize(add.argument);
    fill_soak(add.id, slot.bulk);
    wire::XdrWriter writer(slot.words);
    for (const std::uint32_t word : {add.id, add.result, add.list, add.argument}) writer.u32(word);
    message = {slot.header.piece(), protocol::Piece{slot.words, nullptr, false},
               protocol::Piece{slot.bulk, nullptr, true}};
    spec.message = message;
    results = {slot.result_space()};
    if (add.result != 0) spec.results = results;
    spec.max_reply = service::kReplyHeaderBytes + 12 + ((add.list + 3) & ~3U);
  }
  service::echo::Request some_request() {
    using service::echo::Proc;
    const std::uint32_t seed = some(1000);
    switch (some(6)) {
      case 0:
        return {Proc::kNull};
      case 1:
        return {Proc::kEcho, some(500), 0, seed};
      case 2:
        return {Proc::kSink, some(kSoakBulk), 0, seed};  // Read chunk
      case 3:
        return {Proc::kSource, some(kSoakBulk), 0, seed};  // Write chunk
      case 4:
        return {Proc::kEchoBulk, some(kSoakBulk), 0, seed};  // both
      case 5:
        return {Proc::kList, 16, some(400), seed};  // Reply chunk
      default:
        return {Proc::kEcho, some(10000), 0, seed};  // long Call and Reply
    }
  }

  void check_echo(Slot& slot, const protocol::CallOutcome& outcome) {
    const service::echo::Verdict verdict = slot.echo.check(outcome);
    switch (verdict) {
      case service::echo::Verdict::kRight:
        ++totals_.right;
        break;
      case service::echo::Verdict::kRpcError:
        fail(outcome);
        break;
      case service::echo::Verdict::kStatus:
      case service::echo::Verdict::kMalformed:
      case service::echo::Verdict::kWrongData:
        note_wrong(fmt::format("{} of {} bytes: {}",
                               service::echo::proc_name(slot.echo.request().proc),
                               slot.echo.request().length, service::echo::verdict_name(verdict)));
        break;
    }
  }
  void check_add(Slot& slot, const protocol::CallOutcome& outcome) {
    const SoakAdd& add = slot.add;
    const std::array<protocol::ResultSpace, 1> results{slot.result_space()};
    service::ReplyReader reply(outcome, add.result != 0
                                            ? std::span<const protocol::ResultSpace>(results)
                                            : std::span<const protocol::ResultSpace>());
    if (reply.status() != service::RpcStatus::kSuccess) return fail(outcome);
    if (add.id >= books_.ever.size() || !books_.ever[add.id]) ++totals_.not_executed;
    protocol::StreamReader& r = reply.results();
    const std::uint32_t id = r.u32();
    const wire::Bytes list = r.opaque();
    const wire::Bytes data = r.opaque_result();
    const bool right = r.at_end() && id == add.id && list.size() == add.list &&
                       data.size() == add.result && is_soak(id + 1, list) && is_soak(id + 2, data);
    if (right) {
      ++totals_.right;
    } else {
      note_wrong(fmt::format("ADD {}: argument {}, result {}, list {}", add.id, add.argument,
                             add.result, add.list));
    }
  }
  void note_wrong(const std::string& what) {
    ++totals_.wrong;
    if (totals_.first_wrong.empty()) totals_.first_wrong = what;
  }
  void fail(const protocol::CallOutcome& outcome) {
    ++totals_.failed;
    if (!totals_.first_failure.empty()) return;
    totals_.first_failure = service::describe(outcome, service::ReplyReader(outcome));
  }
  void count() {
    const service::ClientCounters counters = client->counters();
    totals_.lost += counters.lost;
    totals_.resent += counters.requester.resent;
    totals_.established += counters.established;
  }

  soft::Random random_;
  SoakBooks& books_;
  SoakTotals& totals_;
  const std::uint64_t wanted_;  // Calls of all clients
  service::echo::Pattern pattern_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace rpcrdma::testing
