// What sources contradict each other about, by kind and connection.
#pragma once

#include "stages.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <rpcrdma/ends/half.h>

namespace rpcrdma::ends {

// When a source shows a connection, by the clock of the reference.
struct Shown {
  std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  bool complete = false;  // nothing of it is known to be missing
};

class Contradictions {
 public:
  explicit Contradictions(std::span<const SourceHalves> sources) : sources_(sources) {}

  // Compares the halves of one Call. `at_edge`: a source may have begun or ended meanwhile, so that
  // what it does not show is no evidence. Returns whether they contradict each other.
  bool compare(std::uint32_t connection, const std::vector<Seen>& seen, bool at_edge);
  void disordered(std::uint32_t connection, const std::vector<Seen>& seen);
  // `missing` shows the connection at the time of this Call, and has no half of it.
  void missing(std::uint32_t connection, const std::vector<Seen>& seen, const Seen& missing);

  [[nodiscard]] std::vector<Contradiction> take();

 private:
  void note(std::uint32_t connection, std::uint32_t xid, std::string what);
  [[nodiscard]] const std::string& file(const Seen& s) const { return sources_[s.source].file; }

  std::span<const SourceHalves> sources_;
  std::map<std::pair<std::uint32_t, std::string>, Contradiction> all_;
};

}  // namespace rpcrdma::ends
