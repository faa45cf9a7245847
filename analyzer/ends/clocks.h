// The clocks of all sources, aligned to one of them by the messages that two of them saw.
#pragma once

#include "match.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <rpcrdma/ends/half.h>

namespace rpcrdma::ends {

class Clocks {
 public:
  // Puts the members of each group in the order in which a Call passes them.
  Clocks(std::span<const SourceHalves> sources, std::vector<Group>& groups);

  [[nodiscard]] std::uint32_t reference() const { return reference_; }
  [[nodiscard]] const ClockMap& of(std::uint32_t source) const { return maps_[source]; }
  // Joined to the reference, over other sources if need be.
  [[nodiscard]] bool reached(std::uint32_t source) const { return reached_[source]; }

  // By the clock of the reference. Nothing: the clock jumped, or nothing was seen around it.
  [[nodiscard]] std::optional<std::int64_t> map(std::uint32_t source, std::int64_t ns) const;
  // Nothing: no bound is known.
  [[nodiscard]] std::optional<std::int64_t> bound(std::uint32_t source, std::int64_t ns) const;

 private:
  void choose_reference(std::span<const SourceHalves> sources, const std::vector<Group>& groups);
  void align_all(std::span<const SourceHalves> sources, const std::vector<Group>& groups);

  std::uint32_t reference_ = 0;
  std::vector<ClockMap> maps_;
  std::vector<bool> reached_;
};

}  // namespace rpcrdma::ends
