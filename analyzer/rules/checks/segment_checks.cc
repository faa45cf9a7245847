// Checks the memory that one Call advertises, in all its chunk lists.
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

bool wraps(const wire::Segment& s) {
  const std::uint64_t end = s.offset + s.length;
  return end < s.offset && end != 0;
}

using Offered = std::pair<wire::Segment, bool>;  // true: the responder writes to it
using Pair = std::pair<const wire::Segment*, const wire::Segment*>;

std::uint64_t end_of(const wire::Segment& s) {
  return wraps(s) ? UINT64_MAX : s.offset + s.length;
}

struct Overlap {
  Pair segments;         // null pointers: no overlap
  bool written = false;  // the responder writes to at least one of them
};

// Finds two overlapping segments of one handle. Prefers a pair with a segment that is written to:
// two segments that are only read do no harm.
Overlap find_overlap(std::vector<Offered>& segments) {
  std::sort(segments.begin(), segments.end(), [](const Offered& a, const Offered& b) {
    return std::pair(a.first.handle, a.first.offset) < std::pair(b.first.handle, b.first.offset);
  });
  // The segments with the highest end so far, of all segments and of the written ones.
  const wire::Segment* any = nullptr;
  const wire::Segment* written = nullptr;
  Pair read;
  for (const auto& [segment, is_written] : segments) {
    if (segment.length == 0) continue;
    if (any != nullptr && any->handle != segment.handle) any = written = nullptr;
    const wire::Segment* before = is_written ? any : written;
    if (before != nullptr && end_of(*before) > segment.offset) return {{before, &segment}, true};
    if (any != nullptr && end_of(*any) > segment.offset) read = {any, &segment};
    if (any == nullptr || end_of(segment) > end_of(*any)) any = &segment;
    if (is_written) written = &segment;
  }
  return {read, false};
}

void check_address_space(const model::Message& m, const model::Call& call,
                         const CheckContext& context) {
  for (const model::CallSegment& s : call.segments) {
    if (!wraps(s.target)) continue;
    note_faulty(m, context);
    return context.findings.add(RuleId::kRd09, evidence(m, context.connection, m.sender), [&] {
      return fmt::format("the segment at {:#x} with {} bytes extends beyond the last address",
                         s.target.offset, s.target.length);
    });
  }
}

void check_overlap(const model::Message& m, const model::Call& call, const CheckContext& context,
                   Scratch& scratch) {
  if (call.segments.size() < 2) return;
  scratch.segments.clear();
  for (const model::CallSegment& s : call.segments) {
    scratch.segments.emplace_back(s.target, s.list != model::ChunkList::kRead);
  }
  const Overlap overlap = find_overlap(scratch.segments);
  if (overlap.segments.first == nullptr) return;
  Evidence e = evidence(m, context.connection, m.sender);
  e.topic = overlap.written ? 1 : 2;
  if (!overlap.written) e.at_most = Level::kNote;
  context.findings.add(RuleId::kRd09, e, [&] {
    const auto [a, b] = overlap.segments;
    return fmt::format(
        "two segments of handle {:#010x} overlap: {} bytes at {:#x}, {} bytes at "
        "{:#x}",
        a->handle, a->length, a->offset, b->length, b->offset);
  });
}

}  // namespace

void check_segments(const model::Message& m, const model::Call& call, const CheckContext& context,
                    Scratch& scratch) {
  check_address_space(m, call, context);
  check_overlap(m, call, context, scratch);
}

}  // namespace rpcrdma::rules
