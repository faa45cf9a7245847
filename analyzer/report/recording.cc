#include <algorithm>

#include <rpcrdma/report/recording.h>

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

}  // namespace

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
}

}  // namespace rpcrdma::report
