// Sweeps over the files in the order of their first frames. For each pair of addresses it keeps, of
// each ring, the file that ends last: a later file that begins before that end is of the same
// cluster.
#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
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

// Files without connections, such as one that has only the end of one, may show packets that
// another host's file shows too. Each joins one cluster of another ring at its time.
class Strays {
 public:
  Strays(const std::vector<ScannedFile>& files, Sets& sets) : files_(files), sets_(sets) {}

  // Call with each file, in the order of their first frames.
  void add(std::uint32_t file) {
    if (files_[file].scan.pairs.empty()) {
      if (!latest_ || !join(*latest_, file)) waiting_.push_back(file);
      return;
    }
    std::erase_if(waiting_, [&](std::uint32_t stray) {
      return files_[stray].scan.last_ns < files_[file].scan.first_ns - kJitterNs ||
             join(stray, file);
    });
    if (!latest_ || files_[file].scan.last_ns >= files_[*latest_].scan.last_ns) latest_ = file;
  }

 private:
  bool join(std::uint32_t before, std::uint32_t file) {
    const bool other = files_[before].ring != files_[file].ring;
    if (!other || !show_the_same(files_[before], files_[file])) return false;
    sets_.join(before, file);
    return true;
  }

  const std::vector<ScannedFile>& files_;
  Sets& sets_;
  std::optional<std::uint32_t> latest_;  // of those with connections, the one that ends last
  std::vector<std::uint32_t> waiting_;
};

// The clusters, in the order of their first frames. `order`: files with frames, in that order.
std::vector<Cluster> make_clusters(const std::vector<ScannedFile>& files,
                                   const std::vector<std::uint32_t>& order) {
  Sets sets(files.size());
  using LastOfRings = std::map<std::string_view, std::uint32_t>;
  std::map<std::string_view, LastOfRings> ends_last;  // by pair of addresses
  Strays strays(files, sets);
  for (const std::uint32_t file : order) {
    strays.add(file);
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
    if (!digit)
      ring += c;
    else if (ring.empty() || ring.back() != '#')
      ring += '#';
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
