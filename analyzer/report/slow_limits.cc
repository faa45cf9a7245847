#include "slow_limits.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace rpcrdma::report {

namespace {

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

// The last word of a label such as "NFS v4 READ".
bool is_named(std::string_view label, std::string_view procedure) {
  const std::string_view name = label.substr(label.rfind(' ') + 1);
  return std::equal(name.begin(), name.end(), procedure.begin(), procedure.end(),
                    [](char a, char b) { return upper(a) == upper(b); });
}

}  // namespace

SlowLimits::SlowLimits(std::vector<SlowLimit> limits) : limits_(std::move(limits)) {
  if (limits_.size() > kMaxLimits) limits_.resize(kMaxLimits);
}

const std::vector<std::uint8_t>& SlowLimits::limits_of(const ProcedureKey& key,
                                                       const std::string& label) {
  const auto [at, added] = of_procedure_.try_emplace(key);
  if (!added) return at->second;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (limits_[i].procedure.empty() || is_named(label, limits_[i].procedure)) {
      at->second.push_back(static_cast<std::uint8_t>(i));
    }
  }
  return at->second;
}

void SlowLimits::count(const model::Message& call, const ProcedureKey& key,
                       const std::string& label, std::int64_t ns, bool answered) {
  for (const std::uint8_t i : limits_of(key, label)) {
    const bool slow = ns > limits_[i].limit_ns;
    if (!answered && !slow) continue;
    const std::pair<std::uint32_t, std::uint8_t> under{call.connection, i};
    auto at = counts_.find(under);
    if (at == counts_.end()) {
      if (counts_.size() >= kMaxLimitedCalls) {
        ++omitted_;
        continue;
      }
      at = counts_.try_emplace(under).first;
      at->second.limit = limits_[i];
    }
    LimitedCalls& c = at->second;
    ++c.calls;
    if (!slow) continue;
    ++c.slow;
    c.unanswered += answered ? 0 : 1;
    if (c.frames.size() < rules::kMaxFrames) c.frames.push_back(call.frame);
    if (ns > c.worst_ns) {
      c.worst_ns = ns;
      c.worst_frame = call.frame;
    }
  }
}

void SlowLimits::add_to(Timing& to, const session::Context& context) const {
  to.limits = limits_;
  to.omitted += omitted_;
  for (const auto& [key, counted] : counts_) {
    LimitedCalls calls = counted;
    const std::uint32_t index = context.model->canonical(key.first);
    calls.connection = context.connection_id(key.first);
    if (const roce::Connection* c = context.connections->find(index); c != nullptr) {
      const int client = std::max(context.model->connection(index).client, 0);
      calls.client = c->side[static_cast<std::size_t>(client)].address.to_string();
    }
    std::sort(calls.frames.begin(), calls.frames.end());
    to.limited.push_back(std::move(calls));
  }
  to.settle();
}

}  // namespace rpcrdma::report
