#include "echo_wire.h"

#include <algorithm>
#include <vector>

namespace rpcrdma::service::echo {

using fabric::Time;
using protocol::Piece;

namespace {

// SLEEPs that wait: Calls whose connection has ended go first.
constexpr std::size_t kMaxSleepers = 65536;

struct Sleeper {
  Time until = 0;
  Deferred call;
};
// For a heap with the earliest on top.
bool later(const Sleeper& a, const Sleeper& b) {
  return a.until > b.until;
}

void reply_status(Call& call, Status status) {
  Words words;
  const Piece piece{put_words(words, static_cast<std::uint32_t>(status)), nullptr, false};
  (void)call.reply({&piece, 1});
}

void reply_three(Call& call, Status status, std::uint32_t b, std::uint32_t c) {
  Words words;
  const Piece piece{put_words(words, static_cast<std::uint32_t>(status), b, c), nullptr, false};
  (void)call.reply({&piece, 1});
}

// The status of echo_res, bulk_res and list_res with nothing behind.
void reply_refused(Call& call, Status status) {
  reply_three(call, status, 0, 0);
}

}  // namespace

// The handlers. They see the counters and the pattern, and the program sees the sleepers.
struct EchoProgram::Impl {
  explicit Impl(Pattern p) : pattern(std::move(p)) {}

  void count(Proc proc) { ++counters.calls[static_cast<std::size_t>(proc)]; }

  // Corrupt or too long data is answered. True: go on.
  bool admit(Call& call, const DataArgs& args) {
    if (checksum(args.data) == args.checksum) return true;
    ++counters.corrupt;
    reply_refused(call, Status::kCorrupt);
    return false;
  }
  bool admit(Call& call, std::uint64_t length) {
    if (length <= pattern.longest()) return true;
    ++counters.too_long;
    reply_refused(call, Status::kTooLong);
    return false;
  }

  void echo(Call& call) {
    count(Proc::kEcho);
    const auto args = read_data_args(call.arguments(), kMaxEcho);
    if (!args) return (void)call.fail(CallError::kGarbageArgs);
    if (!admit(call, *args)) return;
    Words words;
    const auto length = static_cast<std::uint32_t>(args->data.size());
    const std::array<Piece, 3> pieces{
        Piece{put_words(words, 0U, args->checksum, length), nullptr, false},
        Piece{args->data, nullptr, false}, Piece{roundup(length), nullptr, false}};
    (void)call.reply(pieces);
  }

  void sink(Call& call) {
    count(Proc::kSink);
    const auto args = read_data_args(call.arguments(), kMaxBulk);
    if (!args) return (void)call.fail(CallError::kGarbageArgs);
    const std::uint32_t found = checksum(args->data);
    const bool right = found == args->checksum;
    if (!right) ++counters.corrupt;
    reply_three(call, right ? Status::kOk : Status::kCorrupt,
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

  static void reply_bulk(Call& call, wire::Bytes data, const fabric::Memory* memory,
                         std::uint32_t sum) {
    Words words;
    const auto length = static_cast<std::uint32_t>(data.size());
    const std::array<Piece, 2> pieces{Piece{put_words(words, 0U, sum, length), nullptr, false},
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
    Words words;
    std::array<Piece, 2> pieces{
        Piece{put_words(words, 0U, pattern.checksum(args->seed, data_bytes), args->count), nullptr,
              false}};
    if (bytes != 0) {
      const auto block = call.take(bytes);
      if (!block) return (void)call.fail(CallError::kSystemError);
      write_items(*args, pattern.bytes(args->seed, data_bytes), block->data);
      pieces[1] = {{block->data, bytes}, block->memory, false};
    }
    (void)call.reply(pieces);
  }

  void sleep(Call& call) {
    count(Proc::kSleep);
    const auto microseconds = read_sleep_args(call.arguments());
    if (!microseconds) return (void)call.fail(CallError::kGarbageArgs);
    if (*microseconds == 0) return reply_status(call, Status::kOk);
    if (sleepers.size() >= kMaxSleepers) {
      std::erase_if(sleepers, [](const Sleeper& s) { return !s.call.waiting(); });
      std::make_heap(sleepers.begin(), sleepers.end(), later);
      if (sleepers.size() >= kMaxSleepers) return (void)call.fail(CallError::kSystemError);
    }
    sleepers.push_back({call.now() + *microseconds * fabric::kMicrosecond, call.defer()});
    std::push_heap(sleepers.begin(), sleepers.end(), later);
  }

  void wake(Time now) {
    while (!sleepers.empty() && sleepers.front().until <= now) {
      std::pop_heap(sleepers.begin(), sleepers.end(), later);
      Deferred call = std::move(sleepers.back().call);
      sleepers.pop_back();
      Words words;
      const Piece piece{put_words(words, static_cast<std::uint32_t>(Status::kOk)), nullptr, false};
      (void)call.reply({&piece, 1});
    }
  }

  std::vector<Procedure> procedures() {
    constexpr std::uint32_t kHead = 12;  // status, checksum, count
    const auto number = [](Proc p) { return static_cast<std::uint32_t>(p); };
    const auto row = [&](Proc p, void (Impl::*handler)(Call&), Binding binding) {
      return Procedure{number(p), proc_name(p), [this, handler](Call& c) { (this->*handler)(c); },
                       binding};
    };
    return {
        {number(Proc::kNull),
         proc_name(Proc::kNull),
         [this](Call& c) {
           count(Proc::kNull);
           (void)c.reply({});
         },
         {}},
        row(Proc::kEcho, &Impl::echo, {0, 0, kHead + kMaxEcho}),
        row(Proc::kSink, &Impl::sink, {1, 0, kHead}),
        row(Proc::kSource, &Impl::source, {0, 1, kHead}),
        row(Proc::kEchoBulk, &Impl::echo_bulk, {1, 1, kHead}),
        row(Proc::kList, &Impl::list, {0, 0, kHead + kMaxListBytes}),
        row(Proc::kSleep, &Impl::sleep, {0, 0, 4}),
    };
  }

  Pattern pattern;
  std::vector<Sleeper> sleepers;  // a heap
  EchoCounters counters;
};

fabric::Expected<std::unique_ptr<EchoProgram>> EchoProgram::create(protocol::MemoryPool& memory,
                                                                   std::uint32_t longest) {
  auto pattern = Pattern::create(memory, longest);
  if (!pattern) return tl::unexpected(pattern.error());
  return std::unique_ptr<EchoProgram>(new EchoProgram(std::make_unique<Impl>(std::move(*pattern))));
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

}  // namespace rpcrdma::service::echo
