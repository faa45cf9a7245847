// How far a report can be trusted: worked out from its own numbers, so that it is the same however
// the report was put together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/report/report.h>
#include <rpcrdma/rules/capture_quality.h>

namespace rpcrdma::report {

// What the capture point sees of ICRCs.
enum class IcrcSeen : std::uint8_t {
  kNone,       // no RoCE packet
  kGood,       // all that were verified are right
  kSomeWrong,  // so packets were damaged
  kAllWrong,   // the capture point sees packets without theirs, or rewrites them
  kUnchecked,  // all packets are cut short
};
[[nodiscard]] const char* icrc_seen_name(IcrcSeen seen);  // "none", "good", "some wrong", ...

// What was not said for one reason.
struct InconclusiveGroup {
  std::string_view reason;
  std::uint64_t count = 0;
  std::vector<std::string_view> rules;
  std::vector<std::uint32_t> connections;
};

struct ReportTrust {
  rules::Trust gaps;  // of connections that speak RPC-over-RDMA
  // Of these, what goes on or ends in a later one of the reports that this was joined from.
  rules::Trust::Gap joined;
  IcrcSeen icrc = IcrcSeen::kNone;
  bool damaged = false;                         // a file is, or ends within a record
  std::vector<InconclusiveGroup> inconclusive;  // the reason with most of them first
  // Nothing is missing but what came before the capture.
  bool complete = false;
};
// Points into `report`.
[[nodiscard]] ReportTrust trust_of(const Report& report);

// "25 frames in VXLAN, 3 frames in ethertype 0x9998": in which RDMA may be and was not looked for;
// empty: in none.
[[nodiscard]] std::string unread_text(const CaptureSummary& capture);

// The same in words, what matters most first; empty when nothing is to be said.
struct TrustLine {
  const char* name;  // "lost", "withheld", ...
  std::string text;
};
[[nodiscard]] std::vector<TrustLine> trust_lines(const Report& report);

}  // namespace rpcrdma::report
