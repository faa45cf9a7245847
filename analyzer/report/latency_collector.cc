#include "latency_collector.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace rpcrdma::report {

namespace {

constexpr std::size_t kKnownPairs = 1024;

SizeClass size_of(const model::Call& call, const model::Message& answer) {
  std::uint64_t moved = 0;
  for (const model::CallChunk& chunk : call.chunks) moved += chunk.moved;
  if (moved != 0) return size_class(moved);
  const model::Message& m = call.message;
  // Where nobody reports the operations, the bytes that they moved are not known.
  const bool unseen = model::is_absent(m, roce::kAbsentOperations) && !call.chunks.empty();
  if (unseen || model::is_absent(m, roce::kAbsentLengths) ||
      model::is_absent(answer, roce::kAbsentLengths)) {
    return SizeClass::kUnknown;
  }
  return size_class(std::max(m.wire_length, answer.wire_length));
}

std::size_t client_of(const session::Context& context, std::uint32_t connection) {
  return static_cast<std::size_t>(std::max(context.model->connection(connection).client, 0));
}

}  // namespace

void LatencyCollector::add(const model::Call& call, const model::Message& answer,
                           const ProcedureKey& key) {
  const model::Message& m = call.message;
  const std::int64_t latency = answer.time_ns - m.time_ns;
  const auto size = static_cast<std::size_t>(size_of(call, answer));
  latencies_.sizes[key.reverse ? 1 : 0][size].add(latency);
  if (LatencySeries* const series = latencies_.series(key)) series->at(answer.time_ns).add(latency);
  const std::uint32_t connection = context_.model->canonical(m.connection);
  const std::size_t caller = connection == m.connection ? m.caller : std::size_t{1} - m.caller;
  ConnectionLatency* const own = slot(connection);
  if (own == nullptr) {
    const std::size_t direction = caller == client_of(context_, connection) ? 0 : 1;
    pair_of(context_.connection(m)).direction[direction].add(key, latency);
    return;
  }
  own->direction[caller].add(key, latency);
  if (own - latencies_.connections.data() < static_cast<std::ptrdiff_t>(kMaxConnectionSeries)) {
    own->series.at(answer.time_ns).add(latency);
  }
}

ConnectionLatency* LatencyCollector::slot(std::uint32_t connection) {
  if (const Slot* const known = slots_.find(connection)) {
    return &latencies_.connections[known->at];
  }
  auto at = static_cast<std::uint32_t>(latencies_.connections.size());
  if (!free_.empty()) {
    at = free_.back();
    free_.pop_back();
  } else if (at == kMaxLatencyConnections) {
    return nullptr;
  } else {
    latencies_.connections.emplace_back();
  }
  latencies_.connections[at].connection = connection;
  slots_[connection].at = at;
  return &latencies_.connections[at];
}

ConnectionLatency& LatencyCollector::pair_of(const roce::Connection& c) {
  const std::size_t side = client_of(context_, c.index);
  const capture::Address& client = c.side[side].address;
  const capture::Address& server = c.side[1 - side].address;
  if (known_pairs_.empty()) known_pairs_.resize(kKnownPairs);
  Pair& known = known_pairs_[(hash_value(client) * 31 + hash_value(server)) % kKnownPairs];
  if (known.pairs == 0 || known.pairs != latencies_.pairs.size() || known.client != client ||
      known.server != server) {
    const ConnectionLatency& found = latencies_.pair(client.to_string(), server.to_string());
    known.client = client;
    known.server = server;
    known.at = static_cast<std::uint32_t>(&found - latencies_.pairs.data());
    known.pairs = static_cast<std::uint32_t>(latencies_.pairs.size());
  }
  return latencies_.pairs[known.at];
}

void LatencyCollector::give_up(std::uint32_t connection) {
  const Slot* const slot = slots_.find(connection);
  if (slot == nullptr) return;
  latencies_.connections[slot->at] = {};
  free_.push_back(slot->at);
  slots_.erase(connection);
}

// Side 0 of `from` is side 1 of `into`.
void LatencyCollector::merge(const roce::Connection& into, const roce::Connection& from) {
  const Slot* const old = slots_.find(from.index);
  if (old == nullptr) return;
  ConnectionLatency& gathered = latencies_.connections[old->at];
  if (const Slot* const slot = slots_.find(into.index)) {
    ConnectionLatency& to = latencies_.connections[slot->at];
    for (std::size_t side = 0; side < 2; ++side) {
      to.direction[side].merge(gathered.direction[1 - side]);
    }
    to.series.merge(gathered.series);
    return give_up(from.index);
  }
  std::swap(gathered.direction[0], gathered.direction[1]);
  gathered.connection = into.index;
  slots_[into.index] = *old;
  slots_.erase(from.index);
}

void LatencyCollector::evict(const roce::Connection& connection) {
  const Slot* const slot = slots_.find(connection.index);
  if (slot == nullptr) return;
  const ConnectionLatency& own = latencies_.connections[slot->at];
  ConnectionLatency& pair = pair_of(connection);
  const std::size_t client = client_of(context_, connection.index);
  for (std::size_t d = 0; d < 2; ++d) {
    pair.direction[d].merge(own.direction[d == 0 ? client : 1 - client]);
  }
  give_up(connection.index);
}

Latencies LatencyCollector::complete(Latencies all) const {
  std::vector<std::uint32_t> free = free_;
  std::sort(free.begin(), free.end(), std::greater<>());
  for (const std::uint32_t at : free) {
    all.connections.erase(all.connections.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (ConnectionLatency& c : all.connections) {
    if (client_of(context_, c.connection) != 0) std::swap(c.direction[0], c.direction[1]);
    c.connection = context_.connection_id(c.connection);
  }
  return all;
}

}  // namespace rpcrdma::report
