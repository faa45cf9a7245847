#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include <rpcrdma/base/machine_memory.h>

namespace rpcrdma::base {
namespace {

constexpr std::uint64_t kNone = UINT64_MAX;

std::uint64_t memory_total(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  while (file >> name) {
    if (name == "MemTotal:" && file >> kib) return kib << 10U;
    std::getline(file, name);
  }
  return kNone;
}

// The limit in a file; "max" and whatever is no number are none.
std::uint64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t bytes = 0;
  return file >> bytes ? bytes : kNone;
}

bool contains(std::string_view list, std::string_view word) {
  std::istringstream words{std::string(list)};
  for (std::string each; std::getline(words, each, ',');) {
    if (each == word) return true;
  }
  return false;
}

// Where a hierarchy of control groups is mounted, and which of its groups is at the mount point.
struct Mount {
  std::string root;
  std::string point;
};

// proc_pid_mountinfo(5): the fields after a "-" are type, source and options of the file system.
std::optional<Mount> find_mount(const std::string& root, bool version_two) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::vector<std::string> all;
    for (std::string each; fields >> each;) all.push_back(each);
    const auto dash = std::find(all.begin(), all.end(), "-");
    if (all.size() < 5 || all.end() - dash < 4) continue;
    const bool is_two = dash[1] == "cgroup2";
    const bool is_one = dash[1] == "cgroup" && contains(dash[3], "memory");
    if (version_two ? is_two : is_one) return Mount{all[3], all[4]};
  }
  return std::nullopt;
}

// The limits of a group and of those above it, up to the mount point.
std::uint64_t least_above(const std::string& root, const Mount& mount, std::string group,
                          const char* file) {
  if (mount.root != "/") {
    // A group outside the mounted part cannot be seen; the mount point is all there is.
    group = group.starts_with(mount.root) ? group.substr(mount.root.size()) : "";
  }
  std::uint64_t least = kNone;
  while (true) {
    while (!group.empty() && group.back() == '/') group.pop_back();
    least = std::min(least, limit_in(root + mount.point + group + "/" + file));
    if (group.empty()) return least;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

// cgroups(7): lines of "hierarchy:controllers:group", without controllers for version 2.
std::uint64_t group_limit(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::uint64_t least = kNone;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const bool version_two = controllers.empty();
    if (!version_two && !contains(controllers, "memory")) continue;
    const auto mount = find_mount(root, version_two);
    if (!mount) continue;
    least = std::min(least, least_above(root, *mount, line.substr(second + 1),
                                        version_two ? "memory.max" : "memory.limit_in_bytes"));
  }
  return least;
}

}  // namespace

std::uint64_t machine_memory(const std::string& root) {
  const std::uint64_t least = std::min(memory_total(root), group_limit(root));
  return least == kNone ? 0 : least;
}

}  // namespace rpcrdma::base
