// Divides the files of a batch into units, which are analyzed independently of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/batch/scan.h>

namespace rpcrdma::batch {

// Files that show the same connections at the same time, by their index: the captures of several
// hosts, or one file alone. Both ends of a connection are joined only if they are read together.
using Cluster = std::vector<std::uint32_t>;

// Consecutive clusters in the order of time.
struct Unit {
  std::vector<Cluster> clusters;
  friend bool operator==(const Unit&, const Unit&) = default;
};

struct ScannedFile {
  Scan scan;
  std::uint64_t bytes = 0;
  std::string ring;  // equal for files that may be of one ring: see ring_of()
};

// The path with "#" for each number: "/x/ring_00001_20260101.pcap" becomes "/x/ring_#_#.pcap".
[[nodiscard]] std::string ring_of(const std::string& path);

// A unit ends with the file that makes it larger than this.
inline constexpr std::uint64_t kUnitBytes = std::uint64_t{1} << 30;

// `slice`: the most files of a unit, unless one cluster has more. Files that cannot be read are in
// no unit; those without frames are in the first, if there is one.
[[nodiscard]] std::vector<Unit> make_units(const std::vector<ScannedFile>& files,
                                           std::uint32_t slice);

}  // namespace rpcrdma::batch
