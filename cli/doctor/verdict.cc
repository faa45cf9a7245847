// Turns what was found on a machine into lines with advice, and prints them as text or JSON.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/doctor/verdict.h>
#include <rpcrdma/plot/escape.h>

namespace rpcrdma::doctor {

namespace {

using verbs::Gid;
using verbs::Port;
using verbs::Rnic;

// Subtracts the RoCE headers: BTH, RETH or AETH, ICRC, and the IP and UDP headers around them.
std::uint32_t path_mtu(std::uint32_t mtu) {
  constexpr std::uint32_t kHeaders = 100;
  std::uint32_t best = 256;
  for (const std::uint32_t size : {512U, 1024U, 2048U, 4096U}) {
    if (mtu >= size + kHeaders) best = size;
  }
  return best;
}

const Netdev* find(const Machine& machine, const std::string& name) {
  const auto found = std::find_if(machine.netdevs.begin(), machine.netdevs.end(),
                                  [&](const Netdev& n) { return n.name == name; });
  return found == machine.netdevs.end() ? nullptr : &*found;
}

std::string kind_of(const Rnic& rnic) {
  if (rnic.iwarp) return "iWARP";
  return !rnic.ports.empty() && rnic.ports[0].link_layer == "InfiniBand" ? "InfiniBand" : "RoCE";
}

class Judge {
 public:
  Judge(const Machine& machine, const Build& build) : machine_(machine), build_(build) {}

  std::vector<Line> run() {
    build();
    modules();
    if (machine_.rdma.devices.empty()) no_devices();
    for (const Rnic& rnic : machine_.rdma.devices) device(rnic);
    memlock();
    soft();
    rpcbind();
    capture();
    confinement();
    kernel();
    wireshark();
    return std::move(lines_);
  }

 private:
  void add(std::string subject, Health health, std::string text, std::string advice = {}) {
    lines_.push_back({std::move(subject), health, std::move(text), std::move(advice)});
  }

  void build() {
    if (build_.verbs) return add("this build", Health::kGood, "supports verbs (--provider verbs)");
    add("this build", Health::kMissing, "does not support verbs",
        "install librdmacm-dev and libibverbs-dev and rebuild; --provider soft works without them");
  }

  void modules() {
    const bool any = !machine_.rdma.devices.empty();
    const auto module = [&](const char* name, bool loaded) {
      if (loaded) return add(fmt::format("module {}", name), Health::kGood, "is loaded");
      add(fmt::format("module {}", name), any ? Health::kMissing : Health::kNote, "is not loaded",
          any ? fmt::format("modprobe {}", name) : "not needed without an RDMA device");
    };
    module("ib_uverbs", machine_.rdma.has_uverbs);
    module("rdma_ucm", machine_.rdma.has_ucm);
    if (any) node(machine_.rdma.rdma_cm, "connections");
  }

  void node(const verbs::Node& node, const char* what) {
    if (node.usable) return;
    add(node.path, Health::kMissing,
        node.exists ? fmt::format("you have no access to it; {} need it", what) : "is missing",
        node.exists ? "run as root, or give access to a group that you are in: rdma-core's udev "
                      "rules use the group rdma"
                    : "start udev, or reload ib_uverbs and rdma_ucm");
  }

  void no_devices() {
    add("devices", Health::kNote, "no RDMA device found",
        machine_.rxe_available ? "--provider soft needs none; the kernel can provide one on an "
                                 "Ethernet interface: `modprobe rdma_rxe && rdma link add rxe0 "
                                 "type rxe netdev eth0`, with the interface's name"
                               : "--provider soft needs none; this kernel has no module rdma_rxe, "
                                 "which could provide one on an Ethernet interface");
  }

  void device(const Rnic& rnic) {
    const std::string subject = fmt::format("device {}", rnic.name);
    std::string text = kind_of(rnic);
    if (!rnic.firmware.empty()) text += fmt::format(", firmware {}", rnic.firmware);
    add(subject, Health::kGood, text);
    if (!rnic.uverbs.path.empty()) node(rnic.uverbs, "all programs that use the device");
    if (rnic.ports.empty()) {
      add(subject, Health::kMissing, "has no port", "look for messages of its driver with dmesg");
    }
    for (const Port& p : rnic.ports) port(rnic, p);
  }

  void port(const Rnic& rnic, const Port& p) {
    const std::string subject = fmt::format("{} port {}", rnic.name, p.number);
    const std::string text =
        fmt::format("{}, {}, {}, {}", p.state, p.physical, p.link_layer, p.rate);
    if (p.state == "ACTIVE") {
      add(subject, Health::kGood, text);
    } else if (p.link_layer == "InfiniBand" && p.state == "INIT") {
      add(subject, Health::kMissing, text, "start a subnet manager: `systemctl start opensm`");
    } else {
      add(subject, Health::kMissing, text,
          "check the cable and the switch; `ip link set IFACE up` for an Ethernet interface");
    }
    if (p.link_layer != "Ethernet" || rnic.iwarp) return;
    bool any = false;
    for (const Gid& g : p.gids) any = gid(subject, g) || any;
    if (!any) {
      add(subject, Health::kMissing, "has no RoCEv2 GID with an IP address",
          "assign an address to its interface: `ip address add 10.0.0.1/24 dev IFACE`");
    }
  }

  // Returns whether the GID can be used to connect.
  bool gid(const std::string& port, const Gid& g) {
    const auto address = g.address();
    if (!address || g.type != "RoCE v2") return false;
    const std::string subject = fmt::format("{} GID {}", port, g.index);
    const Netdev* const netdev = find(machine_, g.netdev);
    if (netdev == nullptr || netdev->mtu == 0) {
      add(subject, Health::kGood, address->to_string());
      return true;
    }
    const std::uint32_t mtu = path_mtu(netdev->mtu);
    const std::string text = fmt::format("{} on {}, MTU {}, which results in a path MTU of {}",
                                         address->to_string(), g.netdev, netdev->mtu, mtu);
    if (mtu == 4096) {
      add(subject, Health::kGood, text);
    } else {
      add(subject, Health::kNote, text,
          fmt::format("for larger packets: `ip link set {} mtu 4200`, also on peers and switches",
                      g.netdev));
    }
    return true;
  }

  void memlock() {
    constexpr std::uint64_t kPlenty = 1ULL << 30;
    const verbs::System& s = machine_.rdma;
    if (s.locks_anyway || s.memlock == UINT64_MAX) {
      return add("locked memory", Health::kGood, "is unlimited");
    }
    const bool plenty = s.memlock >= kPlenty;
    add("locked memory", plenty ? Health::kGood : Health::kNote,
        fmt::format("is limited to {} KiB", s.memlock / 1024),
        plenty
            ? ""
            : "memory registered with RDMA devices is locked: use `ulimit -l unlimited`, "
              "LimitMEMLOCK=infinity in the systemd unit, or memlock in /etc/security/limits.conf");
  }

  // Linux's rxe binds RoCEv2's UDP port on all addresses of the machine.
  void soft() {
    const bool rxe = std::any_of(machine_.rdma.devices.begin(), machine_.rdma.devices.end(),
                                 [](const Rnic& r) { return r.name.starts_with("rxe"); });
    if (!rxe) {
      return add("user-space RDMA", Health::kGood, "is available (--provider soft)");
    }
    add("user-space RDMA", Health::kNote,
        "the kernel's rxe uses UDP port 4791, which it also needs",
        "use --provider verbs, or remove rxe: `rdma link delete rxe0`");
  }

  void rpcbind() {
    if (machine_.rpcbind)
      return add("rpcbind", Health::kGood,
                 "is running (`rpcrdma serve --rpcbind` registers with it)");
    add("rpcbind", Health::kNote, "is not running",
        "NFS version 3 and `rpcrdma serve --rpcbind` need it: `systemctl start rpcbind`; `rpcrdma "
        "ping` works without it");
  }

  void capture() {
    if (!build_.live) {
      return add("capturing", Health::kMissing, "this build cannot capture from interfaces",
                 "install libpcap-dev and rebuild; reading capture files works without it");
    }
    if (!machine_.may_capture) {
      add("capturing", Health::kNote, "needs privileges that you do not have",
          "use sudo rpcrdma capture ..., or `setcap cap_net_raw+ep` on the program");
    } else {
      add("capturing", Health::kGood, "is permitted");
    }
    for (const Rnic& rnic : machine_.rdma.devices) capture(rnic);
  }

  // Packets of a software device are captured on its network interface.
  void capture(const Rnic& rnic) {
    if (rnic.name.starts_with("rxe") || rnic.name.starts_with("siw")) return;
    const std::string subject = fmt::format("capturing from {}", rnic.name);
    if (std::find(build_.interfaces.begin(), build_.interfaces.end(), rnic.name) !=
        build_.interfaces.end()) {
      return add(subject, Health::kGood,
                 fmt::format("supported by libpcap: `rpcrdma capture -i {}`", rnic.name));
    }
    add(subject, Health::kNote,
        "not supported by libpcap, and its Ethernet interface does not show its RDMA traffic",
        "capture at a mirror port of the switch, or record trace events at an endpoint (--record)");
  }

  // For the commands that decode files.
  void confinement() {
    const base::ConfinementSupport& c = build_.confinement;
    if (!c.system_calls) {
      return add("confined decoders", Health::kNote,
                 c.why_not.empty() ? "unknown" : fmt::format("off: {}", c.why_not),
                 "decode files that you do not trust in a container or as another user");
    }
    if (c.landlock == 0) {
      return add("confined decoders", Health::kNote,
                 "a seccomp filter keeps them from programs, sockets and other processes, but not "
                 "from your files",
                 "use a kernel with Landlock, enabled by lsm= on its command line");
    }
    add("confined decoders", Health::kGood,
        fmt::format("by a seccomp filter and Landlock {}: no programs, sockets, other processes or "
                    "other files",
                    c.landlock));
  }

  // Linux's own NFS/RDMA client and server. Not everybody traces them, so nothing is missing.
  void kernel() {
    const Kernel& k = machine_.kernel;
    if (!k.release.empty()) add("kernel", Health::kGood, k.release);
    add("NFS/RDMA in the kernel", k.rpcrdma ? Health::kGood : Health::kNote,
        fmt::format("{} (nfs {}, nfsd {})",
                    k.rpcrdma ? "rpcrdma is loaded" : "rpcrdma is not loaded",
                    k.nfs ? "is loaded" : "is not", k.nfsd ? "is loaded" : "is not"),
        k.rpcrdma ? ""
                  : "`modprobe rpcrdma`, or mount with proto=rdma; without it the kernel has no "
                    "NFS/RDMA to trace");
    kernel_types(k);
    if (k.tracefs) {
      add("tracefs", Health::kGood, "is mounted");
    } else {
      add("tracefs", Health::kNote, "is not mounted",
          "`mount -t tracefs nodev /sys/kernel/tracing`: needed where BPF programs cannot be "
          "loaded");
    }
    if (k.lockdown == "confidentiality") {
      add("lockdown", Health::kNote, "is confidentiality: neither BPF nor tracefs can be used",
          "boot with lockdown=integrity or without lockdown to trace the kernel");
    } else if (!k.lockdown.empty()) {
      add("lockdown", Health::kGood, fmt::format("is {}: the kernel can be traced", k.lockdown));
    }
    kernel_program(k);
  }

  void kernel_types(const Kernel& k) {
    constexpr const char* kWithout =
        "tracepoints are used instead (docs/kernel.md); for BPF, use a kernel with "
        "CONFIG_DEBUG_INFO_BTF and CONFIG_DEBUG_INFO_BTF_MODULES";
    if (!k.btf) {
      add("kernel's types (BTF)", Health::kNote, "/sys/kernel/btf/vmlinux is missing", kWithout);
    } else if (k.rpcrdma && !k.module_btf) {
      add("kernel's types (BTF)", Health::kNote,
          "the module rpcrdma has none: /sys/kernel/btf/rpcrdma is missing", kWithout);
    } else {
      add("kernel's types (BTF)", Health::kGood,
          k.module_btf ? "of the kernel and of rpcrdma" : "of the kernel");
    }
  }

  void kernel_program(const Kernel& k) {
    const KernelProgram& program = build_.kernel;
    if (program.path.empty()) {
      return add("tracing the kernel", Health::kNote, "rpcrdma-kernel is not installed",
                 program.why);
    }
    const auto suffices = [](std::uint8_t rights) { return rights == kAllKernelRights; };
    if (suffices(k.rights)) return add("tracing the kernel", Health::kGood, "is permitted");
    if (suffices(program.rights)) {
      return add("tracing the kernel", Health::kGood,
                 "is permitted by the capabilities of " + program.path);
    }
    add("tracing the kernel", Health::kNote, "needs privileges that you do not have",
        fmt::format("`sudo rpcrdma top kernel`, or permit it once: `sudo setcap "
                    "cap_bpf,cap_perfmon,cap_sys_admin,cap_dac_read_search+ep {}`",
                    program.path));
  }

  void wireshark() {
    if (machine_.wireshark.empty()) {
      return add("Wireshark", Health::kNote, "is not installed",
                 "apt-get install wireshark, or tshark; rpcrdma does not need it");
    }
    add("Wireshark", Health::kGood, machine_.wireshark);
    const auto part = [&](const char* subject, const std::vector<std::string>& files,
                          const char* without) {
      if (files.empty()) return add(subject, Health::kNote, "is not installed", without);
      add(subject, Health::kGood, fmt::format("{}", fmt::join(files, ", ")));
    };
    part("Wireshark's plugin", machine_.plugins,
         "without it, Wireshark's own RPC-over-RDMA dissector is used");
    part("Wireshark's extcap", machine_.extcaps,
         "install rpcrdma-extcap (docs/extcap.md), or use `rpcrdma attach NAME -w - | wireshark -k "
         "-i -` to watch a running endpoint");
  }

  const Machine& machine_;
  const Build& build_;
  std::vector<Line> lines_;
};

}  // namespace

const char* health_name(Health health) {
  switch (health) {
    case Health::kGood:
      return "good";
    case Health::kNote:
      return "note";
    case Health::kMissing:
      return "missing";
  }
  return "?";
}

std::vector<Line> judge(const Machine& machine, const Build& build) {
  return Judge(machine, build).run();
}

std::string to_text(const std::vector<Line>& lines) {
  std::string text;
  std::size_t missing = 0;
  for (const Line& l : lines) {
    missing += l.health == Health::kMissing ? 1 : 0;
    // May contain names of devices and network interfaces.
    text += fmt::format("{:<7}  {}: {}\n", health_name(l.health), plot::escape_terminal(l.subject),
                        plot::escape_terminal(l.text));
    if (!l.advice.empty()) {
      text += fmt::format("         -> {}\n", plot::escape_terminal(l.advice));
    }
  }
  return text + (missing == 0 ? std::string("Nothing is missing.\n")
                              : fmt::format("{} missing; see the advice below {}.\n", missing,
                                            missing == 1 ? "it" : "each"));
}

std::string to_json(const Machine& machine, const std::vector<Line>& lines) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  auto& checks = json["checks"] = nlohmann::ordered_json::array();
  for (const Line& l : lines) {
    checks.push_back({{"subject", l.subject},
                      {"health", health_name(l.health)},
                      {"text", l.text},
                      {"advice", l.advice}});
  }
  auto& devices = json["devices"] = nlohmann::ordered_json::array();
  for (const Rnic& rnic : machine.rdma.devices) {
    nlohmann::ordered_json device = nlohmann::ordered_json::object();
    device["name"] = rnic.name;
    device["kind"] = kind_of(rnic);
    device["firmware"] = rnic.firmware;
    auto& ports = device["ports"] = nlohmann::ordered_json::array();
    for (const Port& p : rnic.ports) {
      nlohmann::ordered_json port = nlohmann::ordered_json::object();
      port["number"] = p.number;
      port["state"] = p.state;
      port["physical"] = p.physical;
      port["link_layer"] = p.link_layer;
      port["rate"] = p.rate;
      auto& gids = port["gids"] = nlohmann::ordered_json::array();
      for (const Gid& g : p.gids) {
        const auto address = g.address();
        const Netdev* const netdev = find(machine, g.netdev);
        nlohmann::ordered_json gid = nlohmann::ordered_json::object();
        gid["index"] = g.index;
        gid["type"] = g.type;
        gid["netdev"] = g.netdev;
        gid["address"] = nullptr;
        gid["mtu"] = nullptr;
        if (address) gid["address"] = address->to_string();
        if (netdev != nullptr && netdev->mtu != 0) gid["mtu"] = netdev->mtu;
        gids.push_back(std::move(gid));
      }
      ports.push_back(std::move(port));
    }
    devices.push_back(std::move(device));
  }
  return json.dump() + '\n';
}

}  // namespace rpcrdma::doctor
