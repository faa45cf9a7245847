// Joins both ends of recent Calls while they happen: the halves of the last seconds of each
// endpoint, again once a second.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include <rpcrdma/ends/half.h>
#include <rpcrdma/top/shown.h>

namespace rpcrdma::top {

class EndsWindow {
 public:
  // Halves that are kept, of each endpoint.
  static constexpr std::size_t kMostCalls = 4096;
  static constexpr std::int64_t kKeptNs = 10'000'000'000;
  // Calls that ended in the last second are shown; those before it help to align the clocks.
  static constexpr std::int64_t kShownNs = 1'000'000'000;

  // The endpoint of a connection by its ID; kNone: it is not known.
  static constexpr std::uint32_t kNone = UINT32_MAX;
  using EndpointOf = std::function<std::uint32_t(std::uint32_t id)>;

  // `halves`: what the one collector of all endpoints has collected since the last time. `now_ns`:
  // of a monotonic clock.
  void add(const ends::SourceHalves& halves, const EndpointOf& endpoint_of, std::int64_t now_ns);
  // Joins what is kept. `names`: of the endpoints.
  void join(const std::vector<std::string>& names, std::int64_t now_ns);

  [[nodiscard]] const std::vector<ShownEnds>& shown() const { return shown_; }

 private:
  struct Kept {
    std::int64_t came_ns = 0;
    ends::HalfCall call;
  };

  // The recent halves of one endpoint.
  [[nodiscard]] ends::SourceHalves source(std::uint32_t endpoint) const;

  std::vector<ends::HalfConnection> connections_;  // of all endpoints, as collected
  std::vector<std::uint32_t> owners_;              // their endpoints, or kNone
  std::vector<std::string> names_;                 // of procedures
  std::vector<std::deque<Kept>> calls_;            // by endpoint; the oldest first
  std::vector<ShownEnds> shown_;
};

// What to show of one joined connection of `ends`, by its index, whose last Call ended at
// `latest_ns` by the clock of the reference.
[[nodiscard]] ShownEnds show_ends(const ends::Ends& ends, std::uint32_t connection,
                                  std::int64_t latest_ns);

}  // namespace rpcrdma::top
