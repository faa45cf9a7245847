// Sweeps over the files in the order of their first frames. For each pair of addresses it keeps, of
// each ring, the file that ends last: a later file that begins before that end is of the same
// cluster.
#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include <rpcrdma/batch/units.h>

namespace rpcrdma::batch {

namespace {

// Consecutive files of a ring may overlap by this much, as in report::merge(). The clocks of two
// hosts may differ by as much.
constexpr std::int64_t kJitterNs = 1'000'000;

// `b` begins last. Two files of a ring show different packets; those of two rings can show the same
// ones as soon as they touch.
bool show_the_same(const ScannedFile& a, const ScannedFile& b) {
  const Scan &x = a.scan, &y = b.scan;
  if (a.ring != b.ring) return y.first_ns - kJitterNs <= x.last_ns;
  if (x.first_ns == y.first_ns && x.last_ns == y.last_ns) return true;
  const std::int64_t shared = std::min(x.last_ns, y.last_ns) - y.first_ns;
  const std::int64_t shorter = std::min(x.last_ns - x.first_ns, y.last_ns - y.first_ns);
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
  using LastOfRings = std::map<std::string_view, std::uint32_t>;
  std::map<std::string_view, LastOfRings> ends_last;  // by pair of addresses
  for (const std::uint32_t file : order) {
    const ScannedFile& later = files[file];
    for (const std::string& pair : later.scan.pairs) {
      LastOfRings& rings = ends_last[pair];
      for (auto at = rings.begin(); at != rings.end();) {
        const ScannedFile& before = files[at->second];
        if (show_the_same(before, later)) sets.join(at->second, file);
        // Files that begin later do not reach it either.
        const bool over = before.scan.last_ns < later.scan.first_ns - kJitterNs;
        at = over ? rings.erase(at) : std::next(at);
      }
      const auto [mine, fresh] = rings.try_emplace(later.ring, file);
      if (!fresh && later.scan.last_ns >= files[mine->second].scan.last_ns) mine->second = file;
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

std::string ring_of(const std::string& path) {
  std::string ring;
  for (const char c : path) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) ring += c;
    else if (ring.empty() || ring.back() != '#') ring += '#';
  }
  return ring;
}

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
