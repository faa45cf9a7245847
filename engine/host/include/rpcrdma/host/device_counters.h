// The counters of this host's RDMA devices, as sysfs states them. Each driver has its own list, so
// all are passed on by the names of their files. Those that show how connections fare have one name
// here for all drivers (Signal).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/base/error.h>

namespace rpcrdma::host {

struct Counter {
  std::string name;  // of the file: letters, digits and '_'
  std::uint64_t value = 0;
};

struct DevicePort {
  std::string device;      // "mlx5_0"
  std::uint32_t port = 0;  // from 1; 0: counters of the whole device
  std::string state;       // "ACTIVE"; empty: not stated, like the others
  std::string link_layer;  // "Ethernet", "InfiniBand"
  // Ordered by name. In `counters`, port_xmit_data and port_rcv_data count words of 4 bytes.
  std::vector<Counter> counters;
  std::vector<Counter> hw_counters;
};

struct Devices {
  std::vector<DevicePort> ports;  // ordered by device and port
  // Files and folders that are not among them: beyond the bounds, unreadable, or not a number.
  std::uint64_t left_out = 0;
};

// Reads them anew. `sys`: where sysfs is mounted. Without an RDMA device there are no ports. Error:
// class/infiniband is absent or unreadable, in one line.
[[nodiscard]] base::Expected<Devices> read_devices(const std::string& sys = "/sys");

// Whether a file in hw_counters or counters counts: some hold a present number or a maximum, such
// as active_qps and lifespan.
[[nodiscard]] bool is_count(std::string_view name);

// What drivers name differently. "Received" is the view of this port.
enum class Signal : std::uint8_t {
  kOutOfSequence,    // request packets received out of sequence: the network lost or reordered some
  kSequenceNaks,     // NAKs received for packets out of sequence: this port sends again
  kAckTimeouts,      // acknowledgments that did not arrive in time: this port sends again
  kRnrNaks,          // RNR NAKs received: the peer had no Receive posted
  kMissingReceive,   // packets received without a posted Receive, or RNR NAKs sent
  kRetriesExceeded,  // requests given up after too many retries: the connection ends
  kCnpSent,          // congestion notifications sent, for ECN marks seen
  kCnpHandled,       // congestion notifications received and obeyed: this port sends slower
  kEcnMarked,        // packets received with an ECN mark
};
inline constexpr std::array kSignals{
    Signal::kOutOfSequence, Signal::kSequenceNaks,   Signal::kAckTimeouts,
    Signal::kRnrNaks,       Signal::kMissingReceive, Signal::kRetriesExceeded,
    Signal::kCnpSent,       Signal::kCnpHandled,     Signal::kEcnMarked,
};

// As in a metric's name: "out_of_sequence_packets", "rnr_naks".
[[nodiscard]] std::string_view name_of(Signal signal);
// Nothing: this driver does not count it.
[[nodiscard]] std::optional<std::uint64_t> value_of(const DevicePort& port, Signal signal);

}  // namespace rpcrdma::host
