// Reads the state of this machine's RDMA devices from sysfs and /dev, and explains what prevents
// their use.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rpcrdma/verbs/system.h>

namespace rpcrdma::verbs {

namespace {

namespace fs = std::filesystem;

// Returns the first line of a file; empty if it cannot be read.
std::string line_of(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "4: ACTIVE"
std::string behind_colon(const std::string& text) {
  const std::size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

// "0000:0000:0000:0000:0000:ffff:0a4d:0001"
bool parse_gid(const std::string& text, std::array<std::uint8_t, 16>& bytes) {
  if (text.size() != 39) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const char* const at = text.data() + i / 2 * 5 + i % 2 * 2;
    if (std::from_chars(at, at + 2, bytes[i], 16).ptr != at + 2) return false;
  }
  return true;
}

Node node_at(const std::string& root, const std::string& path) {
  Node node;
  node.path = path;
  const std::string real = root + path;
  node.exists = ::access(real.c_str(), F_OK) == 0;
  node.usable = ::access(real.c_str(), R_OK | W_OK) == 0;
  return node;
}

std::vector<Gid> gids_of(const fs::path& port) {
  std::vector<Gid> gids;
  for (const std::string& name : names_in(port / "gids")) {
    const auto index = number_of(name);
    Gid gid;
    if (!index || !parse_gid(line_of(port / "gids" / name), gid.bytes)) continue;
    // An unset GID, or the default of a port without an address.
    if (std::all_of(gid.bytes.begin(), gid.bytes.end(), [](std::uint8_t b) { return b == 0; })) {
      continue;
    }
    gid.index = *index;
    gid.type = line_of(port / "gid_attrs" / "types" / name);
    gid.netdev = line_of(port / "gid_attrs" / "ndevs" / name);
    gids.push_back(std::move(gid));
  }
  std::sort(gids.begin(), gids.end(), [](const Gid& a, const Gid& b) { return a.index < b.index; });
  return gids;
}

Rnic rnic_at(const std::string& root, const std::string& name) {
  const fs::path folder = root + "/sys/class/infiniband/" + name;
  Rnic device;
  device.name = name;
  device.iwarp = line_of(folder / "node_type").starts_with("4");
  device.firmware = line_of(folder / "fw_ver");
  for (const std::string& number : names_in(folder / "ports")) {
    const auto value = number_of(number);
    if (!value) continue;
    const fs::path at = folder / "ports" / number;
    Port port;
    port.number = *value;
    port.state = behind_colon(line_of(at / "state"));
    port.physical = behind_colon(line_of(at / "phys_state"));
    port.link_layer = line_of(at / "link_layer");
    port.rate = line_of(at / "rate");
    port.gids = gids_of(at);
    device.ports.push_back(std::move(port));
  }
  const fs::path verbs = root + "/sys/class/infiniband_verbs";
  for (const std::string& uverbs : names_in(verbs)) {
    if (line_of(verbs / uverbs / "ibdev") == name) {
      device.uverbs = node_at(root, "/dev/infiniband/" + uverbs);
    }
  }
  return device;
}

std::string memlock_text(const System& system) {
  return system.memlock == UINT64_MAX ? std::string("not limited")
                                      : fmt::format("{} KiB", system.memlock / 1024);
}

// Returns whether CAP_IPC_LOCK is effective.
bool may_lock(const std::string& root) {
  std::ifstream in(root + "/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("CapEff:\t")) continue;
    constexpr unsigned kIpcLock = 14;
    return (std::strtoull(line.c_str() + std::strlen("CapEff:\t"), nullptr, 16) >> kIpcLock & 1U) !=
           0;
  }
  return false;
}

}  // namespace

std::optional<fabric::Address> Gid::address() const {
  if (!type.empty() && type != "RoCE v2") return std::nullopt;
  fabric::Address a;
  constexpr std::size_t kPrefix = 12;
  const bool mapped =
      std::all_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b == 0; }) &&
      bytes[10] == 0xff && bytes[11] == 0xff;
  a.ipv6 = !mapped;
  if (mapped) {
    std::copy(bytes.begin() + kPrefix, bytes.end(), a.bytes.begin());
  } else {
    a.bytes = bytes;
  }
  return a;
}

System look_at_system(const std::string& root) {
  System system;
  std::error_code error;
  const auto there = [&](const char* path) { return fs::exists(root + path, error); };
  system.rdma_cm = node_at(root, "/dev/infiniband/rdma_cm");
  system.has_uverbs = there("/sys/class/infiniband_verbs");
  system.has_ucm = there("/sys/class/misc/rdma_cm") || there("/sys/module/rdma_ucm");
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  system.memlock = limit.rlim_cur == RLIM_INFINITY ? UINT64_MAX : limit.rlim_cur;
  system.locks_anyway = may_lock(root);
  for (const std::string& name : names_in(root + "/sys/class/infiniband")) {
    system.devices.push_back(rnic_at(root, name));
  }
  return system;
}

std::string missing_requirements(const System& system) {
  if (system.devices.empty()) {
    return "this machine has no RDMA device; create a software device with `modprobe rdma_rxe && "
           "rdma link add rxe0 type rxe netdev eth0`, with the name of your interface";
  }
  if (!system.has_uverbs) return "the module ib_uverbs is not loaded: `modprobe ib_uverbs`";
  if (!system.has_ucm) return "the module rdma_ucm is not loaded: `modprobe rdma_ucm`";
  std::vector<const Node*> nodes{&system.rdma_cm};
  for (const Rnic& d : system.devices) nodes.push_back(&d.uverbs);
  for (const Node* n : nodes) {
    if (n->path.empty() || n->usable) continue;
    if (!n->exists) return fmt::format("{} is missing: is udev running?", n->path);
    return fmt::format(
        "no permission for {}: run as root, or let udev assign it to a group of yours "
        "(rdma-core has rules for the group rdma)",
        n->path);
  }
  return "";
}

std::string registration_advice(int error, std::uint64_t bytes, const System& system) {
  std::string text =
      fmt::format("{} bytes could not be registered: {}", bytes, std::strerror(error));
  if (error == ENOMEM || error == EAGAIN || error == EPERM) {
    if (!system.locks_anyway && system.memlock != UINT64_MAX) {
      text += fmt::format(
          "; locked memory is limited to {}: raise it by `ulimit -l unlimited`, "
          "LimitMEMLOCK=infinity of the systemd unit, or memlock in /etc/security/limits.conf",
          memlock_text(system));
    } else {
      text += "; the device or the machine has no memory left for it";
    }
  }
  return text;
}

fabric::Expected<fabric::Address> address_of_gid(const System& system, const std::string& device,
                                                 std::uint32_t index) {
  const auto bad = [](std::string text) {
    return fabric::fail(fabric::Errc::kBadArgument, std::move(text));
  };
  const std::size_t colon = device.find(':');
  const std::string name = device.substr(0, colon);
  const auto number = colon == std::string::npos ? std::optional<std::uint32_t>(1)
                                                 : number_of(device.substr(colon + 1));
  for (const Rnic& d : system.devices) {
    if (d.name != name) continue;
    for (const Port& p : d.ports) {
      if (p.number != number) continue;
      for (const Gid& g : p.gids) {
        if (g.index != index) continue;
        const auto address = g.address();
        if (p.link_layer == "Ethernet" && address) return *address;
        return bad(fmt::format("GID {} of {} port {} is of type {}, which has no IP address", index,
                               name, p.number, g.type.empty() ? p.link_layer : g.type));
      }
      return bad(fmt::format("{} port {} has no GID {}; `rpcrdma doctor` lists them", name,
                             p.number, index));
    }
    return bad(fmt::format("{}: there is no such port", device));
  }
  return bad(fmt::format("{}: there is no such RDMA device", name));
}

}  // namespace rpcrdma::verbs
