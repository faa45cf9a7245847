// The server's side of the callback program: sessions of clients, and the reverse Calls that they
// requested.
#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include <rpcrdma/service/callback.h>
#include <rpcrdma/service/reverse_client.h>

namespace rpcrdma::service::callback {

using fabric::Time;
using protocol::Piece;

namespace {

std::optional<Plan> read_plan(protocol::StreamReader& arguments) {
  Plan plan;
  plan.session = arguments.u64();
  plan.count = arguments.u32();
  const std::uint32_t proc = arguments.u32();
  plan.request.proc = static_cast<echo::Proc>(proc);
  plan.request.length = arguments.u32();
  plan.request.count = arguments.u32();
  plan.request.sleep = arguments.u32();
  plan.depth = arguments.u32();
  if (!arguments.ok() || !arguments.at_end() || proc >= echo::kProcedures || plan.depth == 0) {
    return std::nullopt;
  }
  return plan;
}

std::optional<std::uint64_t> read_session(protocol::StreamReader& arguments) {
  const std::uint64_t session = arguments.u64();
  if (!arguments.ok() || !arguments.at_end()) return std::nullopt;
  return session;
}

// Returns the length of the result that the client writes to memory offered by this end, in bytes.
std::uint32_t bulk_result(const echo::Request& request) {
  const bool has = request.proc == echo::Proc::kSource || request.proc == echo::Proc::kEchoBulk;
  return has ? request.length : 0;
}

}  // namespace

// Memory for results that all sessions share.
struct Budget {
  std::uint64_t left = 0;
};

// A reusable Call with space for results of up to `bytes` bytes.
class ReverseCall {
 public:
  // Returns null if there is no memory for it.
  [[nodiscard]] static std::unique_ptr<ReverseCall> create(protocol::MemoryPool& memory,
                                                           echo::Pattern& pattern, Budget& budget,
                                                           std::uint32_t bytes) {
    // A block's size is a power of two.
    const std::uint64_t cost = bytes == 0 ? 0 : std::bit_ceil(bytes);
    if (cost > budget.left) return nullptr;
    auto call = echo::EchoCall::create(memory, pattern, bytes);
    if (!call) return nullptr;
    return std::unique_ptr<ReverseCall>(new ReverseCall(std::move(*call), budget, bytes, cost));
  }
  ~ReverseCall() { budget_.left += cost_; }
  ReverseCall(const ReverseCall&) = delete;
  ReverseCall& operator=(const ReverseCall&) = delete;

  [[nodiscard]] std::uint32_t bytes() const { return bytes_; }
  [[nodiscard]] echo::EchoCall& call() { return call_; }

 private:
  ReverseCall(echo::EchoCall call, Budget& budget, std::uint32_t bytes, std::uint64_t cost)
      : call_(std::move(call)), budget_(budget), bytes_(bytes), cost_(cost) {
    budget_.left -= cost_;
  }

  echo::EchoCall call_;
  Budget& budget_;
  const std::uint32_t bytes_;
  const std::uint64_t cost_;
};

// Calls requested by one client. It also lives as long as a connection is bound to it, since the
// connection uses its requester.
class Session : public ReverseObserver {
 public:
  Session(std::uint64_t name, const fabric::Address& peer, protocol::MemoryPool& memory,
          echo::Pattern& pattern, Budget& budget, const fabric::Time& clock,
          const ProgramOptions& options)
      : name_(name),
        peer_(peer),
        memory_(memory),
        pattern_(pattern),
        budget_(budget),
        clock_(clock),
        options_(options),
        unbound_at_(clock),
        client_(*this, requester_options(options, name), clock) {}

  [[nodiscard]] std::uint64_t name() const { return name_; }
  // A client at another address that guesses the name gets no access.
  [[nodiscard]] bool is_of(const fabric::Address& peer) const { return peer_ == peer; }
  [[nodiscard]] ReverseClient& client() { return client_; }

  // Adds requested Calls.
  void add(const Plan& plan) {
    if (plan.count == 0) return;
    request_ = plan.request;
    depth_ = std::min({plan.depth, options_.depth, protocol::RequesterOptions().max_calls});
    left_ = std::min<std::uint64_t>(left_ + plan.count, UINT32_MAX);
  }
  // Starts as many Calls as may be in flight; those that were sent on another connection go first.
  void go_on() {
    while (left_ != 0 && outstanding_ < depth_) {
      if (begin_one()) {
        --left_;
      } else if (outstanding_ != 0) {
        break;  // the end of one of these may free memory
      } else {
        // Nothing will change for the remaining Calls, however many the peer has requested.
        result_.failed += static_cast<std::uint32_t>(std::exchange(left_, 0));
      }
    }
    if (done()) answer_waiting();
  }
  void wait(Deferred call) {
    waiting_.push_back(std::move(call));
    if (done()) answer_waiting();
  }
  [[nodiscard]] Result result() const {
    Result result = result_;
    result.resent = static_cast<std::uint32_t>(client_.requester().counters().resent);
    return result;
  }
  void stop() {
    left_ = 0;
    if (done()) answer_waiting();
  }
  void close() {
    left_ = 0;
    client_.close();
    answer_waiting();
  }

  [[nodiscard]] Time deadline() const {
    if (client_.bound()) return fabric::kNever;
    return std::min(unbound_at_ + options_.forgotten, client_.deadline());
  }
  // Returns false if the session is to be removed.
  [[nodiscard]] bool expire(Time now) {
    client_.expire(now);
    return client_.bound() || now < unbound_at_ + options_.forgotten;
  }

  void on_outcome(const protocol::CallOutcome& outcome) override {
    const auto slot = static_cast<std::size_t>(outcome.cookie);
    --outstanding_;
    switch (calls_[slot]->call().check(outcome)) {
      case echo::Verdict::kRight:
        ++result_.right;
        break;
      case echo::Verdict::kRpcError:
        ++(outcome.status == protocol::CallStatus::kReplied ? result_.wrong : result_.failed);
        break;
      case echo::Verdict::kStatus:
      case echo::Verdict::kMalformed:
      case echo::Verdict::kWrongData:
        ++result_.wrong;
        break;
    }
    free_.push_back(slot);
    go_on();
  }
  void on_unbound() override { unbound_at_ = clock_; }

 private:
  static protocol::RequesterOptions requester_options(const ProgramOptions& options,
                                                      std::uint64_t name) {
    protocol::RequesterOptions r;
    r.credits = r.max_calls = options.depth;
    r.first_xid = static_cast<std::uint32_t>(name ^ name >> 32U);
    r.inline_only = options.inline_only;
    return r;
  }

  [[nodiscard]] bool done() const { return left_ == 0 && outstanding_ == 0; }

  [[nodiscard]] bool begin_one() {
    if (free_.empty()) {
      calls_.reserve(std::bit_ceil(calls_.size() + 1));
      free_.reserve(calls_.capacity());  // so that storing an outcome needs no memory
      calls_.emplace_back();
      free_.push_back(calls_.size() - 1);
    }
    const std::size_t slot = free_.back();
    const std::uint32_t bytes = bulk_result(request_);
    if (calls_[slot] == nullptr || calls_[slot]->bytes() < bytes) {
      calls_[slot] = nullptr;  // its memory may be what is needed
      if (bytes > options_.longest) return false;
      calls_[slot] = ReverseCall::create(memory_, pattern_, budget_, bytes);
      if (calls_[slot] == nullptr) return false;
    }
    request_.seed = seed_++;
    auto spec = calls_[slot]->call().begin(request_);
    if (!spec) return false;
    spec->cookie = slot;
    spec->timeout = options_.timeout;
    if (!client_.call(*spec)) return false;
    free_.pop_back();
    ++outstanding_;
    return true;
  }

  void answer_waiting() {
    const Result r = result();
    std::array<std::uint8_t, 20> words{};
    wire::XdrWriter writer(words);
    for (const std::uint32_t word :
         {static_cast<std::uint32_t>(r.status), r.right, r.wrong, r.failed, r.resent}) {
      writer.u32(word);
    }
    const Piece piece{words, nullptr, false};
    for (Deferred& call : std::exchange(waiting_, {})) (void)call.reply({&piece, 1});
  }

  const std::uint64_t name_;
  const fabric::Address peer_;
  protocol::MemoryPool& memory_;
  echo::Pattern& pattern_;
  Budget& budget_;
  const fabric::Time& clock_;
  const ProgramOptions options_;
  echo::Request request_;
  std::uint32_t depth_ = 1;
  std::uint64_t left_ = 0;
  std::uint32_t outstanding_ = 0;
  std::uint32_t seed_ = 0;
  Result result_;
  std::vector<std::unique_ptr<ReverseCall>> calls_;
  std::vector<std::size_t> free_;  // indices in calls_
  std::vector<Deferred> waiting_;
  Time unbound_at_;
  ReverseClient client_;  // destroyed first: it uses the memory of the Calls above
};

struct CallbackProgram::Impl {
  Impl(protocol::MemoryPool& m, const fabric::Time& c, echo::Pattern p, const ProgramOptions& o)
      : memory(m), clock(c), pattern(std::move(p)), options(o), budget{o.memory} {}

  void reply(Call& call, Status status) const {
    std::array<std::uint8_t, 4> word{};
    wire::store_be32(word.data(), static_cast<std::uint32_t>(status));
    const Piece piece{word, nullptr, false};
    (void)call.reply({&piece, 1});
  }

  [[nodiscard]] std::shared_ptr<Session> find(std::uint64_t name,
                                              const fabric::Address& peer) const {
    const auto at = std::ranges::find_if(
        sessions, [&](const auto& s) { return s->name() == name && s->is_of(peer); });
    return at == sessions.end() ? nullptr : *at;
  }

  // Keeps one client from using all sessions.
  [[nodiscard]] bool has_room_for(const fabric::Address& peer) const {
    const auto own = std::ranges::count_if(sessions, [&](const auto& s) { return s->is_of(peer); });
    return sessions.size() < options.sessions &&
           static_cast<std::size_t>(own) < options.sessions_of_client;
  }

  void start(Call& call) {
    const auto plan = read_plan(call.arguments());
    if (!plan) return (void)call.fail(CallError::kGarbageArgs);
    std::shared_ptr<Session> session = find(plan->session, call.peer());
    const bool is_new = session == nullptr;
    if (is_new) {
      // The request continues a session and may not start one.
      if (plan->count == 0) return reply(call, Status::kNoSession);
      if (!has_room_for(call.peer())) return reply(call, Status::kTooMany);
      session = std::make_shared<Session>(plan->session, call.peer(), memory, pattern, budget,
                                          clock, options);
    }
    if (!call.bind({session, &session->client()})) return reply(call, Status::kRefused);
    if (is_new) sessions.push_back(session);
    session->add(*plan);
    reply(call, Status::kOk);
    session->go_on();
  }

  void wait(Call& call) {
    const auto name = read_session(call.arguments());
    if (!name) return (void)call.fail(CallError::kGarbageArgs);
    const auto session = find(*name, call.peer());
    if (session == nullptr) {
      const std::array<std::uint8_t, 20> words{0, 0, 0,
                                               static_cast<std::uint8_t>(Status::kNoSession)};
      const Piece piece{words, nullptr, false};
      return (void)call.reply({&piece, 1});
    }
    session->wait(call.defer());
  }

  void end(Call& call) {
    const auto name = read_session(call.arguments());
    if (!name) return (void)call.fail(CallError::kGarbageArgs);
    const auto session = find(*name, call.peer());
    if (session == nullptr) return reply(call, Status::kNoSession);
    std::erase(sessions, session);
    reply(call, Status::kOk);
    session->close();
  }

  void stop(Call& call) {
    const auto name = read_session(call.arguments());
    if (!name) return (void)call.fail(CallError::kGarbageArgs);
    const auto session = find(*name, call.peer());
    if (session == nullptr) return reply(call, Status::kNoSession);
    reply(call, Status::kOk);
    session->stop();
  }

  // All may run again: START must, since it binds the connection over which it comes.
  std::vector<Procedure> procedures() {
    const auto row = [this](Proc proc, const char* name, void (Impl::*handler)(Call&),
                            std::uint32_t longest) {
      return Procedure{static_cast<std::uint32_t>(proc), name,
                       [this, handler](Call& c) { (this->*handler)(c); }, Binding{0, 0, longest},
                       true};
    };
    return {{0, "NULL", [](Call& c) { (void)c.reply({}); }, {}, true},
            row(Proc::kStart, "START", &Impl::start, 4),
            row(Proc::kWait, "WAIT", &Impl::wait, 20),
            row(Proc::kEnd, "END", &Impl::end, 4),
            row(Proc::kStop, "STOP", &Impl::stop, 4)};
  }

  protocol::MemoryPool& memory;
  const fabric::Time& clock;
  echo::Pattern pattern;
  const ProgramOptions options;
  Budget budget;  // outlives the sessions
  std::vector<std::shared_ptr<Session>> sessions;
};

fabric::Expected<std::unique_ptr<CallbackProgram>> CallbackProgram::create(
    protocol::MemoryPool& memory, const fabric::Time& clock, const ProgramOptions& options) {
  auto pattern = echo::Pattern::create(memory, options.longest);
  if (!pattern) return tl::unexpected(pattern.error());
  return std::unique_ptr<CallbackProgram>(
      new CallbackProgram(std::make_unique<Impl>(memory, clock, std::move(*pattern), options)));
}

CallbackProgram::CallbackProgram(std::unique_ptr<Impl> impl)
    : Program(kProgram, kVersion, "callback", impl->procedures()), impl_(std::move(impl)) {}
CallbackProgram::~CallbackProgram() = default;

Time CallbackProgram::deadline() const {
  Time least = fabric::kNever;
  for (const auto& s : impl_->sessions) least = std::min(least, s->deadline());
  return least;
}

void CallbackProgram::expire(Time now) {
  // Destroying a session reports the outcomes of its Calls, and calls nothing else here.
  const auto gone =
      std::stable_partition(impl_->sessions.begin(), impl_->sessions.end(),
                            [now](const auto& session) { return session->expire(now); });
  const std::vector<std::shared_ptr<Session>> forgotten(gone, impl_->sessions.end());
  impl_->sessions.erase(gone, impl_->sessions.end());
  for (const auto& session : forgotten) session->close();
}

std::size_t CallbackProgram::sessions() const {
  return impl_->sessions.size();
}

}  // namespace rpcrdma::service::callback
