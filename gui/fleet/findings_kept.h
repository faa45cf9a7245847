// The findings of a fleet, as they come from the stream: each finding once, with its latest count,
// the newest first, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <rpcrdma/fleet/summary.h>

namespace rpcrdma::gui {

class FindingsKept {
 public:
  explicit FindingsKept(std::size_t most) : most_(most) {}

  // Takes a message of the subject rpcrdma.findings.HOST.
  void take(std::string_view subject, std::string_view json);
  [[nodiscard]] std::vector<fleet::FindingNote> newest_first() const;
  // Older ones that made room.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // Messages that are no finding, or name another host than their subject.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  // Increases with each change.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

 private:
  std::size_t most_;
  std::list<fleet::FindingNote> notes_;  // the newest first
  std::unordered_map<std::string, std::list<fleet::FindingNote>::iterator> by_key_;
  std::uint64_t dropped_ = 0, refused_ = 0, changes_ = 0;
};

// The same for each occurrence of a finding.
[[nodiscard]] std::string finding_key(const fleet::FindingNote& note);

}  // namespace rpcrdma::gui
