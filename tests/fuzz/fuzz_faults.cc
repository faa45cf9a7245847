// Rules for faults, and packets for them. The input is the rules' text, a zero byte, and packets:
// each has a byte with the direction in its lowest bit and the length in units of four bytes in the
// others, followed by its bytes from the BTH on.
#include "fuzz_check.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <rpcrdma/soft/fault_gate.h>

namespace {

using namespace rpcrdma;

void check_error(std::string_view text, const soft::FaultSyntaxError& e) {
  const auto lines = 1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  fuzz::require(e.line >= 1 && e.line <= lines);
  for (std::uint32_t line = 1; line < e.line; ++line) text.remove_prefix(text.find('\n') + 1);
  text = text.substr(0, text.find('\n'));
  fuzz::require(e.column >= 1 && e.column <= text.size() + 1);
  fuzz::require(!e.message.empty() && e.message.size() < 256);
  fuzz::require(
      std::all_of(e.message.begin(), e.message.end(), [](char c) { return c >= ' ' && c <= '~'; }));
}

// The text of a rule parses to the same rule.
void check_text(const soft::FaultRule& rule) {
  const auto again = soft::parse_faults(rule.text);
  fuzz::require(again.has_value() && again->rules.size() == 1);
  soft::FaultRule same = again->rules[0];
  same.seed = rule.seed;  // the default depends on the rule's position
  fuzz::require(same == rule);
}

void run(soft::FaultPlan plan, wire::Bytes packets) {
  const soft::FaultLimits limits{.connections = 4};
  soft::FaultGate gate(plan, limits, 16384);
  soft::FaultGate twin(std::move(plan), limits, 16384);
  const soft::Path path{fabric::make_ipv4(10, 0, 0, 1), fabric::make_ipv4(10, 0, 0, 2), 0xc000};
  std::vector<std::uint8_t> gone, twins;
  const auto into = [](std::vector<std::uint8_t>& all) {
    return [&all](soft::FaultDirection, const soft::Path&, wire::Bytes bytes) {
      all.insert(all.end(), bytes.begin(), bytes.end());
    };
  };
  fabric::Time now = 0;
  while (!packets.empty()) {
    const auto direction = static_cast<soft::FaultDirection>(packets[0] & 1);
    const std::size_t length = std::min<std::size_t>((packets[0] >> 1) * 4, packets.size() - 1);
    std::vector<std::uint8_t> packet(packets.begin() + 1,
                                     packets.begin() + 1 + static_cast<std::ptrdiff_t>(length));
    packets = packets.subspan(1 + length);
    std::vector<std::uint8_t> copy = packet;
    now += fabric::kMicrosecond;
    gate.offer(direction, path, packet, now, into(gone));
    twin.offer(direction, path, copy, now, into(twins));
    fuzz::require(gate.injector().connections() <= 3 * limits.connections);
  }
  now += 4 * soft::kMaxFaultDelay;
  gate.expire(now, into(gone));
  twin.expire(now, into(twins));
  fuzz::require(gate.deadline() == fabric::kNever);
  fuzz::require(gone == twins);
  for (std::size_t rule = 0; rule < gate.injector().rules(); ++rule) {
    const soft::FaultCounters& counters = gate.injector().counters(rule);
    fuzz::require(counters.applied <= counters.matched);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::uint8_t* const end = std::find(data, data + size, 0);
  const std::string_view text(reinterpret_cast<const char*>(data),
                              static_cast<std::size_t>(end - data));
  auto plan = soft::parse_faults(text);
  if (!plan) {
    check_error(text, plan.error());
    return 0;
  }
  fuzz::require(plan->rules.size() <= soft::kMaxFaultRules);
  for (const soft::FaultRule& rule : plan->rules) check_text(rule);
  const wire::Bytes rest(end, static_cast<std::size_t>(data + size - end));
  if (!rest.empty()) run(std::move(*plan), rest.subspan(1));
  return 0;
}
