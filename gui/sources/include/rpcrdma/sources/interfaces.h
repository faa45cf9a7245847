// What is known of network interfaces beyond their names: which have an RDMA device, which carry
// no RDMA at all, and how many packets pass.
#pragma once

#include <QString>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::gui {

struct Interface {
  QString name;         // for libpcap; any bytes
  QString description;  // libpcap's
  QString device;       // of the RDMA subsystem, such as "mlx5_0"; empty: none
  bool usual = true;    // false: carries no RDMA, such as bluetooth, nflog and dbus
};

// By network interface: its RDMA device. `sysfs`: the root of /sys.
[[nodiscard]] std::map<QString, QString> rdma_devices(const QString& sysfs = "/sys");

// With RDMA devices first, then those that may carry RoCE, then the loopback and "any", and those
// that are not usual last.
[[nodiscard]] std::vector<Interface> sorted_interfaces(
    const std::vector<capture::ListedInterface>& listed, const std::map<QString, QString>& devices);

// "RoCE, mlx5_0" or the description.
[[nodiscard]] QString describe(const Interface& interface);

// Packets in and out since the interface came up, those of its RDMA device included; nothing if
// the system does not count them.
[[nodiscard]] std::optional<std::uint64_t> packets_of(const Interface& interface,
                                                      const QString& sysfs = "/sys");

}  // namespace rpcrdma::gui
