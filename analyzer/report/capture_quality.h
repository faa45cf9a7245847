// Capture quality: the data missing from the capture, and what that means for the report. It is
// derived from the report's own numbers, so it is the same for one capture and for a merged report.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/report/report.h>
#include <rpcrdma/rules/capture_quality.h>

namespace rpcrdma::report {

// Whether the ICRCs at the capture point are valid.
enum class IcrcSeen : std::uint8_t {
  kNone,       // no RoCE packet
  kGood,       // all verified ICRCs are valid
  kSomeWrong,  // packets were damaged
  // The devices do not compute them, a tool rewrote the packets, or the capture point sees packets
  // before their ICRC is computed.
  kAllWrong,
  kAccepted,   // most of the wrong ones are in packets that the receivers accept: as kAllWrong
  kUnchecked,  // all packets are truncated
  kOff,        // not verified, by request
};
[[nodiscard]] const char* icrc_seen_name(IcrcSeen seen);  // "none", "good", "some wrong", ...

// The checks that are inconclusive for one reason.
struct InconclusiveGroup {
  std::string_view reason;
  std::uint64_t count = 0;
  std::vector<std::string_view> rules;
  std::vector<std::uint32_t> connections;
};

struct CaptureQuality {
  rules::CaptureGaps gaps;  // of connections that speak RPC-over-RDMA
  // Connections that continue or end in a later one of the merged reports.
  rules::CaptureGaps::Gap joined;
  // Connections whose endpoint traces a sample, without them: their messages are not recorded.
  rules::CaptureGaps::Gap not_sampled;
  IcrcSeen icrc = IcrcSeen::kNone;
  bool damaged = false;                         // a file is damaged, or ends within a record
  std::vector<InconclusiveGroup> inconclusive;  // the most frequent reason first
  // Nothing is missing, except for what preceded the capture.
  bool complete = false;
};
// The result points into `report`.
[[nodiscard]] CaptureQuality capture_quality_of(const Report& report);

// Returns "25 frames in VXLAN, 3 frames in ethertype 0x9998": the frames that may carry RDMA and
// are not decoded. Empty if there are none.
[[nodiscard]] std::string unread_text(const CaptureSummary& capture);

// What the sources of one kind do not show.
// "15 of 25 packets are truncated to 64 bytes; 8 of them without all transport headers, and 2 CM
// messages": how much a capture with a snapshot length holds.
[[nodiscard]] std::string snaplen_text(const CaptureSummary& c);

struct SourceLimits {
  roce::Origin origin = roce::Origin::kKernelTracepoints;
  const char* events = "";   // "events of kernel tracepoints"
  std::uint64_t absent = 0;  // roce::Absent, of all its connections together
  bool differ = false;       // its connections do not all lack the same
  std::size_t rules = 0;     // that were not judged on some of its connections
  rules::CaptureGaps::Gap connections;
};
// Returns those of the kernel, which show less than packets or the endpoints of this project do.
[[nodiscard]] std::vector<SourceLimits> source_limits(const Report& report);

// One line of the section "Capture quality".
struct QualityLine {
  const char* name;  // "lost", "inconclusive", ...
  std::string text;
};
// Returns the lines of that section, the most important first; none if the capture is complete.
[[nodiscard]] std::vector<QualityLine> quality_lines(const Report& report);

}  // namespace rpcrdma::report
