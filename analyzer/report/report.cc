#include <algorithm>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

const char* profile_name(rules::Profile p) {
  return p == rules::Profile::k5666 ? "rfc5666" : "rfc8166";
}

const char* roles_name(Roles roles) {
  switch (roles) {
    case Roles::kUnknown:
      return "unknown";
    case Roles::kLikely:
      return "likely";
    case Roles::kCertain:
      return "certain";
  }
  return "unknown";
}

const char* transport_name(roce::Transport t) {
  return t == roce::Transport::kIwarp ? "iwarp" : "roce";
}

const char* protocol_name(model::Speaks s) {
  switch (s) {
    case model::Speaks::kRpc:
      return "rpc-over-rdma";
    case model::Speaks::kOther:
      return "other";
    case model::Speaks::kUnknown:
      return "unknown";
  }
  return "unknown";
}

const char* state_name(roce::State s) {
  switch (s) {
    case roce::State::kOpening:
      return "opening";
    case roce::State::kOpen:
      return "open";
    case roce::State::kRejected:
      return "rejected";
    case roce::State::kClosed:
      return "closed";
  }
  return "open";
}

const char* absent_name(AbsentName name) {
  switch (name) {
    case AbsentName::kBytes:
      return "bytes";
    case AbsentName::kRequests:
      return "requested_credits";
    case AbsentName::kGrants:
      return "granted_credits";
    case AbsentName::kLengths:
      return "lengths";
    case AbsentName::kChunks:
      return "chunks";
    case AbsentName::kInvalidation:
      return "invalidation";
    case AbsentName::kSetup:
      return "private_data";
    case AbsentName::kOperations:
      return "operations";
    case AbsentName::kRefusals:
      return "naks";
    case AbsentName::kPackets:
      return "packets";
    case AbsentName::kMessages:
      return "messages";
  }
  return "bytes";
}

std::uint64_t absent_bit(AbsentName name) {
  switch (name) {
    case AbsentName::kBytes:
      return roce::kAbsentBytes;
    case AbsentName::kRequests:
      return roce::kAbsentRequests;
    case AbsentName::kGrants:
      return roce::kAbsentGrants;
    case AbsentName::kLengths:
      return roce::kAbsentLengths;
    case AbsentName::kChunks:
      return roce::kAbsentChunks;
    case AbsentName::kInvalidation:
      return roce::kAbsentInvalidation;
    case AbsentName::kSetup:
      return roce::kAbsentSetup;
    case AbsentName::kOperations:
      return roce::kAbsentOperations;
    case AbsentName::kRefusals:
      return roce::kAbsentRefusals;
    case AbsentName::kPackets:
      return roce::kAbsentPackets;
    case AbsentName::kMessages:
      return roce::kAbsentMessages;
  }
  return 0;
}

namespace {

void add_counts(Direction& to, const Direction& from) {
  to.calls += from.calls;
  to.replies += from.replies;
  to.errors += from.errors;
  to.unmatched_calls += from.unmatched_calls;
  to.unmatched_replies += from.unmatched_replies;
}

}  // namespace

void NotListed::add(const Connection& c) {
  ++connections;
  for (const EndPoint& side : c.side) packets += side.counters.packets;
  messages += c.messages;
  for (const std::uint64_t n : c.chunk_bytes) chunk_bytes += n;
  for (std::size_t d = 0; d < 2; ++d) add_counts(direction[d], c.direction[d]);
}

void NotListed::add(const NotListed& other) {
  connections += other.connections;
  packets += other.packets;
  messages += other.messages;
  chunk_bytes += other.chunk_bytes;
  for (std::size_t d = 0; d < 2; ++d) add_counts(direction[d], other.direction[d]);
}

bool Report::has_errors() const {
  return findings_omitted[static_cast<std::size_t>(rules::Severity::kError)] != 0 ||
         std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.severity == rules::Severity::kError; });
}

const Connection* Report::connection(std::uint32_t id) const {
  const auto at =
      std::lower_bound(connections.begin(), connections.end(), id,
                       [](const Connection& c, std::uint32_t wanted) { return c.id < wanted; });
  return at != connections.end() && at->id == id ? &*at : nullptr;
}

std::uint64_t count_credits_omitted(const Report& report) {
  std::uint64_t n = 0;
  for (const Connection& c : report.connections) {
    n += std::any_of(c.direction.begin(), c.direction.end(),
                     [](const Direction& d) { return d.calls != 0 || d.unmatched_replies != 0; });
  }
  return n - std::min<std::uint64_t>(n, report.credits.size());
}

std::uint64_t disagreements(const session::View& view) {
  std::uint64_t n = 0;
  for (const session::ViewCounts& k : view.counts) n += k.only_here + k.only_there + k.differ;
  return n;
}

}  // namespace rpcrdma::report
