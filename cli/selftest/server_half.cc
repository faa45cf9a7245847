// Serves the programs TRANSFER and SELFTEST, and calls the client back when a cell requests it.
#include "half_parts.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/selftest/control.h>
#include <rpcrdma/selftest/matrix.h>
#include <rpcrdma/selftest/server_half.h>
#include <rpcrdma/selftest/transfer_run.h>
#include <rpcrdma/service/reverse_client.h>

namespace rpcrdma::selftest {

using control::Status;
using service::Call;
using service::Deferred;

namespace {

constexpr std::uint32_t kMaxCalls = 100'000;  // per cell
constexpr std::uint32_t kServerDepth = 4;
constexpr std::uint32_t kMaxConnections = 4;  // per server; one is used

template <typename Answer>  // a Call or a Deferred
void answer(Answer& to, const control::Words& words) {
  const protocol::Piece piece{words, nullptr, false};
  (void)to.reply({&piece, 1});
}

}  // namespace

// A cell, running on its connection.
class Session : public service::ReverseObserver {
 public:
  Session(const control::Plan& plan, protocol::MemoryPool& memory,
          const service::echo::Pattern& pattern, const fabric::Time& clock)
      : plan_(plan),
        run_(memory, pattern,
             {transfers_of(plan.shape, plan.terms), kServerDepth, 30 * fabric::kSecond,
              plan.inline_only},
             [this](const protocol::CallSpec& spec) { return client_.call(spec); }),
        client_(*this, requester_options(plan), clock) {}

  [[nodiscard]] const control::Plan& plan() const { return plan_; }
  // Returns whether its connection has ended.
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] service::ReverseClient& client() { return client_; }

  [[nodiscard]] bool add(std::uint32_t count) {
    if (count > kMaxCalls - asked_) return false;
    asked_ += count;
    run_.add(count);
    return true;
  }
  void wait(Deferred call) {
    waiting_ = std::move(call);
    emit();
  }
  void close() { client_.close(); }

  void on_outcome(const protocol::CallOutcome& outcome) override {
    run_.on_outcome(outcome);
    emit();
  }
  void on_unbound() override { over_ = true; }

 private:
  static protocol::RequesterOptions requester_options(const control::Plan& plan) {
    protocol::RequesterOptions options;
    options.credits = kServerDepth;
    options.first_xid = 0x20000000U + plan.cell * 0x10000U;
    options.inline_only = plan.inline_only;
    return options;
  }

  void emit() {
    if (!waiting_ || !run_.done()) return;
    Deferred to = std::move(*waiting_);
    waiting_.reset();
    const Tally& tally = run_.tally();
    control::Calls calls{Status::kOk, tally.right, tally.refused, tally.wrong, tally.text};
    const protocol::RequesterCounters& moved = client_.requester().counters();
    protocol::MessageBytes expected = tally.expected;
    if (calls.wrong == 0 && moved.bytes != (expected += bytes_of_null_calls(moved.null_calls))) {
      calls.wrong = 1;
      calls.text = "bytes were moved in other ways than expected";
    }
    answer(to, control::encode(calls));
  }

  const control::Plan plan_;
  bool over_ = false;
  std::uint32_t asked_ = 0;
  std::optional<Deferred> waiting_;
  TransferRun run_;
  service::ReverseClient client_;  // destroyed first: its Calls belong to the run
};

struct ServerHalf::Impl : HalfParts, service::ServerObserver {
  Impl(Recorder& r, const ServerHalfOptions& o) : recorder(r), options(o) {}
  ~Impl() override {
    servers.clear();
    session.reset();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  fabric::Expected<void> listen(fabric::Provider& provider) {
    if (auto opened = open(provider, recorder, options.damage); !opened) return opened;
    control_program = std::make_unique<service::Program>(control::kProgram, control::kVersion,
                                                         "selftest", procedures());
    programs = {transfer.get(), control_program.get()};
    const std::size_t count = combinations().size();
    if (options.port > UINT16_MAX - count + 1) {
      return fabric::fail(fabric::Errc::kBadArgument,
                          fmt::format("{} ports are needed from {} on", count, options.port));
    }
    for (std::size_t i = 0; i < count; ++i) {
      service::ServerOptions server;
      server.port = static_cast<std::uint16_t>(options.port + i);
      server.inline_threshold = options.inline_threshold;
      server.max_connections = kMaxConnections;
      apply(combinations()[i], server);
      auto listening = service::Server::create(*loop, programs, server, this);
      if (!listening) return tl::unexpected(listening.error());
      servers.push_back(std::move(*listening));
    }
    return recorder.begin();
  }

  std::vector<service::Procedure> procedures() {
    const auto row = [this](control::Proc proc, const char* name, void (Impl::*handler)(Call&),
                            std::uint32_t longest) {
      return service::Procedure{static_cast<std::uint32_t>(proc), name,
                                [this, handler](Call& c) { (this->*handler)(c); },
                                service::Binding{0, 0, longest}, true};
    };
    return {row(control::Proc::kStart, "START", &Impl::start, 4),
            row(control::Proc::kWait, "WAIT", &Impl::wait, control::kMaxResults),
            row(control::Proc::kJudge, "JUDGE", &Impl::judge, control::kMaxResults)};
  }

  // ----- the program SELFTEST

  void start(Call& call) {
    const auto plan = control::read_plan(call.arguments());
    if (!plan) return (void)call.fail(service::CallError::kGarbageArgs);
    const Status status = begin(call, *plan);
    answer(call, control::encode(status));
    // After the Reply, so that the client expects the reverse Calls.
    if (status == Status::kOk && !session->add(plan->count)) session->close();
  }

  Status begin(Call& call, const control::Plan& plan) {
    if (session != nullptr) return session->plan().cell == plan.cell ? Status::kOk : Status::kBusy;
    if (!recorder.recording()) return Status::kRefused;
    auto made = std::make_shared<Session>(plan, loop->memory(), *pattern, loop->clock());
    if (!call.bind({made, &made->client()})) return Status::kRefused;
    session = std::move(made);
    return Status::kOk;
  }

  void wait(Call& call) {
    const auto cell = control::read_cell(call.arguments());
    if (!cell) return (void)call.fail(service::CallError::kGarbageArgs);
    if (session == nullptr || session->plan().cell != *cell) {
      return answer(call, control::encode(control::Calls{Status::kUnknown, 0, 0, 0, {}}));
    }
    session->wait(call.defer());
  }

  void judge(Call& call) {
    const auto cell = control::read_cell(call.arguments());
    if (!cell) return (void)call.fail(service::CallError::kGarbageArgs);
    // The end of its connection may be noticed later than the start of this one.
    if (session != nullptr && session->plan().cell == *cell) {
      asking = call.defer();
      return;
    }
    if (judged_cell != cell) {
      return answer(call, control::encode(control::Recording{Status::kUnknown, 0, {}}));
    }
    answer(call, control::encode(verdict()));
  }

  control::Recording verdict() const {
    control::Recording recording;
    recording.messages = static_cast<std::uint32_t>(judgement.messages);
    for (const std::string& error : judgement.errors) {
      recording.errors += recording.errors.empty() ? error : "; " + error;
    }
    return recording;
  }

  // ----- connections: when a cell's connection ends, so does its recording, and the next one
  // starts

  void on_closed(const service::ConnectionInfo&, service::CloseReason, std::string_view) override {
    if (session != nullptr && session->over()) end_session();
  }

  void end_session() {
    const std::shared_ptr<Session> ended = std::exchange(session, nullptr);
    ended->close();
    const control::Plan& plan = ended->plan();
    judgement = recorder.end(plan.name, plan.profile, plan.version);
    judged_cell = plan.cell;
    ++cells;
    if (!judgement.errors.empty()) ++bad_cells;
    // If it fails, START is refused.
    (void)recorder.begin();
    if (!asking) return;
    Deferred to = std::move(*asking);
    asking.reset();
    answer(to, control::encode(verdict()));
  }

  Recorder& recorder;
  const ServerHalfOptions options;
  std::unique_ptr<service::Program> control_program;
  std::vector<service::Program*> programs;
  std::shared_ptr<Session> session;
  std::optional<Deferred> asking;  // waits for the session to end
  std::optional<std::uint32_t> judged_cell;
  Judgement judgement;  // of the session it waits for
  std::uint64_t cells = 0, bad_cells = 0;
  std::vector<std::unique_ptr<service::Server>> servers;
};

fabric::Expected<std::unique_ptr<ServerHalf>> ServerHalf::create(fabric::Provider& provider,
                                                                 Recorder& recorder,
                                                                 const ServerHalfOptions& options) {
  auto impl = std::make_unique<Impl>(recorder, options);
  if (auto listening = impl->listen(provider); !listening) {
    return tl::unexpected(listening.error());
  }
  return std::unique_ptr<ServerHalf>(new ServerHalf(std::move(impl)));
}

ServerHalf::ServerHalf(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServerHalf::~ServerHalf() = default;

service::Loop& ServerHalf::loop() {
  return *impl_->loop;
}
std::uint64_t ServerHalf::cells() const {
  return impl_->cells;
}
std::uint64_t ServerHalf::bad_cells() const {
  return impl_->bad_cells;
}

}  // namespace rpcrdma::selftest
