#include "registrations.h"

#include <fmt/core.h>

namespace rpcrdma::rules {

namespace {

constexpr std::uint64_t kEnoughToJudge = 16;
constexpr std::uint64_t kManyHandles = 4;      // per Call
constexpr std::uint64_t kSmallSegment = 4096;  // bytes

}  // namespace

void Registrations::note(const model::Message& call) {
  const std::uint64_t before = handles_;
  const auto add = [&](const wire::Segment& s) {
    ++handles_;
    bytes_ += s.length;
    if (again_ != 0) return;
    if (recent_ == nullptr) recent_ = std::make_unique<std::array<std::uint32_t, 256>>();
    std::uint32_t& place = (*recent_)[(s.handle * 0x9e3779b1U) >> 24];
    if (place == s.handle) ++again_;
    place = s.handle;
  };
  for (const wire::ReadSegment& s : call.reads) add(s.target);
  for (const wire::Segment& s : call.write_segments) add(s);
  for (const wire::Segment& s : call.reply_segments) add(s);
  if (again_ != 0) recent_.reset();
  if (handles_ == before) return;
  if (calls_++ == 0) first_frame_ = call.frame;
  last_frame_ = call.frame;
}

void Registrations::report(Findings& findings, const roce::Connection& connection,
                           int requester) const {
  if (calls_ < kEnoughToJudge || handles_ < calls_ * kManyHandles || again_ != 0 ||
      bytes_ > handles_ * kSmallSegment) {
    return;
  }
  Evidence e;
  e.connection = &connection;
  e.side = requester;
  e.frames = {first_frame_, last_frame_};
  findings.add(RuleId::kRegChurn, e, [&] {
    return fmt::format(
        "{} Calls advertise {} segments of {} bytes on average, each with its own handle that no "
        "later Call uses",
        calls_, handles_, bytes_ / handles_);
  });
}

}  // namespace rpcrdma::rules
