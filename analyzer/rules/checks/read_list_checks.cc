// Checks Read lists. A Position counts bytes of the unreduced RPC message, roundup included. So the
// place of a chunk in the reduced message is its Position minus the padded lengths of the chunks
// before it.
#include "checks.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/wire/header.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::rules {

namespace {

using wire::Proc;

// Adds at most one violation of a rule for each message, however many segments are wrong.
template <typename Text>
void accuse(RuleId id, const model::Message& m, const CheckContext& context, const Text& text) {
  note_faulty(m, context);
  context.findings.add(id, evidence(m, context.connection, m.sender), text);
}

// Returns whether all Positions are multiples of 4.
bool check_position_multiple(const model::Message& m, const CheckContext& context,
                             const Scratch& s) {
  for (const ReadChunk& c : s.reads) {
    if (c.position % 4 == 0) continue;
    accuse(RuleId::kRd02, m, context, [&] {
      return fmt::format("a Read chunk has Position {}, no multiple of 4", c.position);
    });
    return false;
  }
  return true;
}

// Returns whether the list is in order.
bool check_order(const model::Message& m, const CheckContext& context, const Scratch& s) {
  for (std::size_t i = 1; i < s.reads.size(); ++i) {
    if (s.reads[i].position >= s.reads[i - 1].position) continue;
    accuse(RuleId::kRd03, m, context, [&] {
      return fmt::format("Position {} follows Position {} in the Read list", s.reads[i].position,
                         s.reads[i - 1].position);
    });
    return false;
  }
  return true;
}

void check_empty_segments(const model::Message& m, const CheckContext& context) {
  const auto empty = [](const wire::ReadSegment& s) { return s.target.length == 0; };
  const auto it = std::find_if(m.reads.begin(), m.reads.end(), empty);
  if (it == m.reads.end()) return;
  accuse(RuleId::kRd08, m, context, [&] {
    return fmt::format("Read segment {} of {}, handle {:#010x}, has length 0",
                       it - m.reads.begin() + 1, m.reads.size(), it->target.handle);
  });
}

void check_position_zero(const model::Message& m, const CheckContext& context) {
  const bool has = has_position_zero(m.reads);
  const bool wanted = m.proc == static_cast<std::uint32_t>(Proc::kNomsg);
  if (has == wanted) return;
  accuse(RuleId::kRd04, m, context, [&] {
    return fmt::format("an {} Call has {} Position Zero Read chunk",
                       wire::proc_name(m.version, m.proc), has ? "a" : "no");
  });
}

// Returns the length of the reduced RPC message in bytes; UINT64_MAX: not known.
std::uint64_t reduced_length(const model::Message& m, const Scratch& s) {
  if (m.proc != static_cast<std::uint32_t>(Proc::kNomsg)) {
    return m.complete ? m.wire_length - m.header_length : UINT64_MAX;
  }
  std::uint64_t sum = 0;
  bool found = false;
  for (const ReadChunk& c : s.reads) {
    if (c.position != 0) continue;
    found = true;
    sum += c.length;
  }
  return found ? sum : UINT64_MAX;
}

void sort_chunks(Scratch& s, bool in_order) {
  s.sorted.clear();
  for (const ReadChunk& c : s.reads) {
    if (c.position != 0) s.sorted.push_back(c);
  }
  if (in_order) return;
  std::stable_sort(s.sorted.begin(), s.sorted.end(),
                   [](const ReadChunk& a, const ReadChunk& b) { return a.position < b.position; });
  // Join segments of one chunk that were not consecutive in the list.
  std::size_t kept = 0;
  for (const ReadChunk& c : s.sorted) {
    if (kept == 0 || s.sorted[kept - 1].position != c.position) {
      s.sorted[kept++] = c;
      continue;
    }
    ReadChunk& chunk = s.sorted[kept - 1];
    chunk.length += c.length;
    chunk.segments += c.segments;
    chunk.last_length = c.last_length;
  }
  s.sorted.resize(kept);
}

// Checks that chunks lie inside the message and do not overlap. Returns whether their places are
// valid.
bool check_places(const model::Message& m, const CheckContext& context, const Scratch& s) {
  const std::uint64_t length = reduced_length(m, s);
  std::uint64_t taken = 0;  // bytes of all chunks so far, roundup included
  std::uint64_t end = 0;    // of the previous chunk, in the unreduced message
  for (const ReadChunk& c : s.sorted) {
    if (c.position < end) {
      // check_roundup_chunk() covers a chunk that only pads the previous one.
      accuse(RuleId::kRd06, m, context, [&] {
        return fmt::format("the Read chunk at Position {} overlaps the one that ends at {}",
                           c.position, end);
      });
      return false;
    }
    if (c.position > taken && c.position - taken > length) {
      accuse(RuleId::kRd05, m, context, [&] {
        return fmt::format("Position {} is beyond the end of the RPC message, which has {} bytes",
                           c.position, length + taken);
      });
      return false;
    }
    taken += wire::xdr_padded(c.length);
    end = c.position + c.length;
  }
  return true;
}

// Checks for a chunk that contains only roundup: it begins where the previous chunk ends, and pads
// it to a multiple of 4.
bool check_roundup_chunk(const model::Message& m, const CheckContext& context, const Scratch& s) {
  for (std::size_t i = 1; i < s.sorted.size(); ++i) {
    const ReadChunk& data = s.sorted[i - 1];
    const ReadChunk& pad = s.sorted[i];
    const std::uint64_t end = data.position + data.length;
    if (end % 4 == 0 || pad.position != end || end + pad.length != wire::xdr_padded(end)) continue;
    accuse(RuleId::kRd10, m, context, [&] {
      return fmt::format("the Read chunk at Position {} contains only {} of roundup", pad.position,
                         counted(pad.length, "byte"));
    });
    return true;
  }
  return false;
}

// Finds the place of each chunk in the arguments, which begin `rpc_length` bytes into the message.
bool find_removed(Scratch& s, std::uint32_t rpc_length) {
  s.removed.clear();
  std::uint64_t taken = 0;
  for (const ReadChunk& c : s.sorted) {
    if (c.position < taken + rpc_length) return false;
    s.removed.push_back({static_cast<std::uint32_t>(c.position - taken - rpc_length), c.length});
    taken += wire::xdr_padded(c.length);
  }
  return true;
}

// Compares the count of an item with the length of the chunk that contains its data.
void check_count(const model::Message& m, const CheckContext& context, const ReadChunk& c,
                 std::uint32_t count) {
  if (c.length == count) return;
  if (c.length == wire::xdr_padded(count)) {
    context.history.with_roundup.note(m.id);
    if (c.segments < 2 || c.last_length > c.length - count) return;
    return accuse(RuleId::kRd10, m, context, [&] {
      return fmt::format(
          "the last segment of the Read chunk at Position {} contains only roundup, {} bytes",
          c.position, c.last_length);
    });
  }
  accuse(RuleId::kRd07, m, context, [&] {
    return fmt::format("the Read chunk at Position {} has {} bytes, but the count before it is {}",
                       c.position, c.length, count);
  });
}

void check_items(const model::Message& m, const CheckContext& context, Scratch& s,
                 wire::Bytes arguments) {
  const decode::TakenItems found =
      decode::find_taken_items(procedure_of(m.rpc), arguments, s.removed, s.taken);
  if (found.found == s.taken.size()) return;
  std::size_t item = 0;
  for (std::size_t i = 0; i < found.passed; ++i) {
    const ReadChunk& c = s.sorted[i];
    if (c.length == 0) continue;
    if (item < found.found && s.taken[item].chunk == i) {
      const decode::TakenItem& t = s.taken[item++];
      check_count(m, context, c, t.length);
      if (t.eligible) continue;
    }
    return accuse(RuleId::kRd12, m, context, [&] {
      return fmt::format(
          "the Read chunk at Position {} contains an argument that is not DDP-eligible",
          c.position);
    });
  }
}

// Checks the arguments that chunks contain, for programs whose binding is known.
void check_arguments(const model::Message& m, const CheckContext& context, Scratch& s,
                     wire::Bytes rpc) {
  if (!has_binding(m.rpc, context)) return;
  const auto header = wire::decode_rpc(rpc);
  if (!header || header->type != wire::MsgType::kCall) return;
  if (!find_removed(s, header->length)) return;
  check_removed_roundup(m, rpc, s, context);
  check_items(m, context, s, rpc.subspan(header->length));
}

// The shortest header of an RPC Call, with empty credentials (RFC 5531 section 9).
constexpr std::uint32_t kShortestCall = 40;

bool check_rpc_header(const model::Message& m, const CheckContext& context, const Scratch& s) {
  const std::uint32_t position = s.sorted.front().position;
  if (position >= kShortestCall) return true;
  accuse(RuleId::kRd12, m, context, [&] {
    return fmt::format("the Read chunk at Position {} contains a part of the RPC header", position);
  });
  return false;
}

// Returns whether all chunks are at valid places.
bool check_chunks(const model::Message& m, const CheckContext& context, Scratch& s) {
  join_read_chunks(m.reads, s.reads);
  const bool aligned = check_position_multiple(m, context, s);
  const bool in_order = check_order(m, context, s);
  sort_chunks(s, in_order);
  if (s.sorted.empty()) return false;
  if (check_roundup_chunk(m, context, s)) return false;
  // A Position that is no multiple of 4 indicates that roundup before it was not counted.
  return check_places(m, context, s) && check_rpc_header(m, context, s) && aligned;
}

}  // namespace

void check_read_list(const model::Message& m, const CheckContext& context, Scratch& s) {
  check_position_zero(m, context);
  if (m.reads.empty()) return;
  check_empty_segments(m, context);
  const bool is_inline = m.proc != static_cast<std::uint32_t>(Proc::kNomsg);
  if (check_chunks(m, context, s) && is_inline && !model::may_be_padded(m)) {
    check_arguments(m, context, s, m.payload);
  }
}

void check_identified_arguments(const model::Call& call, const CheckContext& context, Scratch& s) {
  const model::Message& m = call.message;
  join_read_chunks(m.reads, s.reads);
  sort_chunks(s, false);
  const wire::Bytes rpc = rpc_message(m, &call);
  if (!s.sorted.empty()) return check_arguments(m, context, s, rpc);
  s.removed.clear();
  check_removed_roundup(m, rpc, s, context);
}

void check_reply_reads(const model::Message& m, const CheckContext& context) {
  if (m.reads.empty() || context.findings.profile() == Profile::k5666) return;
  accuse(RuleId::kRd01, m, context, [&] {
    return fmt::format("a Reply has a Read list with {}", counted(m.reads.size(), "segment"));
  });
}

}  // namespace rpcrdma::rules
