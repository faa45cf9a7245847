#include "figures.h"

#include <cstring>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/trace/read.h>

namespace rpcrdma::kernel_endpoint {
namespace {

constexpr const char* kOther = "other";

}  // namespace

void Figures::take(const trace::EventHeader& header, std::span<const std::uint8_t> fixed,
                   std::span<const std::uint8_t> payload) {
  const trace::EventView view{header, fixed, payload};
  const std::scoped_lock lock(mutex_);
  if (const auto c = trace::read_event<trace::Connection>(view)) {
    if (connections_.size() >= kMostConnections) return;
    const auto [place, is_new] = connections_.try_emplace(header.connection);
    place->second.is_client = c->active != 0;
    if (is_new) ++(c->active != 0 ? client_ : server_).opened;
    return;
  }
  const auto place = connections_.find(header.connection);
  if (place == connections_.end()) return;
  Connection& connection = place->second;
  metrics::KernelRole& role = connection.is_client ? client_ : server_;
  if (trace::read_event<trace::ConnectionEnd>(view)) {
    ++role.closed;
    add(role, connection.sums);
    for (const auto& [key, procedure] : connection.procedures) add(procedures_, procedure);
    connections_.erase(place);
  } else if (const auto credits = trace::read_event<trace::Credits>(view)) {
    // Credits for Calls in the reverse direction are not counted.
    if (credits->side == (connection.is_client ? 0 : 1)) connection.credits = *credits;
  } else if (const auto sums = trace::read_event<trace::ConnectionSums>(view)) {
    connection.sums = *sums;
  } else if (const auto p = trace::read_event<trace::ProcedureSums>(view)) {
    const Key key{p->side, p->program, p->version, p->procedure};
    if (connection.procedures.size() >= kMostProcedures && !connection.procedures.contains(key)) {
      return;
    }
    Procedure& procedure = connection.procedures[key];
    procedure.sums = *p;
    procedure.latencies.resize(payload.size() / sizeof(trace::SumBucket));
    if (!procedure.latencies.empty()) {
      std::memcpy(procedure.latencies.data(), payload.data(),
                  procedure.latencies.size() * sizeof(trace::SumBucket));
    }
  }
}

metrics::KernelFigures Figures::figures() const {
  const std::scoped_lock lock(mutex_);
  metrics::KernelFigures all;
  all.client = client_;
  all.server = server_;
  ByName procedures = procedures_;
  for (const auto& [number, connection] : connections_) {
    metrics::KernelRole& role = connection.is_client ? all.client : all.server;
    ++role.connections;
    role.granted += trace::granted_credits(connection.credits).value_or(0);
    role.requested += connection.credits.requested;
    role.in_use += connection.credits.in_use;
    role.waiting += connection.credits.waiting;
    add(role, connection.sums);
    for (const auto& [key, procedure] : connection.procedures) add(procedures, procedure);
  }
  for (auto& [names, procedure] : procedures) all.procedures.push_back(std::move(procedure));
  return all;
}

void Figures::add(ByName& to, const Procedure& procedure) {
  const trace::ProcedureSums& p = procedure.sums;
  const char* program = decode::program_name(p.program, p.version, p.procedure);
  const char* name = decode::procedure_name(p.program, p.version, p.procedure);
  // Numbers come from peers, and must not become labels.
  if (program == nullptr) program = kOther;
  if (name == nullptr) name = kOther;
  const bool server = p.side != 0;
  metrics::KernelProcedure& sum = to[{server, program, name}];
  sum.server = server;
  sum.program = program;
  sum.procedure = name;
  sum.calls += p.calls;
  sum.replies += p.replies;
  sum.errors += p.errors;
  sum.call_bytes += p.call_bytes;
  sum.reply_bytes += p.reply_bytes;
  sum.read_chunk_bytes += p.read_chunk_bytes;
  sum.write_chunk_bytes += p.write_chunk_bytes;
  const std::uint64_t latencies = sum.latencies.sum();
  for (const trace::SumBucket& bucket : procedure.latencies) {
    if (bucket.bucket >= trace::kSumBuckets) continue;
    sum.latencies.add(static_cast<fabric::Time>(trace::lowest_of_sum_bucket(bucket.bucket)),
                      bucket.count);
  }
  sum.latencies.set_sum(latencies + p.latency_ns);
}

void Figures::add(metrics::KernelRole& to, const trace::ConnectionSums& sums) {
  to.credit_waits += sums.credit_waits;
  to.credit_wait_ns += sums.credit_wait_ns;
  to.send_queue_full += sums.send_queue_full;
  to.resent_calls += sums.resent_calls;
  to.flushed += sums.flushed;
  to.invalid_headers += sums.invalid_headers;
}

}  // namespace rpcrdma::kernel_endpoint
