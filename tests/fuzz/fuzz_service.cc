// Every RPC message gets one answer each time that it comes, at once or when its time has come, and
// all memory is released. Results of any kind are read within their bounds, and accepted only if
// the data is correct.
//
// The input: a byte that splits the rest in two, and one that selects its use: a message for a
// server, whose second part comes in a Read chunk, or results for a client, whose second part is in
// a result's buffer.
#include "fuzz_check.h"
#include "support/null_provider.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <rpcrdma/service/dispatcher.h>
#include <rpcrdma/service/echo.h>

namespace {

using namespace rpcrdma;
using fuzz::require;
using service::echo::EchoCall;
using service::echo::EchoProgram;
using service::echo::Pattern;
using service::echo::Proc;
using service::echo::Request;
using service::echo::Verdict;

constexpr std::uint32_t kLongest = 4096;

struct Fixture {
  Fixture() {
    dispatcher.attach(
        [this](std::uint64_t, std::span<const protocol::Piece> message, fabric::Time) {
          ++replies;
          require(!message.empty() && message[0].bytes.size() >= 20);
          require(wire::load_be32(message[0].bytes.data() + 4) == 1);
          return fabric::Expected<void>{};
        });
  }

  fabric::testing::NullProvider provider;
  protocol::MemoryPool pool{provider, {}};
  std::unique_ptr<EchoProgram> echo = EchoProgram::create(pool, kLongest).value();
  service::Program* program = echo.get();
  fabric::Time now = 0;
  service::DuplicateCache duplicates{{.entries = 64, .bytes = 64 << 10}, now};
  service::Dispatcher dispatcher{{&program, 1}, {}, pool, now, &duplicates};
  Pattern pattern = Pattern::create(pool, kLongest).value();
  EchoCall call = EchoCall::create(pool, pattern, kLongest).value();
  std::uint64_t replies = 0;
  std::uint64_t id = 0;
};

void answer(Fixture& f, wire::Bytes stream, wire::Bytes chunk, std::uint32_t position) {
  const std::uint64_t taken = f.pool.in_use();
  const std::uint64_t before = f.replies;
  const protocol::Placed item{position, chunk};
  protocol::IncomingCall incoming;
  incoming.id = ++f.id;
  if (stream.size() >= 4) incoming.xid = wire::load_be32(stream.data());
  incoming.stream = stream;
  incoming.items = {&item, chunk.empty() ? 0U : 1U};
  incoming.received = incoming.pulled = f.now;
  f.dispatcher.on_call(incoming);
  if (f.replies == before) {
    f.now = std::max(f.now, f.echo->deadline());
    f.echo->expire(f.now);
  }
  require(f.replies == before + 1);
  f.dispatcher.on_sent(f.id);
  require(f.pool.in_use() == taken);
}

// Twice: what is not idempotent is executed once.
void serve(Fixture& f, wire::Bytes stream, wire::Bytes chunk, std::uint32_t position) {
  answer(f, stream, chunk, position);
  const std::uint64_t count = f.echo->counters().count;
  answer(f, stream, chunk, position);
  require(f.echo->counters().count == count);
  const service::DuplicateCacheCounters& c = f.duplicates.counters();
  require(c.entries <= 64 && c.bytes <= 64 << 10);
}

void check(Fixture& f, wire::Bytes stream, wire::Bytes space, std::uint8_t script) {
  Request request;
  request.proc = static_cast<Proc>(script % service::echo::kProcedures);
  request.length = 1 + script % 64;
  request.count = 3;
  const auto spec = f.call.begin(request);
  require(spec.has_value());
  std::array<std::uint32_t, 1> bytes{};
  if (!spec->results.empty()) {
    const std::size_t n = std::min<std::size_t>(space.size(), spec->results[0].length);
    std::copy_n(space.begin(), n, spec->results[0].data);
    bytes[0] = static_cast<std::uint32_t>(space.size());
  }
  protocol::CallOutcome outcome;
  outcome.reply = stream;
  outcome.result_bytes = std::span(bytes).first(spec->results.size());
  if (f.call.check(outcome) != Verdict::kRight) return;
  require(f.call.server_times().has_value() == (request.proc != Proc::kNull));
  const auto right = f.pattern.bytes(0, request.length);
  switch (request.proc) {
    case Proc::kSource:
    case Proc::kEchoBulk:
      if (bytes[0] != 0) {
        require(std::equal(right.begin(), right.end(), spec->results[0].data));
        return;
      }
      [[fallthrough]];
    case Proc::kEcho:
      require(std::search(stream.begin(), stream.end(), right.begin(), right.end()) !=
              stream.end());
      return;
    default:
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static Fixture fixture;
  const wire::Bytes rest(data + 2, size - 2);
  const std::size_t cut = std::min<std::size_t>(rest.size(), std::size_t{data[0]} * 4);
  const std::uint8_t script = data[1];
  if ((script & 0x80) == 0) {
    serve(fixture, rest.first(cut), rest.subspan(cut), std::uint32_t{script} * 4);
  } else {
    check(fixture, rest.first(cut), rest.subspan(cut), script & 0x7f);
  }
  return 0;
}
