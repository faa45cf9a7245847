// Looks up what this machine has for RDMA, capturing and Wireshark.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/core.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <rpcrdma/doctor/machine.h>
#include <rpcrdma/rpcbind/rpcbind.h>

namespace rpcrdma::doctor {

namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::string line_of(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

Netdev netdev_at(const std::string& root, const std::string& name) {
  const fs::path folder = root + "/sys/class/net/" + name;
  Netdev netdev;
  netdev.name = name;
  netdev.mtu =
      static_cast<std::uint32_t>(std::strtoul(line_of(folder / "mtu").c_str(), nullptr, 10));
  netdev.up = line_of(folder / "operstate") == "up";
  return netdev;
}

std::vector<Netdev> netdevs_of(const std::string& root, const verbs::System& rdma) {
  std::vector<Netdev> netdevs;
  for (const verbs::Rnic& rnic : rdma.devices) {
    for (const verbs::Port& port : rnic.ports) {
      for (const verbs::Gid& gid : port.gids) {
        const bool known = std::any_of(netdevs.begin(), netdevs.end(),
                                       [&](const Netdev& n) { return n.name == gid.netdev; });
        if (!known && !gid.netdev.empty()) netdevs.push_back(netdev_at(root, gid.netdev));
      }
    }
  }
  return netdevs;
}

// Returns whether the module is loaded, built in, or available for the running kernel.
bool has_module(const std::string& root, const std::string& name) {
  if (is_there(root + "/sys/module/" + name)) return true;
  utsname kernel{};
  if (::uname(&kernel) != 0) return false;
  const std::string folder = fmt::format("{}/lib/modules/{}/", root, kernel.release);
  for (const char* const list : {"modules.dep", "modules.builtin"}) {
    std::ifstream in(folder + list);
    for (std::string line; std::getline(in, line);) {
      if (line.substr(0, line.find(':')).find("/" + name + ".ko") != std::string::npos) return true;
    }
  }
  return false;
}

bool may_capture(const std::string& root) {
  std::ifstream in(root + "/proc/self/status");
  constexpr const char* kField = "CapEff:\t";
  constexpr unsigned kNetRaw = 13;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(kField)) continue;
    const auto rights = std::strtoull(line.c_str() + std::strlen(kField), nullptr, 16);
    return (rights >> kNetRaw & 1U) != 0;
  }
  return false;
}

std::string find_program(const std::string& root, const std::string& path,
                         std::initializer_list<const char*> names) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, end - at);
    at = end + 1;
    if (folder.empty()) continue;
    for (const char* const name : names) {
      const std::string program = folder + "/" + name;
      if (::access((root + program).c_str(), X_OK) == 0) return program;
    }
  }
  return "";
}

// Finds files of this project in one of the directories where Wireshark looks, which have a version
// number in the path. `name`: part of their file names.
std::vector<std::string> find_parts(const std::string& root,
                                    const std::vector<std::string>& folders,
                                    std::string_view name) {
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (fs::recursive_directory_iterator i(root + folder, error), end; i != end;
         i.increment(error)) {
      if (error) break;
      if (i->path().filename().string().find(name) == std::string::npos) continue;
      found.push_back(i->path().string().substr(root.size()));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

fabric::Expected<Machine> look_at_machine(const std::string& root, const std::string& path,
                                          const std::string& home) {
  if (!is_there(root + "/sys") || !is_there(root + "/proc")) {
    return fabric::fail(fabric::Errc::kSystem,
                        "/sys and /proc are missing, so nothing can be checked");
  }
  Machine m;
  m.rdma = verbs::look_at_system(root);
  m.netdevs = netdevs_of(root, m.rdma);
  m.rxe_available = has_module(root, "rdma_rxe");
  m.rpcbind = is_there(root + rpcbind::kLocalSocket);
  m.may_capture = may_capture(root);
  m.kernel = look_at_kernel(root);
  m.wireshark = find_program(root, path, {"wireshark", "tshark"});
  std::vector<std::string> plugins{"/usr/lib/x86_64-linux-gnu/wireshark/plugins",
                                   "/usr/lib/aarch64-linux-gnu/wireshark/plugins",
                                   "/usr/lib/wireshark/plugins", "/usr/lib64/wireshark/plugins",
                                   "/usr/local/lib/wireshark/plugins"};
  std::vector<std::string> extcaps{"/usr/lib/x86_64-linux-gnu/wireshark/extcap",
                                   "/usr/lib/aarch64-linux-gnu/wireshark/extcap",
                                   "/usr/lib/wireshark/extcap", "/usr/lib64/wireshark/extcap",
                                   "/usr/local/lib/wireshark/extcap"};
  if (!home.empty()) {
    plugins.push_back(home + "/.local/lib/wireshark/plugins");
    // Wireshark 4.0 does not look there, and ./dev wireshark installs nothing there for it.
    extcaps.push_back(home + "/.local/lib/wireshark/extcap");
  }
  m.plugins = find_parts(root, plugins, "rpcrdma");
  m.extcaps = find_parts(root, extcaps, "rpcrdma-extcap");
  return m;
}

}  // namespace rpcrdma::doctor
