#include "lists.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/wire/rpc.h>

namespace rpcrdma::rules {

void join_read_chunks(std::span<const wire::ReadSegment> list, std::vector<ReadChunk>& chunks) {
  chunks.clear();
  for (const wire::ReadSegment& s : list) {
    if (chunks.empty() || chunks.back().position != s.position) {
      chunks.push_back({.position = s.position});
    }
    ReadChunk& c = chunks.back();
    c.last_length = s.target.length;
    c.length += s.target.length;
    ++c.segments;
  }
}

bool has_position_zero(std::span<const wire::ReadSegment> list) {
  return std::any_of(list.begin(), list.end(),
                     [](const wire::ReadSegment& s) { return s.position == 0; });
}

std::uint64_t total_length(std::span<const wire::Segment> segments) {
  std::uint64_t sum = 0;
  for (const wire::Segment& s : segments) sum += s.length;
  return sum;
}

std::size_t segment_after_gap(std::span<const wire::Segment> offered,
                              std::span<const wire::Segment> returned) {
  bool short_one = false;
  for (std::size_t i = 0; i < returned.size(); ++i) {
    if (short_one && returned[i].length != 0) return i;
    short_one |= returned[i].length < offered[i].length;
  }
  return SIZE_MAX;
}

void total_lengths(const model::Message& m, std::vector<std::uint64_t>& lengths) {
  lengths.clear();
  model::for_each_write_chunk(m, [&](std::uint32_t, std::span<const wire::Segment> segments) {
    lengths.push_back(total_length(segments));
  });
}

std::string counted(std::size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

bool may_be_wrapped(const model::RpcInfo& call) {
  // Without an RPC header nothing indicates RPCSEC_GSS.
  constexpr auto kGss = static_cast<std::uint32_t>(wire::AuthFlavor::kRpcsecGss);
  return call.wrapping == decode::Wrapping::kUnknown ? call.cred_flavor == kGss
                                                     : call.wrapping != decode::Wrapping::kNone;
}

}  // namespace rpcrdma::rules
