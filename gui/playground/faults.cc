#include <cmath>

#include <fmt/core.h>

#include <rpcrdma/playground/faults.h>

namespace rpcrdma::playground {

namespace {

using fabric::Errc;

bool is_share(double share) {
  return share >= 0 && share <= 1;  // false for NaN, too
}

void add(std::string& text, const std::string& rule) {
  if (!text.empty()) text += "; ";
  text += rule;
}

void add_share(std::string& text, const char* action, double share) {
  // The text has six digits: a smaller share would read as zero.
  if (!(share >= 1e-6)) return;
  std::string digits = fmt::format("{:.6f}", share);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  add(text, fmt::format("{} rate={}", action, digits));
}

std::string shares_to_text(const Faults& f) {
  std::string text;
  add_share(text, "drop", f.loss);
  add_share(text, "duplicate", f.duplication);
  add_share(text, "reorder", f.reordering);
  add_share(text, "corrupt", f.corruption);
  if (f.delay > 0) add(text, fmt::format("delay by={}ns", f.delay));
  return text;
}

}  // namespace

std::string to_text(const Faults& faults) {
  const std::string shares = shares_to_text(faults);
  if (faults.rules.empty()) return shares;
  // A comment at the end of the rules must not swallow the shares.
  return shares.empty() ? faults.rules : faults.rules + '\n' + shares;
}

fabric::Expected<soft::FaultPlan> to_plan(const Faults& faults) {
  for (const double share :
       {faults.loss, faults.duplication, faults.reordering, faults.corruption}) {
    if (!is_share(share)) return fabric::fail(Errc::kBadArgument, "a share must be from 0 to 1");
  }
  if (faults.delay < 0 || faults.delay > soft::kMaxFaultDelay) {
    return fabric::fail(Errc::kBadArgument, "a delay must be from 0 to one hour");
  }
  auto plan = soft::parse_faults(to_text(faults));
  if (!plan) return fabric::fail(Errc::kBadArgument, soft::describe(plan.error()));
  return std::move(*plan);
}

}  // namespace rpcrdma::playground
