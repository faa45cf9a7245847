#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/report/files.h>

namespace rpcrdma::report {

void FileStats::note_size(std::uint64_t bytes, std::uint64_t count) {
  if (const auto it = sizes.find(bytes); it != sizes.end()) {
    it->second += count;
  } else if (sizes.size() < kMaxFileSizes) {
    sizes.emplace(bytes, count);
  } else {
    other_sizes += count;
  }
}

void FileStats::add(const FileStats& later) {
  if (!later.name.empty()) {
    name = later.name;
    below = later.below;
  }
  if (calls() == 0) first_ns = later.first_ns;
  if (later.calls() != 0) {
    first_ns = std::min(first_ns, later.first_ns);
    last_ns = std::max(last_ns, later.last_ns);
  }
  reads += later.reads;
  writes += later.writes;
  other += later.other;
  errors += later.errors;
  unmatched += later.unmatched;
  read_bytes += later.read_bytes;
  written_bytes += later.written_bytes;
  compared += later.compared;
  sequential += later.sequential;
  for (const auto& [bytes, count] : later.sizes) note_size(bytes, count);
  other_sizes += later.other_sizes;
  latency.merge(later.latency);
}

std::size_t Files::with_calls() const {
  return static_cast<std::size_t>(std::count_if(
      list.begin(), list.end(), [](const auto& file) { return file.second.calls() != 0; }));
}

void Files::add(const Files& later) {
  for (const auto& [key, stats] : later.list) {
    const auto it = list.find(key);
    if (it != list.end()) {
      it->second.add(stats);
    } else if (list.size() < kMaxFiles) {
      list.emplace(key, stats);
    } else {
      others.calls += stats.calls();
      others.read_bytes += stats.read_bytes;
      others.written_bytes += stats.written_bytes;
    }
  }
  others.calls += later.others.calls;
  others.read_bytes += later.others.read_bytes;
  others.written_bytes += later.others.written_bytes;
  complete_names();
}

void Files::complete_names() {
  constexpr int kMaxDepth = 32;  // a file can contain circles
  constexpr std::size_t kMaxName = 2048;
  for (auto& [key, file] : list) {
    for (int depth = 0; file.below && !file.name.empty() && depth < kMaxDepth; ++depth) {
      const auto directory = list.find({key.server, *file.below});
      if (directory == list.end() || &directory->second == &file) break;
      const FileStats& above = directory->second;
      if (above.name.empty() || above.name.size() + file.name.size() >= kMaxName) break;
      file.name =
          fmt::format("{}{}{}", above.name, above.name.ends_with('/') ? "" : "/", file.name);
      file.below = above.below;
    }
  }
}

const char* pattern_of(const FileStats& file) {
  if (file.compared == 0) return "";
  const double share = static_cast<double>(file.sequential) / static_cast<double>(file.compared);
  if (share >= 0.8) return "sequential";
  constexpr std::uint64_t kFew = 3;
  if (file.compared < kFew) return "";
  return share <= 0.2 ? "random" : "mixed";
}

std::uint64_t typical_size(const FileStats& file) {
  const auto most =
      std::max_element(file.sizes.begin(), file.sizes.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == file.sizes.end() ? 0 : most->first;
}

std::vector<const FileEntry*> busiest_files(const Files& files, std::size_t most) {
  std::vector<const FileEntry*> all;
  all.reserve(files.list.size());
  for (const FileEntry& file : files.list) {
    if (file.second.calls() != 0) all.push_back(&file);
  }
  most = std::min(most, all.size());
  std::stable_sort(all.begin(), all.end(), [](const FileEntry* a, const FileEntry* b) {
    return a->second.bytes() > b->second.bytes();
  });
  const std::uint64_t least = most != 0 ? all[most - 1]->second.bytes() : 0;
  std::stable_sort(all.begin(), all.end(), [](const FileEntry* a, const FileEntry* b) {
    return a->second.latency.sum() > b->second.latency.sum();
  });
  std::vector<const FileEntry*> chosen(all.begin(),
                                       all.begin() + static_cast<std::ptrdiff_t>(most));
  std::size_t by_bytes = 0;
  for (std::size_t i = 0; i < all.size() && by_bytes < most; ++i) {
    const std::uint64_t bytes = all[i]->second.bytes();
    if (bytes == 0 || bytes < least) continue;
    ++by_bytes;
    if (i >= most) chosen.push_back(all[i]);
  }
  return chosen;
}

std::string file_name(const FileEntry& file) {
  return file.second.name.empty() ? fmt::format("fh:{:08x}", file.first.handle) : file.second.name;
}

}  // namespace rpcrdma::report
