#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <algorithm>
#include <array>

#include <rpcrdma/sources/interfaces.h>

namespace rpcrdma::gui {

namespace {

// The first line of a file of /sys, which is short.
QString line_of(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return {};
  return QString::fromUtf8(file.read(256)).trimmed();
}

bool carries_no_rdma(const QString& name) {
  static constexpr std::array kPrefixes = {"bluetooth", "nflog",     "nfqueue", "dbus",    "usbmon",
                                           "ciscodump", "sdjournal", "udpdump", "wifidump"};
  return std::ranges::any_of(
      kPrefixes, [&](const char* prefix) { return name.startsWith(QLatin1String(prefix)); });
}

int place_of(const Interface& i) {
  if (!i.usual) return 3;
  if (!i.device.isEmpty()) return 0;
  return i.name == "lo" || i.name == "any" ? 2 : 1;
}

}  // namespace

std::map<QString, QString> rdma_devices(const QString& sysfs) {
  std::map<QString, QString> devices;
  const QString root = sysfs + "/class/infiniband/";
  for (const QString& device : QDir(root).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
    const QString ports = root + device + "/ports/";
    for (const QString& port : QDir(ports).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
      // The first entry of the table of GIDs is that of the port's own interface.
      const QString netdev = line_of(ports + port + "/gid_attrs/ndevs/0");
      if (!netdev.isEmpty()) devices[netdev] = device;
    }
    devices[device] = device;  // libpcap captures from the device itself, by its name
  }
  return devices;
}

std::vector<Interface> sorted_interfaces(const std::vector<capture::ListedInterface>& listed,
                                         const std::map<QString, QString>& devices) {
  std::vector<Interface> all;
  for (const capture::ListedInterface& l : listed) {
    Interface i;
    i.name = QString::fromStdString(l.name);
    i.description = QString::fromStdString(l.description);
    if (const auto found = devices.find(i.name); found != devices.end()) i.device = found->second;
    i.usual = !carries_no_rdma(i.name);
    all.push_back(i);
  }
  std::ranges::stable_sort(all, {}, place_of);
  return all;
}

QString describe(const Interface& interface) {
  if (interface.device.isEmpty()) return interface.description;
  return interface.device == interface.name
             ? QCoreApplication::translate("Interfaces", "RDMA device")
             : QCoreApplication::translate("Interfaces", "RDMA: %1").arg(interface.device);
}

std::optional<std::uint64_t> packets_of(const Interface& interface, const QString& sysfs) {
  // A name with a slash would lead elsewhere.
  if (interface.name.contains('/') || interface.device.contains('/')) return std::nullopt;
  std::optional<std::uint64_t> sum;
  const auto add = [&](const QString& path) {
    bool ok = false;
    const std::uint64_t count = line_of(path).toULongLong(&ok);
    if (ok) sum = sum.value_or(0) + count;
  };
  const QString counters = sysfs + "/class/net/" + interface.name + "/statistics/";
  add(counters + "rx_packets");
  add(counters + "tx_packets");
  if (!interface.device.isEmpty()) {
    const QString port = sysfs + "/class/infiniband/" + interface.device + "/ports/1/counters/";
    add(port + "port_rcv_packets");
    add(port + "port_xmit_packets");
  }
  return sum;
}

}  // namespace rpcrdma::gui
