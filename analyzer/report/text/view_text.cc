#include <cstdlib>

#include <fmt/format.h>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/view_text.h>

namespace rpcrdma::report {

namespace {

std::string messages_of(std::uint64_t n) {
  return fmt::format("{} {}", n, n == 1 ? "message" : "messages");
}

const char* sender_name(std::size_t side) {
  return side == 0 ? "client" : "server";
}

// "xid 0x12345678 (frame 7)"
std::string example(const session::ViewDifference& d) {
  std::string frames;
  if (d.frame != 0) frames = fmt::format("frame {}", d.frame);
  if (d.other_frame != 0)
    frames += fmt::format("{}frame {}", frames.empty() ? "" : " and ", d.other_frame);
  return fmt::format("XID 0x{:08x}, {}", d.xid, frames);
}

std::string differences_text(const session::View& v, std::size_t sender,
                             session::ViewDifference::Kind kind, std::uint64_t n) {
  using Kind = session::ViewDifference::Kind;
  const char* const who = sender_name(sender);
  std::string text;
  switch (kind) {
    case Kind::kOnlyHere:
      text = fmt::format("it misses {} of the {}", messages_of(n), who);
      break;
    case Kind::kOnlyThere:
      text = fmt::format("only it shows {} of the {}", messages_of(n), who);
      break;
    case Kind::kContent:
      text = fmt::format("it shows {} of the {} with other bytes", messages_of(n), who);
      break;
  }
  for (const session::ViewDifference& d : v.differences) {
    if (d.kind != kind || d.sender != sender) continue;
    return fmt::format("{} ({}{})", text, example(d), n > 1 ? ", ..." : "");
  }
  return text;
}

}  // namespace

std::string view_name(const session::View& v) {
  const std::string file = v.file.empty() ? std::string("the same file") : v.file;
  if (v.recorder < 0) return fmt::format("{}, packets", file);
  return fmt::format("{}, {} of the {}", file, roce::origin_name(v.origin),
                     sender_name(static_cast<std::size_t>(v.recorder)));
}

std::vector<std::string> view_text(const session::View& v) {
  using Kind = session::ViewDifference::Kind;
  std::vector<std::string> out;
  std::uint64_t both = 0, not_compared = 0;
  for (const session::ViewCounts& k : v.counts) {
    both += k.both;
    not_compared += k.not_compared;
  }
  std::string first = fmt::format("{} in both", messages_of(both));
  if (not_compared != 0) first += fmt::format(", {} not compared", not_compared);
  if (disagreements(v) == 0 && both != 0) first += ", no difference";
  out.push_back(std::move(first));
  for (std::size_t s = 0; s < v.counts.size(); ++s) {
    const session::ViewCounts& k = v.counts[s];
    if (k.only_here != 0) out.push_back(differences_text(v, s, Kind::kOnlyHere, k.only_here));
    if (k.only_there != 0) out.push_back(differences_text(v, s, Kind::kOnlyThere, k.only_there));
    if (k.differ != 0) out.push_back(differences_text(v, s, Kind::kContent, k.differ));
  }
  if (v.offset) {
    const std::int64_t ahead = v.offset->ns - v.shift_ns;
    constexpr std::int64_t kYears = 300'000'000'000'000'000;
    std::string clock = std::abs(ahead) > kYears
                            ? std::string("its clock counts from the start of its machine")
                            : fmt::format("its clock is {} {}", format_duration(std::abs(ahead)),
                                          ahead < 0 ? "behind" : "ahead");
    if (v.offset->error_ns != 0)
      clock += fmt::format(", give or take {}", format_duration(v.offset->error_ns));
    if (v.shift_ns != 0) clock += "; its times are shifted";
    out.push_back(std::move(clock));
  }
  if (v.round_trips.count != 0) {
    const auto n = static_cast<std::int64_t>(v.round_trips.count);
    out.push_back(fmt::format("from Call to Reply {} here and {} there on average over {} Calls",
                              format_duration(v.round_trips.here_ns / n),
                              format_duration(v.round_trips.there_ns / n), n));
  }
  return out;
}

}  // namespace rpcrdma::report
