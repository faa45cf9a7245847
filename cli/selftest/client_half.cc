// Runs the cells of a selftest from the connecting side, and compares what was moved with what must
// be.
#include "half_parts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/protocol/reduction.h>
#include <rpcrdma/selftest/client_half.h>
#include <rpcrdma/selftest/control.h>
#include <rpcrdma/selftest/transfer_run.h>

namespace rpcrdma::selftest {

using fabric::Expected;
using fabric::Time;
using protocol::MessageBytes;

namespace {

constexpr std::uint32_t kClientDepth = 4;
constexpr std::uint32_t kLeastCalls = 8;
constexpr std::uint32_t kMaxRounds = 40;

MessageBytes operator+(MessageBytes a, const MessageBytes& b) {
  return a += b;
}

// A connection to one of the server's ports.
class Contact : public service::ClientObserver {
 public:
  // Parses the results of a control Call.
  using Read = std::function<bool(protocol::StreamReader& results)>;

  Expected<void> connect(service::Loop& loop, const service::ClientOptions& options) {
    auto made = service::Client::create(loop, options, *this);
    if (!made) return tl::unexpected(made.error());
    client_ = std::move(*made);
    return {};
  }

  void on_outcome(const protocol::CallOutcome& outcome, std::uint32_t) override {
    if (outcome.cookie != kControl) {
      if (run != nullptr) run->on_outcome(outcome);
      return;
    }
    answered_ = true;
    service::ReplyReader reply(outcome);
    if (reply.status() != service::RpcStatus::kSuccess) {
      problem_ = service::describe(outcome, reply);
    } else if (!read_(reply.results())) {
      problem_ = "malformed results";
    }
    // Control Calls and their Replies are sent inline.
    control.inline_replies += outcome.reply.size();
  }
  void on_connected(const service::ConnectionInfo&) override { up_ = true; }
  void on_lost(std::uint32_t, std::string_view what, Time) override {
    if (finishing_) return;
    problem_ = fmt::format("{}: {}", up_ ? "the connection was lost" : "not connected", what);
  }

  Expected<void> call(control::Proc proc, control::Words arguments, Read read) {
    protocol::CallSpec spec = call_.make(proc, std::move(arguments));
    spec.cookie = kControl;
    answered_ = false;
    read_ = std::move(read);
    control.inline_calls += protocol::stream_bytes(spec.message);
    const auto made = client_->call(spec);
    if (!made) return tl::unexpected(made.error());
    return {};
  }
  void finish() {
    finishing_ = true;
    client_->finish();
  }

  [[nodiscard]] bool up() const { return up_; }
  [[nodiscard]] bool answered() const { return answered_; }
  // Returns why the connection is unusable, or nothing.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] service::Client& client() { return *client_; }
  [[nodiscard]] const MessageBytes& moved() const { return client_->requester(0).counters().bytes; }

  // Made by the requester on its own, for its one-way Calls.
  [[nodiscard]] std::uint64_t null_calls() const {
    return client_->requester(0).counters().null_calls;
  }

  TransferRun* run = nullptr;
  MessageBytes control;  // moved by the control Calls

 private:
  static constexpr std::uint64_t kControl = UINT64_MAX;

  control::ControlCall call_;
  Read read_;
  bool up_ = false, answered_ = false, finishing_ = false;
  std::string problem_;
  std::unique_ptr<service::Client> client_;  // destroyed first
};

}  // namespace

struct ClientHalf::Impl : HalfParts {
  Impl(Recorder& r, ClientHalfOptions o) : recorder(r), options(std::move(o)) {}

  Expected<void> begin(fabric::Provider& provider) {
    if (auto opened = open(provider, recorder, options.damage); !opened) return opened;
    programs = {transfer.get()};
    return {};
  }

  // Returns false if something went wrong, see `failures`. An error ends the whole run.
  Expected<bool> until(Contact& contact, const std::function<bool()>& condition,
                       std::vector<std::string>& failures) {
    while (!condition()) {
      if (!contact.problem().empty()) {
        failures.push_back(contact.problem());
        return false;
      }
      if (loop->now() >= give_up) {
        failures.emplace_back("it did not end");
        return false;
      }
      const auto going = loop->run_once(give_up - loop->now());
      if (!going) return tl::unexpected(going.error());
      if (options.interrupted && options.interrupted()) {
        return fabric::fail(fabric::Errc::kNotConnected, "interrupted");
      }
    }
    if (contact.problem().empty()) return true;
    failures.push_back(contact.problem());
    return false;
  }

  Expected<bool> connect(Contact& contact, const Cell& cell, std::vector<std::string>& failures) {
    const Combination& combination = combinations()[cell.combination];
    service::ClientOptions client;
    client.server = options.server;
    client.port = static_cast<std::uint16_t>(options.port + cell.combination);
    client.inline_threshold = options.inline_threshold;
    client.programs = programs;
    client.max_attempts = 1;
    client.requester.credits = 2 * kClientDepth;
    apply(combination, client);
    if (auto made = contact.connect(*loop, client); !made) return tl::unexpected(made.error());
    // With RFC 5666, thresholds are known when the first Call is answered.
    const bool configures = client.profile == service::Profile::k5666;
    auto up = until(
        contact,
        [&] { return contact.up() && (!configures || contact.client().info(0).configured); },
        failures);
    // Not a failure of the cell.
    if (up && !*up) return fabric::fail(fabric::Errc::kNotConnected, failures.back());
    return up;
  }

  Expected<bool> disconnect(Contact& contact, std::vector<std::string>& failures) {
    contact.finish();
    return until(
        contact, [&] { return contact.client().closed(); }, failures);
  }

  Expected<bool> control(Contact& contact, control::Proc proc, control::Words arguments,
                         std::vector<std::string>& failures, Contact::Read read) {
    if (auto made = contact.call(proc, std::move(arguments), std::move(read)); !made) {
      return tl::unexpected(made.error());
    }
    return until(
        contact, [&] { return contact.answered(); }, failures);
  }

  // ----- a cell

  static control::Plan plan_of(const Cell& cell, std::uint32_t number,
                               const service::Thresholds& agreed) {
    const Combination& combination = combinations()[cell.combination];
    control::Plan plan;
    plan.cell = number;
    plan.name = cell_name(cell);
    plan.profile = rules_of(combination.profile);
    plan.version = combination.version;
    plan.shape = cell.shape;
    // Terms of the reverse direction.
    plan.terms = terms_of(combination.version, agreed.receive, agreed.send);
    plan.inline_only = reverse_is_inline_only(combination.profile);
    return plan;
  }

  static InlineTerms terms_of(std::uint32_t version, std::uint32_t call, std::uint32_t reply) {
    const bool two = version == protocol::kVersionTwo;
    return {two ? protocol::kVersionTwoThreshold : call,
            two ? protocol::kVersionTwoThreshold : reply, protocol::empty_header_bytes(version)};
  }

  // Runs the Calls of a cell on its connection.
  Expected<bool> make_calls(Contact& contact, const Cell& cell, std::uint32_t number,
                            CellResult& result) {
    const service::Thresholds& agreed = contact.client().info(0).thresholds;
    control::Plan plan = plan_of(cell, number, agreed);
    const auto transfers =
        transfers_of(cell.shape, terms_of(plan.version, agreed.send, agreed.receive));
    const auto kinds = static_cast<std::uint32_t>(transfers.size());
    std::uint32_t count = std::max({options.calls, kLeastCalls, kinds});
    // The last Call counts those before it.
    if (cell.shape == Shape::kOneWay) count = (count + kinds - 1) / kinds * kinds;
    TransferRun run(loop->memory(), *pattern,
                    {transfers, kClientDepth, 30 * fabric::kSecond, false},
                    [&](const protocol::CallSpec& spec) { return contact.client().call(spec); });
    contact.run = &run;
    auto done = make_calls(contact, cell, plan, count, run, result);
    // Its Calls use memory of `run`, which is destroyed here.
    if (!done || !*done) contact.client().close();
    if (!done || !*done) (void)until_closed(contact);
    contact.run = nullptr;
    return done;
  }

  Expected<bool> make_calls(Contact& contact, const Cell& cell, control::Plan& plan,
                            std::uint32_t count, TransferRun& run, CellResult& result) {
    auto& failures = result.failures;
    const bool forward = cell.direction != Direction::kReverse;
    const bool reverse = cell.direction != Direction::kForward;
    plan.count = reverse ? count : 0;
    control::Status status = control::Status::kOk;
    control::Calls calls;
    MessageBytes before;
    std::uint64_t null_calls = 0;
    std::uint64_t lost = 0;
    std::uint32_t asked = 0;
    for (std::uint32_t round = 0; round < kMaxRounds; ++round) {
      if (round == 0 || reverse) {
        auto started = control(contact, control::Proc::kStart, control::encode(plan), failures,
                               [&](protocol::StreamReader& results) {
                                 const auto read = control::read_status(results);
                                 status = read.value_or(control::Status::kOk);
                                 return read.has_value();
                               });
        if (!started || !*started) return started;
        if (status != control::Status::kOk) {
          return fabric::fail(fabric::Errc::kNotConnected, control::status_name(status));
        }
        asked += plan.count;
      }
      if (round == 0) {
        // The first Call of a connection may have been sent in another version, too.
        before = contact.moved();
        null_calls = contact.null_calls();
        contact.control = {};
        lost = lost_so_far();
      }
      if (forward) run.add(count);
      auto ended = until(
          contact, [&] { return run.done(); }, failures);
      if (!ended || !*ended) return ended;
      if (reverse) {
        auto waited = control(contact, control::Proc::kWait, control::encode(plan.cell), failures,
                              [&](protocol::StreamReader& results) {
                                const auto read = control::read_calls(results);
                                calls = read.value_or(control::Calls{});
                                return read.has_value();
                              });
        if (!waited || !*waited) return waited;
      }
      if (!cell.lossy || !options.lost || lost_so_far() > lost) break;
    }
    const Tally& tally = run.tally();
    result.forward = tally.right;
    result.reverse = calls.right;
    result.refused = calls.refused;
    if (tally.wrong != 0) {
      failures.push_back(fmt::format("{} of {} Calls failed: {}", tally.wrong,
                                     tally.wrong + tally.right, tally.text));
    } else if (before + tally.expected + contact.control +
                   bytes_of_null_calls(contact.null_calls() - null_calls) !=
               contact.moved()) {
      failures.emplace_back("bytes were moved in other ways than expected");
    }
    if (calls.wrong != 0) {
      failures.push_back(
          fmt::format("{} of {} reverse Calls failed: {}", calls.wrong, asked, calls.text));
    } else if (calls.right + calls.refused != asked) {
      failures.push_back(fmt::format("{} reverse Calls were made, expected {}",
                                     calls.right + calls.refused, asked));
    }
    return true;
  }

  std::uint64_t lost_so_far() const { return options.lost ? options.lost() : 0; }

  // Runs the loop until the client is closed, for two seconds at most.
  Expected<void> until_closed(Contact& contact) {
    const Time end = loop->now() + 2 * fabric::kSecond;
    while (!contact.client().closed() && loop->now() < end) {
      const auto going = loop->run_once(end - loop->now());
      if (!going) return tl::unexpected(going.error());
    }
    return {};
  }

  // Asks for the verdict on the server's recording.
  Expected<bool> ask(const Cell& cell, std::uint32_t number, std::vector<std::string>& failures) {
    Contact contact;
    auto up = connect(contact, cell, failures);
    if (!up) return up;
    control::Recording recording;
    auto recorded = control(contact, control::Proc::kJudge, control::encode(number), failures,
                            [&](protocol::StreamReader& results) {
                              const auto read = control::read_recording(results);
                              recording = read.value_or(control::Recording{});
                              return read.has_value();
                            });
    if (!recorded || !*recorded) return recorded;
    if (recording.status != control::Status::kOk) {
      failures.emplace_back(control::status_name(recording.status));
    } else if (!recording.errors.empty()) {
      failures.push_back("the server's recording: " + recording.errors);
    }
    return disconnect(contact, failures);
  }

  Expected<CellResult> run(const Cell& cell, std::uint32_t number) {
    CellResult result;
    give_up = loop->now() + options.patience;
    const std::uint64_t lost = lost_so_far();
    if (auto begun = recorder.begin(); !begun) return tl::unexpected(begun.error());
    const auto done = run_recorded(cell, number, result);
    if (!done) {
      recorder.abandon();
      return tl::unexpected(done.error());
    }
    const Combination& combination = combinations()[cell.combination];
    const Judgement own =
        recorder.end(cell_name(cell), rules_of(combination.profile), combination.version);
    for (const std::string& error : own.errors) {
      result.failures.push_back("the client's recording: " + error);
    }
    give_up = std::max(give_up, loop->now() + options.patience / 2);
    if (auto asked = ask(cell, number, result.failures); !asked) {
      return tl::unexpected(asked.error());
    }
    result.lost = lost_so_far() - lost;
    return result;
  }

  Expected<bool> run_recorded(const Cell& cell, std::uint32_t number, CellResult& result) {
    Contact contact;
    auto up = connect(contact, cell, result.failures);
    if (!up) return up;
    auto made = make_calls(contact, cell, number, result);
    if (!made || !*made) return made;
    return disconnect(contact, result.failures);
  }

  Recorder& recorder;
  const ClientHalfOptions options;
  std::vector<service::Program*> programs;
  Time give_up = 0;
};

Expected<std::unique_ptr<ClientHalf>> ClientHalf::create(fabric::Provider& provider,
                                                         Recorder& recorder,
                                                         ClientHalfOptions options) {
  auto impl = std::make_unique<Impl>(recorder, std::move(options));
  if (auto begun = impl->begin(provider); !begun) return tl::unexpected(begun.error());
  return std::unique_ptr<ClientHalf>(new ClientHalf(std::move(impl)));
}

ClientHalf::ClientHalf(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientHalf::~ClientHalf() = default;

service::Loop& ClientHalf::loop() {
  return *impl_->loop;
}

Expected<CellResult> ClientHalf::run(const Cell& cell, std::uint32_t number) {
  return impl_->run(cell, number);
}

}  // namespace rpcrdma::selftest
