#include <utility>

#include <fmt/core.h>

#include <rpcrdma/selftest/transfer_run.h>

namespace rpcrdma::selftest {

namespace {

std::string list(const std::vector<std::uint32_t>& lengths) {
  std::string text;
  for (const std::uint32_t length : lengths) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", length);
  }
  return text;
}

// Describes the Call for a person who wants to repeat it.
std::string describe(const Transfer& t) {
  if (t.null) return "NULL";
  if (t.counted) return "COUNT";
  std::string text = fmt::format("Call with {} bytes of filler", t.filler);
  if (!t.arguments.empty()) text += fmt::format(", arguments of {}", list(t.arguments));
  if (t.one_way) return text + "; no Reply";
  text += fmt::format("; Reply with {}", t.result_filler);
  if (!t.results.empty()) text += fmt::format(", results of {}", list(t.results));
  return text;
}

}  // namespace

TransferRun::TransferRun(protocol::MemoryPool& memory, const service::echo::Pattern& pattern,
                         RunOptions options, Make make)
    : options_(std::move(options)), make_(std::move(make)) {
  for (std::uint32_t i = 0; i < options_.depth; ++i) {
    calls_.push_back(std::make_unique<TransferCall>(memory, pattern));
    free_.push_back(options_.depth - 1 - i);
  }
}

void TransferRun::add(std::uint32_t count) {
  left_ += count;
  go_on();
}

void TransferRun::go_on() {
  while (left_ != 0 && !free_.empty()) {
    --left_;
    const std::uint32_t seed = begun_++;
    const Transfer& transfer = options_.transfers[seed % options_.transfers.size()];
    const std::size_t slot = free_.back();
    auto spec = calls_[slot]->begin(transfer, seed);
    if (!spec) {
      fail(transfer, spec.error().message);
      continue;
    }
    spec->cookie = slot;
    spec->timeout = options_.timeout;
    if (const auto made = make_(*spec); !made) {
      fail(transfer, made.error().message);
      continue;
    }
    free_.pop_back();
  }
}

void TransferRun::on_outcome(const protocol::CallOutcome& outcome) {
  const auto slot = static_cast<std::size_t>(outcome.cookie);
  judge(*calls_[slot], outcome);
  free_.push_back(slot);
  go_on();
}

void TransferRun::judge(const TransferCall& call, const protocol::CallOutcome& outcome) {
  const bool may_not = options_.inline_only && call.transfer().needs_chunks();
  if (may_not && outcome.status == protocol::CallStatus::kCannotSend) {
    ++tally_.refused;
    return;
  }
  tally_.expected += expected_bytes(call.transfer());
  if (may_not) return fail(call.transfer(), "was sent, but needs a chunk");
  const std::string wrong = call.check(outcome);
  if (!wrong.empty()) return fail(call.transfer(), wrong);
  if (outcome.attempts != 1) return fail(call.transfer(), "was also sent on another connection");
  ++tally_.right;
}

void TransferRun::fail(const Transfer& transfer, const std::string& text) {
  if (tally_.wrong++ == 0) tally_.text = fmt::format("{}: {}", describe(transfer), text);
}

}  // namespace rpcrdma::selftest
