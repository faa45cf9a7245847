// Text from outside is made valid UTF-8; what is not known is null.
#include <algorithm>

#include <nlohmann/json.hpp>

#include <rpcrdma/decode/utf8.h>
#include <rpcrdma/top/json.h>

namespace rpcrdma::top {

namespace {

using Object = nlohmann::ordered_json;
using decode::valid_utf8;

Object duration(std::int64_t ns) {
  return ns < 0 ? Object(nullptr) : Object(ns);
}

Object share(double value) {
  return value < 0 ? Object(nullptr) : Object(value);
}

template <typename T>
Object optional(const std::optional<T>& value) {
  return value ? Object(*value) : Object(nullptr);
}

Object rates(const Shown& shown, const Rates& r) {
  if (!shown.measured) return nullptr;
  return {{"calls", r.calls},
          {"read_bytes", r.chunk_bytes[0]},
          {"write_bytes", r.chunk_bytes[1]},
          {"reply_bytes", r.chunk_bytes[2]}};
}

Object latency(const Latency& l) {
  return {{"p50_ns", duration(l.p50_ns)}, {"p99_ns", duration(l.p99_ns)}};
}

Object outstanding(const states::Counts& counts) {
  Object o;
  Object at_least = Object::array();
  for (std::size_t i = 0; i < states::kStates; ++i) {
    const auto state = static_cast<states::State>(i);
    o[states::state_key(state)] = optional(counts.of(state));
    if (counts.at_least(state)) at_least.push_back(states::state_key(state));
  }
  o["earlier"] = counts.earlier;
  o["uncertain"] = counts.uncertain;
  o["at_least"] = std::move(at_least);
  return o;
}

Object network(const ShownNetwork& n) {
  Object per_second, total;
  for (std::size_t i = 0; i < kNetworkKinds; ++i) {
    const char* const key = network_key(static_cast<NetworkKind>(i));
    per_second[key] = optional(n.per_second[i]);
    total[key] = optional(n.total[i]);
  }
  return {{"name", valid_utf8(n.name)},
          {"device", n.device},
          {"per_second", std::move(per_second)},
          {"total", std::move(total)}};
}

Object ends(const ShownEnds& e) {
  const bool slow = e.side != ends::Side::kNone;
  Object o{{"id", e.id},
           {"client", e.client},
           {"server", e.server},
           {"calls", e.calls},
           {"contradictory", e.withheld},
           {"p50_ns", duration(e.p50_ns)},
           {"share",
            {{"client", share(e.at_client)},
             {"network_there", share(e.there)},
             {"server", share(e.at_server)},
             {"data", share(e.data)},
             {"network_back", share(e.back)},
             {"unknown", share(e.unknown)}}},
           {"clock_bound_ns", duration(e.bound_ns)},
           {"slow_side", slow ? Object(ends::side_key(e.side)) : Object(nullptr)},
           {"slow_calls", e.slow},
           {"slow_stage", slow ? Object(ends::stage_key(e.stage)) : Object(nullptr)}};
  if (!e.why.empty()) o["why"] = valid_utf8(e.why);
  return o;
}

Object connection(const Shown& shown, const ShownConnection& c) {
  return {{"id", c.id},
          {"endpoint", valid_utf8(c.endpoint)},
          {"local", c.local},
          {"peer", c.peer},
          {"client", c.calls_here},
          {"state", c.state},
          {"per_second", rates(shown, c.rates)},
          {"latency", latency(c.latency)},
          {"credits",
           {{"requested", c.credits.requested},
            {"granted", c.credits.granted},
            {"in_use", c.credits.in_use},
            {"waiting", c.credits.waiting}}},
          {"outstanding", outstanding(c.outstanding)}};
}

const char* source_key(trace::EventSource source) {
  switch (source) {
    case trace::EventSource::kKernelBpf:
      return "bpf";
    case trace::EventSource::kKernelTracepoints:
      return "tracepoints";
    case trace::EventSource::kKernelSums:
      return "sums";
    case trace::EventSource::kEndpoint:
      break;
  }
  return "endpoint";
}

template <typename Values, typename Function>
Object list(const Values& values, Function&& of) {
  Object all = Object::array();
  for (const auto& value : values) all.push_back(of(value));
  return all;
}

}  // namespace

std::string to_json(const Shown& shown) {
  const Object o{
      {"time_ns", shown.now_ns},
      {"endpoints", list(shown.endpoints,
                         [](const ShownEndpoint& e) -> Object {
                           return {{"name", valid_utf8(e.name)},
                                   {"role", valid_utf8(e.role)},
                                   {"source", source_key(e.source)},
                                   {"ended", e.ended}};
                         })},
      {"events",
       {{"emitted", shown.events.emitted},
        {"received", shown.events.received},
        {"lost", shown.events.lost},
        {"missing", shown.events.missing}}},
      {"per_second", rates(shown, shown.rates)},
      {"latency", latency(shown.latency)},
      {"outstanding", outstanding(shown.outstanding)},
      {"network", list(shown.network, network)},
      {"ends", list(shown.ends, ends)},
      {"connections",
       list(shown.rows, [&](const ShownConnection& c) { return connection(shown, c); })},
      {"findings",
       {{"errors", shown.found[0]}, {"warnings", shown.found[1]}, {"notes", shown.found[2]}}}};
  return o.dump();
}

}  // namespace rpcrdma::top
