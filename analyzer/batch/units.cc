// Sweeps over the files in the order of their first frames. For each pair of addresses it keeps the
// file that ends last: a later file that begins before that end is of the same cluster.
#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include <rpcrdma/batch/units.h>

namespace rpcrdma::batch {

namespace {

// Consecutive files of a ring may overlap by this much, as in report::merge().
constexpr std::int64_t kJitterNs = 1'000'000;

bool share_time(const Scan& a, const Scan& b) {
  if (a.first_ns == b.first_ns && a.last_ns == b.last_ns) return true;
  const std::int64_t shared = std::min(a.last_ns, b.last_ns) - std::max(a.first_ns, b.first_ns);
  const std::int64_t shorter = std::min(a.last_ns - a.first_ns, b.last_ns - b.first_ns);
  return shared > 0 && (shared > kJitterNs || shared > shorter / 2);
}

// Disjoint sets of files.
class Sets {
 public:
  explicit Sets(std::size_t files) : parent_(files) {
    std::iota(parent_.begin(), parent_.end(), std::uint32_t{0});
  }
  std::uint32_t find(std::uint32_t file) {
    while (parent_[file] != file) file = parent_[file] = parent_[parent_[file]];
    return file;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

// The clusters, in the order of their first frames. `order`: files with frames, in that order.
std::vector<Cluster> make_clusters(const std::vector<ScannedFile>& files,
                                   const std::vector<std::uint32_t>& order) {
  Sets sets(files.size());
  std::map<std::string_view, std::uint32_t> ends_last;
  for (const std::uint32_t file : order) {
    const Scan& scan = files[file].scan;
    for (const std::string& pair : scan.pairs) {
      const auto [before, fresh] = ends_last.try_emplace(pair, file);
      if (fresh) continue;
      if (share_time(files[before->second].scan, scan)) sets.join(before->second, file);
      if (scan.last_ns >= files[before->second].scan.last_ns) before->second = file;
    }
  }
  std::map<std::uint32_t, std::size_t> index;
  std::vector<Cluster> clusters;
  for (const std::uint32_t file : order) {
    const auto [at, fresh] = index.try_emplace(sets.find(file), clusters.size());
    if (fresh) clusters.emplace_back();
    clusters[at->second].push_back(file);
  }
  // Files are merged in the order in which they were named.
  for (Cluster& cluster : clusters) std::sort(cluster.begin(), cluster.end());
  return clusters;
}

}  // namespace

std::vector<Unit> make_units(const std::vector<ScannedFile>& files, std::uint32_t slice) {
  std::vector<std::uint32_t> order, without_frames;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    const Scan& scan = files[i].scan;
    if (scan.unreadable.empty()) (scan.frames ? order : without_frames).push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Scan &x = files[a].scan, &y = files[b].scan;
    return std::tie(x.first_ns, x.last_ns) < std::tie(y.first_ns, y.last_ns);
  });
  std::vector<Unit> units;
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  for (Cluster& cluster : make_clusters(files, order)) {
    if (units.empty() || count + cluster.size() > slice || bytes >= kUnitBytes) {
      units.emplace_back();
      bytes = count = 0;
    }
    count += cluster.size();
    for (const std::uint32_t file : cluster) bytes += files[file].bytes;
    units.back().clusters.push_back(std::move(cluster));
  }
  if (without_frames.empty()) return units;
  if (units.empty()) units.emplace_back();
  for (const std::uint32_t file : without_frames) units.front().clusters.push_back({file});
  return units;
}

}  // namespace rpcrdma::batch
