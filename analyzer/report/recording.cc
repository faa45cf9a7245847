#include <algorithm>

#include <rpcrdma/model/procedure_name.h>
#include <rpcrdma/report/recording.h>
#include <rpcrdma/trace_reader/sums.h>

namespace rpcrdma::report {

namespace {

void add(RecordedTimes& to, const RecordedTimes& from) {
  to.waiting.merge(from.waiting);
  to.sending.merge(from.sending);
  to.turn.merge(from.turn);
  to.completion.merge(from.completion);
}

void add(trace_reader::ReaderStats& to, const trace_reader::ReaderStats& from) {
  to.events += from.events;
  to.unknown += from.unknown;
  to.malformed += from.malformed;
  to.unplaced += from.unplaced;
  to.passed_over += from.passed_over;
  to.endpoints += from.endpoints;
  to.emitted += from.emitted;
  to.received += from.received;
  to.lost += from.lost;
  to.missing += from.missing;
  to.open_ends += from.open_ends;
  to.left_out |= from.left_out;
}

// Returns how many did not fit.
template <typename Sums>
std::uint64_t append(std::vector<Sums>& to, const std::vector<Sums>& from) {
  const std::size_t fits =
      std::min(from.size(), kMaxRecordedSums - std::min(kMaxRecordedSums, to.size()));
  to.insert(to.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(fits));
  return from.size() - fits;
}

}  // namespace

std::string procedure_text(const RecordedProcedure& p) {
  model::RpcInfo rpc;
  rpc.known = true;
  rpc.program = p.program;
  rpc.version = p.version;
  rpc.procedure = p.procedure;
  return model::procedure_label(rpc);
}

std::optional<std::uint64_t> latency_of(const RecordedProcedure& p, double q) {
  trace_reader::SumLatencies all;
  for (const auto& [bucket, count] : p.latencies) {
    all.add(static_cast<std::uint32_t>(std::min<std::uint64_t>(bucket, UINT32_MAX)), count);
  }
  return all.quantile(q);
}

void Recording::note(const RecordedError& error) {
  const auto at = std::find_if(errors.begin(), errors.end(), [&](const RecordedError& e) {
    return e.peer == error.peer && e.reason == error.reason;
  });
  if (at != errors.end()) {
    at->count += error.count;
  } else if (errors.size() < kMaxRecordedErrors) {
    errors.push_back(error);
  } else {
    errors_omitted += error.count;
  }
}

void Recording::note(const RecordedFault& fault) {
  const auto at = std::find_if(faults.begin(), faults.end(), [&](const RecordedFault& f) {
    return f.outgoing == fault.outgoing && f.action == fault.action && f.rule == fault.rule;
  });
  if (at != faults.end()) {
    at->packets += fault.packets;
  } else if (faults.size() < kMaxRecordedFaults) {
    faults.push_back(fault);
  } else {
    faults_omitted += fault.packets;
  }
}

void Recording::note(const RecordedEndpoint& endpoint) {
  if (endpoints.size() >= kMaxRecordedEndpoints ||
      std::find(endpoints.begin(), endpoints.end(), endpoint) != endpoints.end()) {
    return;
  }
  endpoints.push_back(endpoint);
}

void Recording::add(const Recording& later, std::uint64_t frames) {
  report::add(events, later.events);
  for (const RecordedEndpoint& e : later.endpoints) note(e);
  sending.slot_wait.merge(later.sending.slot_wait);
  sending.marshal.merge(later.sending.marshal);
  sending.post.merge(later.sending.post);
  report::add(made, later.made);
  report::add(served, later.served);
  credit_waits += later.credit_waits;
  advertised += later.advertised;
  advertised_bytes += later.advertised_bytes;
  invalidated_locally += later.invalidated_locally;
  invalidated += later.invalidated;
  receives += later.receives;
  for (RecordedError e : later.errors) {
    e.first_frame += frames;
    note(e);
  }
  errors_omitted += later.errors_omitted;
  for (const RecordedFault& f : later.faults) note(f);
  faults_omitted += later.faults_omitted;
  sums_omitted += later.sums_omitted + append(procedures, later.procedures) +
                  append(connections, later.connections);
}

}  // namespace rpcrdma::report
