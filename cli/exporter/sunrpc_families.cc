// Metrics of RPC transports: their present state.
#include "families.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace rpcrdma::exporter {

namespace {

using host::Counter;
using host::SunrpcSwitch;
using host::SunrpcTransport;

// Bits of struct rpc_xprt's state, as the kernel's file names them, and "CLOSED" for none.
constexpr std::array<std::string_view, 13> kStates{
    "CLOSED",  "LOCKED",    "CONNECTED", "CONNECTING",  "CLOSE_WAIT", "BOUND", "BOUNDING",
    "CLOSING", "CONGESTED", "CWND_WAIT", "WRITE_SPACE", "OFFLINE",    "REMOVE"};

struct Transport {
  const SunrpcTransport* state;
  std::string labels;
};

// A family for each field that any of the files states: kernels add some.
using Fields = std::map<std::string, std::vector<std::pair<std::string_view, std::uint64_t>>>;

void write_fields(TextWriter& to, std::string_view prefix, const char* file, const Fields& fields) {
  for (const auto& [field, samples] : fields) {
    const std::string name = metric_name(prefix, field, TextType::kGauge);
    const std::string help = "Field " + field + " of " + file + ".";
    to.family(name, TextType::kGauge, help);
    for (const auto& [labels, value] : samples) to.sample(labels, value);
  }
}

// Fields whose names differ only in capitals would have one metric.
void collect(Fields& fields, const std::vector<Counter>& info, std::string_view labels,
             std::uint64_t& left_out) {
  for (const Counter& c : info) {
    if (snake_case(c.name) != c.name) {
      ++left_out;
    } else {
      fields[c.name].emplace_back(labels, c.value);
    }
  }
}

std::optional<std::uint64_t> field(const SunrpcTransport& t, std::string_view name) {
  const auto found = std::ranges::find(t.info, name, &Counter::name);
  return found == t.info.end() ? std::nullopt : std::optional(found->value);
}

void write_credits(TextWriter& to, const std::vector<Transport>& all) {
  const auto write = [&](std::string_view name, std::string_view file_field,
                         std::string_view help) {
    to.family(name, TextType::kGauge, help);
    for (const Transport& t : all) {
      const auto value = field(*t.state, file_field);
      if (t.state->protocol == "rdma" && value) {
        to.sample(t.labels, *value / SunrpcTransport::kWindowUnit);
      }
    }
  };
  write("rpcrdma_sunrpc_credits_granted", "cong_win",
        "Credits that the server granted last; RDMA only.");
  write("rpcrdma_sunrpc_credits_in_use", "cur_cong", "Credits in use; RDMA only.");
}

void write_states(TextWriter& to, const std::vector<Transport>& all, std::uint64_t& left_out) {
  to.family("rpcrdma_sunrpc_transport_state", TextType::kGauge, "1 for each state that is set.");
  std::vector<std::string> labels;
  for (const std::string_view state : kStates)
    label(labels.emplace_back(), "state", snake_case(state));
  for (const Transport& t : all) {
    const auto& set = t.state->states;
    if (set.empty()) continue;
    for (std::size_t i = 0; i < kStates.size(); ++i) {
      to.sample(t.labels, labels[i], std::ranges::find(set, kStates[i]) != set.end() ? 1 : 0);
    }
    left_out += static_cast<std::uint64_t>(std::ranges::count_if(
        set, [](const std::string& s) { return std::ranges::find(kStates, s) == kStates.end(); }));
  }
}

}  // namespace

void write_sunrpc(TextWriter& to, const host::Sunrpc& sunrpc, std::uint64_t& left_out) {
  std::vector<std::string> switches;
  std::vector<Transport> all;
  for (const SunrpcSwitch& s : sunrpc.switches) {
    label(switches.emplace_back(), "switch", std::to_string(s.number));
    for (const SunrpcTransport& t : s.transports) {
      Transport& added = all.emplace_back(Transport{&t, switches.back()});
      label(added.labels, "xprt", std::to_string(t.number));
      label(added.labels, "protocol", t.protocol);
    }
  }
  Fields of_switches, of_transports;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    collect(of_switches, sunrpc.switches[i].info, switches[i], left_out);
  }
  for (const Transport& t : all) collect(of_transports, t.state->info, t.labels, left_out);
  to.family("rpcrdma_sunrpc_transport_info", TextType::kGauge,
            "1; the labels state the addresses.");
  for (const Transport& t : all) {
    std::string more;
    label(more, "destination", t.state->destination);
    label(more, "source", t.state->source);
    to.sample(t.labels, more, 1);
  }
  write_states(to, all, left_out);
  write_credits(to, all);
  write_fields(to, "rpcrdma_sunrpc_switch_", "xprt_switch_info", of_switches);
  write_fields(to, "rpcrdma_sunrpc_xprt_", "xprt_info", of_transports);
  left_out += sunrpc.left_out;
}

}  // namespace rpcrdma::exporter
