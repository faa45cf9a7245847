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

// Of RoCE: BTH, RETH or AETH, ICRC, and IP and UDP headers around them take the rest.
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
    wireshark();
    return std::move(lines_);
  }

 private:
  void add(std::string subject, Health health, std::string text, std::string advice = {}) {
    lines_.push_back({std::move(subject), health, std::move(text), std::move(advice)});
  }

  void build() {
    if (build_.verbs) return add("this build", Health::kGood, "has verbs (--provider verbs)");
    add("this build", Health::kMissing, "has no verbs",
        "install librdmacm-dev and libibverbs-dev, and build anew; --provider soft works without");
  }

  void modules() {
    const bool any = !machine_.rdma.devices.empty();
    const auto module = [&](const char* name, bool loaded) {
      if (loaded) return add(fmt::format("module {}", name), Health::kGood, "is loaded");
      add(fmt::format("module {}", name), any ? Health::kMissing : Health::kNote, "is not loaded",
          any ? fmt::format("modprobe {}", name) : "without an RDMA device it is not needed");
    };
    module("ib_uverbs", machine_.rdma.has_uverbs);
    module("rdma_ucm", machine_.rdma.has_ucm);
    if (any) node(machine_.rdma.rdma_cm, "connections");
  }

  void node(const verbs::Node& node, const char* what) {
    if (node.usable) return;
    add(node.path, Health::kMissing,
        node.exists ? fmt::format("may not be used by you; {} need it", what) : "is missing",
        node.exists
            ? "run as root, or give it to a group of yours: rdma-core's udev rules have the "
              "group rdma"
            : "start udev, or load ib_uverbs and rdma_ucm again");
  }

  void no_devices() {
    add("devices", Health::kNote, "there is no RDMA device",
        machine_.rxe_available
            ? "--provider soft needs none; the kernel can make one of an Ethernet interface: "
              "`modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0`, with its name"
            : "--provider soft needs none; this kernel has no module rdma_rxe, which could make "
              "one of an Ethernet interface");
  }

  void device(const Rnic& rnic) {
    const std::string subject = fmt::format("device {}", rnic.name);
    std::string text = kind_of(rnic);
    if (!rnic.firmware.empty()) text += fmt::format(", firmware {}", rnic.firmware);
    add(subject, Health::kGood, text);
    if (!rnic.uverbs.path.empty()) node(rnic.uverbs, "all programs that use the device");
    if (rnic.ports.empty()) {
      add(subject, Health::kMissing, "has no port", "look for its driver's messages with dmesg");
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
      add(subject, Health::kMissing, text, "a subnet manager has to run: `systemctl start opensm`");
    } else {
      add(subject, Health::kMissing, text,
          "look at the cable and the switch; `ip link set IFACE up` if it is an Ethernet "
          "interface");
    }
    if (p.link_layer != "Ethernet" || rnic.iwarp) return;
    bool any = false;
    for (const Gid& g : p.gids) any = gid(subject, g) || any;
    if (!any) {
      add(subject, Health::kMissing, "has no GID of RoCEv2 with an IP address",
          "give its interface an address: `ip address add 10.0.0.1/24 dev IFACE`");
    }
  }

  // True when it is one to connect with.
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
    const std::string text = fmt::format("{} on {}, MTU {}, which gives a path MTU of {}",
                                         address->to_string(), g.netdev, netdev->mtu, mtu);
    if (mtu == 4096) {
      add(subject, Health::kGood, text);
    } else {
      add(subject, Health::kNote, text,
          fmt::format("more at a time: `ip link set {} mtu 4200`, with peers and switches alike",
                      g.netdev));
    }
    return true;
  }

  void memlock() {
    constexpr std::uint64_t kPlenty = 1ULL << 30;
    const verbs::System& s = machine_.rdma;
    if (s.locks_anyway || s.memlock == UINT64_MAX) {
      return add("locked memory", Health::kGood, "is not limited");
    }
    const bool plenty = s.memlock >= kPlenty;
    add("locked memory", plenty ? Health::kGood : Health::kNote,
        fmt::format("is limited to {} KiB", s.memlock / 1024),
        plenty
            ? ""
            : "RDMA devices need what is registered locked: `ulimit -l unlimited`, "
              "LimitMEMLOCK=infinity of the systemd unit, or memlock in /etc/security/limits.conf");
  }

  // Linux's rxe has RoCEv2's UDP port on all addresses of the machine.
  void soft() {
    const bool rxe = std::any_of(machine_.rdma.devices.begin(), machine_.rdma.devices.end(),
                                 [](const Rnic& r) { return r.name.starts_with("rxe"); });
    if (!rxe) {
      return add("user-space RDMA", Health::kGood, "can be used (--provider soft)");
    }
    add("user-space RDMA", Health::kNote, "the kernel's rxe has UDP port 4791, which it needs too",
        "use --provider verbs, or remove it: `rdma link delete rxe0`");
  }

  void rpcbind() {
    if (machine_.rpcbind)
      return add("rpcbind", Health::kGood, "runs (`rpcrdma serve --rpcbind` registers with it)");
    add("rpcbind", Health::kNote, "does not run",
        "NFS version 3 needs it, and `rpcrdma serve --rpcbind`: `systemctl start rpcbind`; "
        "`rpcrdma ping` does without");
  }

  void capture() {
    if (!build_.live) {
      return add("capturing", Health::kMissing, "this build cannot capture from interfaces",
                 "install libpcap-dev, and build anew; files are read all the same");
    }
    if (!machine_.may_capture) {
      add("capturing", Health::kNote, "needs rights that you do not have",
          "sudo rpcrdma capture ..., or `setcap cap_net_raw+ep` for the program");
    } else {
      add("capturing", Health::kGood, "is allowed");
    }
    for (const Rnic& rnic : machine_.rdma.devices) capture(rnic);
  }

  // A software device's packets are those of an interface.
  void capture(const Rnic& rnic) {
    if (rnic.name.starts_with("rxe") || rnic.name.starts_with("siw")) return;
    const std::string subject = fmt::format("capturing from {}", rnic.name);
    if (std::find(build_.interfaces.begin(), build_.interfaces.end(), rnic.name) !=
        build_.interfaces.end()) {
      return add(subject, Health::kGood,
                 fmt::format("libpcap can: `rpcrdma capture -i {}`", rnic.name));
    }
    add(subject, Health::kNote,
        "libpcap cannot, and its Ethernet interface does not show what it sends and receives",
        "capture at a mirror port of the switch, or record an endpoint itself (--record)");
  }

  void wireshark() {
    if (machine_.wireshark.empty()) {
      return add("Wireshark", Health::kNote, "is not installed",
                 "apt-get install wireshark, or tshark; rpcrdma needs neither");
    }
    add("Wireshark", Health::kGood, machine_.wireshark);
    const auto part = [&](const char* subject, const std::vector<std::string>& files,
                          const char* without) {
      if (files.empty()) return add(subject, Health::kNote, "is not installed", without);
      add(subject, Health::kGood, fmt::format("{}", fmt::join(files, ", ")));
    };
    part("Wireshark's plugin", machine_.plugins,
         "Wireshark's own dissector of RPC-over-RDMA is used");
    part("Wireshark's extcap", machine_.extcaps,
         "install rpcrdma-extcap (docs/extcap.md), or `rpcrdma attach NAME -w - | wireshark -k -i "
         "-` "
         "shows an endpoint that runs");
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
    // Names of devices and network interfaces are in it.
    text += fmt::format("{:<7}  {}: {}\n", health_name(l.health), plot::escape_terminal(l.subject),
                        plot::escape_terminal(l.text));
    if (!l.advice.empty()) {
      text += fmt::format("         -> {}\n", plot::escape_terminal(l.advice));
    }
  }
  return text + (missing == 0 ? std::string("Nothing is missing.\n")
                              : fmt::format("{} missing; what to do stands below {}.\n", missing,
                                            missing == 1 ? "it" : "each"));
}

std::string to_json(const Machine& machine, const std::vector<Line>& lines) {
  nlohmann::ordered_json json;
  auto& checks = json["checks"] = nlohmann::ordered_json::array();
  for (const Line& l : lines) {
    checks.push_back({{"subject", l.subject},
                      {"health", health_name(l.health)},
                      {"text", l.text},
                      {"advice", l.advice}});
  }
  auto& devices = json["devices"] = nlohmann::ordered_json::array();
  for (const Rnic& rnic : machine.rdma.devices) {
    nlohmann::ordered_json device;
    device["name"] = rnic.name;
    device["kind"] = kind_of(rnic);
    device["firmware"] = rnic.firmware;
    auto& ports = device["ports"] = nlohmann::ordered_json::array();
    for (const Port& p : rnic.ports) {
      nlohmann::ordered_json port;
      port["number"] = p.number;
      port["state"] = p.state;
      port["physical"] = p.physical;
      port["link_layer"] = p.link_layer;
      port["rate"] = p.rate;
      auto& gids = port["gids"] = nlohmann::ordered_json::array();
      for (const Gid& g : p.gids) {
        const auto address = g.address();
        const Netdev* const netdev = find(machine, g.netdev);
        nlohmann::ordered_json gid;
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
