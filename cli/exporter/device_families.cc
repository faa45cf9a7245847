// Metrics of RDMA devices: every counter by the name of its file, and those that drivers name
// differently once more under one name.
#include "families.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rpcrdma::exporter {

namespace {

using host::Counter;
using host::DevicePort;
using host::Signal;

struct Port {
  const DevicePort* numbers;
  std::string labels;
};

struct Family {
  TextType type = TextType::kCounter;
  std::string file;  // as the first device names it
  std::vector<std::pair<std::string_view, std::uint64_t>> samples;
};

// `counters`: the folder. Names that become equal are one family, but one device has each only
// once.
void write_folder(TextWriter& to, const std::vector<Port>& ports,
                  std::vector<Counter> DevicePort::*counters, const char* folder,
                  std::string_view prefix, std::uint64_t& left_out) {
  std::map<std::string, Family> families;  // by names without the ending of counters
  for (const Port& p : ports) {
    std::set<std::string> known;
    for (const Counter& c : p.numbers->*counters) {
      const TextType type = host::is_count(c.name) ? TextType::kCounter : TextType::kGauge;
      const auto found = families.try_emplace(std::string(base_name(snake_case(c.name))));
      Family& family = found.first->second;
      if (family.file.empty()) {
        family.type = type;
        family.file = c.name;
      }
      if (family.type != type || !known.insert(found.first->first).second) {
        ++left_out;
        continue;
      }
      family.samples.emplace_back(p.labels, c.value);
    }
  }
  for (const auto& [base, family] : families) {
    const std::string name = metric_name(prefix, base, family.type);
    const std::string help =
        "File " + family.file + " in " + folder + " of the device, which its driver defines.";
    to.family(name, family.type, help);
    for (const auto& [labels, value] : family.samples) to.sample(labels, value);
  }
}

std::string_view help_of(Signal signal) {
  switch (signal) {
    case Signal::kOutOfSequence:
      return "Packets received out of sequence: the network lost or reordered some.";
    case Signal::kSequenceNaks:
      return "NAKs received for packets out of sequence: this device sends again.";
    case Signal::kAckTimeouts:
      return "Acknowledgments that did not come in time: this device sends again.";
    case Signal::kRnrNaks:
      return "RNR NAKs received: the peer had no Receive posted.";
    case Signal::kMissingReceive:
      return "Packets received without a posted Receive.";
    case Signal::kRetriesExceeded:
      return "Requests given up after too many retries: their connections end.";
    case Signal::kCnpSent:
      return "Congestion notification packets sent, for packets with ECN marks.";
    case Signal::kCnpHandled:
      return "Congestion notification packets received: this device sends slower.";
    case Signal::kEcnMarked:
      return "Packets received with an ECN mark: a switch was congested.";
  }
  return "";
}

void write_signals(TextWriter& to, const std::vector<Port>& ports) {
  for (const Signal signal : host::kSignals) {
    const std::string name = "rpcrdma_device_" + std::string(host::name_of(signal)) + "_total";
    to.family(name, TextType::kCounter, help_of(signal));
    for (const Port& p : ports) {
      if (const auto value = host::value_of(*p.numbers, signal)) to.sample(p.labels, *value);
    }
  }
  // InfiniBand counts data in words of 4 bytes, and so do the drivers of RoCE devices.
  const auto bytes = [&](std::string_view file, std::string_view name, std::string_view help) {
    to.family(name, TextType::kCounter, help);
    for (const Port& p : ports) {
      for (const Counter& c : p.numbers->counters) {
        if (c.name == file && c.value <= UINT64_MAX / 4) to.sample(p.labels, c.value * 4);
      }
    }
  };
  bytes("port_xmit_data", "rpcrdma_device_sent_bytes_total", "Bytes sent: port_xmit_data times 4.");
  bytes("port_rcv_data", "rpcrdma_device_received_bytes_total",
        "Bytes received: port_rcv_data times 4.");
}

}  // namespace

void write_devices(TextWriter& to, const host::Devices& devices, std::uint64_t& left_out) {
  std::vector<Port> ports;
  for (const DevicePort& p : devices.ports) {
    Port& added = ports.emplace_back(Port{&p, {}});
    label(added.labels, "device", p.device);
    label(added.labels, "port", std::to_string(p.port));
  }
  to.family("rpcrdma_device_info", TextType::kGauge, "1; the labels describe the port.");
  for (const Port& p : ports) {
    if (p.numbers->port == 0) continue;
    std::string more;
    label(more, "state", p.numbers->state);
    label(more, "link_layer", p.numbers->link_layer);
    to.sample(p.labels, more, 1);
  }
  write_signals(to, ports);
  write_folder(to, ports, &DevicePort::counters, "counters", "rpcrdma_device_port_", left_out);
  write_folder(to, ports, &DevicePort::hw_counters, "hw_counters", "rpcrdma_device_hw_", left_out);
  left_out += devices.left_out;
}

}  // namespace rpcrdma::exporter
