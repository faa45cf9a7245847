// Finds reports whose captures show the same traffic, which a merge would count twice.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

class Overlaps {
 public:
  Overlaps() = default;
  Overlaps(const Overlaps&) = delete;  // addresses_ points into index_
  Overlaps& operator=(const Overlaps&) = delete;

  // Takes what it needs of the connections of the next report.
  void add(const Report& report);

  // Returns one sentence that names two reports, or an empty text if no connection has packets at
  // the same time in two reports. A connection that continues from one capture to the next may
  // overlap by a millisecond, since the processors of a host do not stamp packets in one order.
  // `names` of the reports; "report 1" for those without.
  [[nodiscard]] std::string find(const std::vector<std::string>& names) const;

 private:
  // Small, since a merge can have millions of them.
  enum class Number : std::uint8_t { kUnknown, kQpn, kPort };
  // The time in which one report has packets of a connection. Arrays by side.
  struct Presence {
    std::int64_t first_ns = 0, last_ns = 0;
    std::uint32_t report = 0;
    std::array<std::uint32_t, 2> address{};  // index in addresses_
    std::array<std::uint32_t, 2> number{};
    std::array<Number, 2> is{};
  };
  // One direction of a connection.
  struct Flow {
    std::uint32_t presence = 0;  // index in presences_
    std::uint32_t to = 0;        // the side that receives
  };

  // Sender's address, receiver's address, receiver's QPN or the two ports.
  using Ends = std::array<std::uint32_t, 3>;
  [[nodiscard]] Ends ends(const Flow& flow) const;
  [[nodiscard]] std::uint32_t address(const std::string& text);
  // Compares the flows between two ends, in the order of time.
  [[nodiscard]] std::string find(std::span<const Flow> flows,
                                 const std::vector<std::string>& names) const;
  [[nodiscard]] bool same(const Flow& a, const Flow& b) const;
  [[nodiscard]] std::string end_name(const Presence& p, std::size_t side) const;
  [[nodiscard]] std::string text(const Presence& a, const Presence& b,
                                 const std::vector<std::string>& names) const;

  std::map<std::string, std::uint32_t, std::less<>> index_;
  std::vector<const std::string*> addresses_;  // keys of index_
  std::deque<Presence> presences_;             // grows without a copy
  std::uint32_t reports_ = 0;
};

}  // namespace rpcrdma::report
