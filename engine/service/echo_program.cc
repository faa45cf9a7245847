// The server's side of the echo program: a handler for each procedure.
#include "echo_wire.h"

#include <algorithm>
#include <vector>

namespace rpcrdma::service::echo {

using fabric::Time;
using protocol::Piece;

namespace {

// Maximum of waiting SLEEPs; those whose connection has ended are dropped first.
constexpr std::size_t kMaxSleepers = 65536;

// Arrival of a Call, by the server's clock.
struct Arrival {
  explicit Arrival(const Call& call) : received(call.received()), pulled(call.pulled()) {}
  Time received, pulled;
};

struct Sleeper {
  Time until;
  Arrival arrival;
  Deferred call;
};
// For a heap with the earliest on top.
bool later(const Sleeper& a, const Sleeper& b) {
  return a.until > b.until;
}

std::uint64_t between(Time from, Time to) {
  return to > from ? static_cast<std::uint64_t>(to - from) : 0;
}

}  // namespace

// The handlers. They use the counters and the pattern, and the program owns the sleepers.
struct EchoProgram::Impl {
  Impl(Pattern p, Clock c) : pattern(std::move(p)), clock(c) {}

  void count(Proc proc) { ++counters.calls[static_cast<std::size_t>(proc)]; }

  // Measures up to now, which is no earlier than `turn`. Call it when the work is done.
  ServerTimes measure(const Arrival& a, Time turn) const {
    return {between(a.received, a.pulled), between(a.pulled, clock != nullptr ? clock() : turn)};
  }
  template <typename... Word>
  Piece head(Words& words, const Call& call, Status status, Word... more) const {
    const ServerTimes times = measure(Arrival(call), call.now());
    return {put_result(words, status, times, more...), nullptr, false};
  }

  // Sends a result that consists of words only: SINK's, and that of refused data.
  void reply_words(Call& call, Status status, std::uint32_t a, std::uint32_t b) const {
    Words words;
    const Piece piece = head(words, call, status, a, b);
    (void)call.reply({&piece, 1});
  }

  // Answers corrupt or too long data. Returns true if the data is good.
  bool admit(Call& call, const DataArgs& args) {
    if (checksum(args.data) == args.checksum) return true;
    ++counters.corrupt;
    reply_words(call, Status::kCorrupt, 0, 0);
    return false;
  }
  bool admit(Call& call, std::uint64_t length) {
    if (length <= pattern.longest()) return true;
    ++counters.too_long;
    if (log_too_long) log_too_long(call, length);
    reply_words(call, Status::kTooLong, 0, 0);
    return false;
  }

  void echo(Call& call) {
    count(Proc::kEcho);
    const auto args = read_data_args(call.arguments(), kMaxEcho);
    if (!args) return (void)call.fail(CallError::kGarbageArgs);
    if (!admit(call, *args)) return;
    Words words;
    const auto length = static_cast<std::uint32_t>(args->data.size());
    const std::array<Piece, 3> pieces{head(words, call, Status::kOk, args->checksum, length),
                                      Piece{args->data, nullptr, false},
                                      Piece{roundup(length), nullptr, false}};
    (void)call.reply(pieces);
  }

  void sink(Call& call) {
    count(Proc::kSink);
    const auto args = read_data_args(call.arguments(), kMaxBulk);
    if (!args) return (void)call.fail(CallError::kGarbageArgs);
    const std::uint32_t found = checksum(args->data);
    const bool right = found == args->checksum;
    if (!right) ++counters.corrupt;
    reply_words(call, right ? Status::kOk : Status::kCorrupt,
                static_cast<std::uint32_t>(args->data.size()), found);
  }

  void source(Call& call) {
    count(Proc::kSource);
    const auto args = read_source_args(call.arguments());
    if (!args) return (void)call.fail(CallError::kGarbageArgs);
    if (!admit(call, args->length)) return;
    reply_bulk(call, pattern.bytes(args->seed, args->length), pattern.memory(),
               pattern.checksum(args->seed, args->length));
  }

  void echo_bulk(Call& call) {
    count(Proc::kEchoBulk);
    const auto args = read_data_args(call.arguments(), kMaxBulk);
    if (!args) return (void)call.fail(CallError::kGarbageArgs);
    if (!admit(call, *args)) return;
    reply_bulk(call, args->data, call.memory_of(args->data), args->checksum);
  }

  void reply_bulk(Call& call, wire::Bytes data, const fabric::Memory* memory,
                  std::uint32_t sum) const {
    Words words;
    const auto length = static_cast<std::uint32_t>(data.size());
    const std::array<Piece, 2> pieces{head(words, call, Status::kOk, sum, length),
                                      Piece{data, memory, true}};
    (void)call.reply(pieces);
  }

  void list(Call& call) {
    count(Proc::kList);
    const auto args = read_list_args(call.arguments());
    if (!args) return (void)call.fail(CallError::kGarbageArgs);
    const std::uint32_t data_bytes = args->count * args->size;
    if (!admit(call, data_bytes)) return;
    const auto bytes = static_cast<std::uint32_t>(list_bytes(args->count, args->size));
    std::array<Piece, 2> pieces;
    if (bytes != 0) {
      const auto block = call.acquire(bytes);
      if (!block) return (void)call.fail(CallError::kSystemError);
      write_items(*args, pattern.bytes(args->seed, data_bytes), block->data);
      pieces[1] = {{block->data, bytes}, block->memory, false};
    }
    Words words;
    const std::uint32_t sum = pattern.checksum(args->seed, data_bytes);
    pieces[0] = head(words, call, Status::kOk, sum, args->count);
    (void)call.reply(pieces);
  }

  void sleep(Call& call) {
    count(Proc::kSleep);
    const auto microseconds = read_sleep_args(call.arguments());
    if (!microseconds) return (void)call.fail(CallError::kGarbageArgs);
    if (*microseconds == 0) {
      Words words;
      const Piece piece = head(words, call, Status::kOk);
      return (void)call.reply({&piece, 1});
    }
    if (sleepers.size() >= kMaxSleepers) {
      std::erase_if(sleepers, [](const Sleeper& s) { return !s.call.waiting(); });
      std::make_heap(sleepers.begin(), sleepers.end(), later);
      if (sleepers.size() >= kMaxSleepers) return (void)call.fail(CallError::kSystemError);
    }
    const Arrival arrival(call);
    sleepers.push_back({call.now() + *microseconds * fabric::kMicrosecond, arrival, call.defer()});
    std::push_heap(sleepers.begin(), sleepers.end(), later);
  }

  void add(Call& call) {
    count(Proc::kCount);
    const std::uint32_t amount = call.arguments().u32();
    if (!call.arguments().at_end()) return (void)call.fail(CallError::kGarbageArgs);
    counters.count += amount;
    reply_words(call, Status::kOk, static_cast<std::uint32_t>(counters.count >> 32U),
                static_cast<std::uint32_t>(counters.count));
  }

  void wake(Time now) {
    while (!sleepers.empty() && sleepers.front().until <= now) {
      std::pop_heap(sleepers.begin(), sleepers.end(), later);
      Sleeper sleeper = std::move(sleepers.back());
      sleepers.pop_back();
      Words words;
      const ServerTimes times = measure(sleeper.arrival, now);
      const Piece piece{put_result(words, Status::kOk, times), nullptr, false};
      (void)sleeper.call.reply({&piece, 1});
    }
  }

  std::vector<Procedure> procedures() {
    constexpr std::uint32_t kResultHead = kDataResultBytes;
    const auto number = [](Proc p) { return static_cast<std::uint32_t>(p); };
    const auto row = [&](Proc p, void (Impl::*handler)(Call&), Binding binding,
                         bool idempotent = true) {
      return Procedure{number(p), proc_name(p), [this, handler](Call& c) { (this->*handler)(c); },
                       binding, idempotent};
    };
    return {
        {number(Proc::kNull),
         proc_name(Proc::kNull),
         [this](Call& c) {
           count(Proc::kNull);
           (void)c.reply({});
         },
         {},
         true},
        row(Proc::kEcho, &Impl::echo, {0, 0, kResultHead + kMaxEcho}),
        row(Proc::kSink, &Impl::sink, {1, 0, kResultHead}),
        row(Proc::kSource, &Impl::source, {0, 1, kResultHead}),
        row(Proc::kEchoBulk, &Impl::echo_bulk, {1, 1, kResultHead}),
        row(Proc::kList, &Impl::list, {0, 0, kResultHead + kMaxListBytes}),
        row(Proc::kSleep, &Impl::sleep, {0, 0, kResultBytes}),
        row(Proc::kCount, &Impl::add, {0, 0, kResultHead}, false),
    };
  }

  Pattern pattern;
  Clock clock;                    // null: only the loop's time of each iteration
  std::vector<Sleeper> sleepers;  // a heap
  EchoCounters counters;
  std::function<void(const Call&, std::uint64_t)> log_too_long;
};

fabric::Expected<std::unique_ptr<EchoProgram>> EchoProgram::create(protocol::MemoryPool& memory,
                                                                   std::uint32_t longest,
                                                                   Clock clock) {
  auto pattern = Pattern::create(memory, longest);
  if (!pattern) return tl::unexpected(pattern.error());
  return std::unique_ptr<EchoProgram>(
      new EchoProgram(std::make_unique<Impl>(std::move(*pattern), clock)));
}

EchoProgram::EchoProgram(std::unique_ptr<Impl> impl)
    : Program(kProgram, kVersion, "echo", impl->procedures()), impl_(std::move(impl)) {}
EchoProgram::~EchoProgram() = default;

Time EchoProgram::deadline() const {
  return impl_->sleepers.empty() ? fabric::kNever : impl_->sleepers.front().until;
}
void EchoProgram::expire(Time now) {
  impl_->wake(now);
}
const EchoCounters& EchoProgram::counters() const {
  return impl_->counters;
}
void EchoProgram::on_too_long(std::function<void(const Call&, std::uint64_t)> log) {
  impl_->log_too_long = std::move(log);
}

}  // namespace rpcrdma::service::echo
