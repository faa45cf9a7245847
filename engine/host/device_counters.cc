#include "files.h"

#include <algorithm>

#include <rpcrdma/host/device_counters.h>

namespace rpcrdma::host {

namespace {

// Far above what hosts and drivers have.
constexpr std::size_t kMostDevices = 128;
constexpr std::size_t kMostPorts = 64;      // of a device
constexpr std::size_t kMostCounters = 512;  // of a folder
constexpr std::size_t kMostBytes = 4096;    // sysfs fills at most a page

// A folder of counters that is absent has none: not every driver has both.
std::vector<Counter> read_counters(const std::string& folder, std::uint64_t& left_out) {
  std::vector<Counter> all;
  const auto names = list_folder(folder, kMostCounters, left_out);
  if (!names) return all;
  for (const std::string& name : *names) {
    const auto text =
        is_plain_name(name) ? read_file(folder + "/" + name, kMostBytes) : base::fail("not a name");
    const auto value = text ? whole_number(trimmed(*text)) : std::nullopt;
    if (value) {
      all.push_back({name, *value});
    } else {
      ++left_out;
    }
  }
  return all;
}

// "4: ACTIVE" without the number.
std::string read_word(const std::string& path) {
  const auto text = read_file(path, kMostBytes);
  if (!text) return {};
  std::string_view word = trimmed(*text);
  if (const std::size_t colon = word.find(": "); colon != std::string_view::npos) {
    word.remove_prefix(colon + 2);
  }
  return is_plain_name(word) ? std::string(word) : std::string();
}

void read_device(const std::string& folder, const std::string& name, Devices& all) {
  DevicePort whole;
  whole.device = name;
  whole.hw_counters = read_counters(folder + "/hw_counters", all.left_out);
  if (!whole.hw_counters.empty()) all.ports.push_back(std::move(whole));
  const auto ports = list_folder(folder + "/ports", kMostPorts, all.left_out);
  if (!ports) return;
  const std::size_t first = all.ports.size();
  for (const std::string& number : *ports) {
    const auto port = whole_number(number);
    if (!port || *port == 0 || *port > UINT32_MAX || number[0] == '0') {
      ++all.left_out;
      continue;
    }
    const std::string at = folder + "/ports/" + number;
    DevicePort p;
    p.device = name;
    p.port = static_cast<std::uint32_t>(*port);
    p.state = read_word(at + "/state");
    p.link_layer = read_word(at + "/link_layer");
    p.counters = read_counters(at + "/counters", all.left_out);
    p.hw_counters = read_counters(at + "/hw_counters", all.left_out);
    all.ports.push_back(std::move(p));
  }
  std::ranges::sort(all.ports.begin() + static_cast<std::ptrdiff_t>(first), all.ports.end(), {},
                    &DevicePort::port);
}

// The names of a signal in the drivers; the first that is there counts.
struct Names {
  Signal signal;
  std::string_view name;
  std::array<std::string_view, 5> files;
};
constexpr std::array<Names, kSignals.size()> kNames{{
    // In the order mlx5, rxe or irdma, bnxt_re, mlx4.
    {Signal::kOutOfSequence,
     "out_of_sequence_packets",
     {"out_of_sequence", "out_of_seq_request", "oos_drop_count", "res_oos_drop_count",
      "rq_num_oos"}},
    {Signal::kSequenceNaks,
     "sequence_naks",
     {"packet_seq_err", "rcvd_seq_err", "seq_err_naks_rcvd", "sq_num_oos"}},
    {Signal::kAckTimeouts,
     "ack_timeouts",
     {"local_ack_timeout_err", "to_retransmits", "sq_num_to"}},
    {Signal::kRnrNaks,
     "rnr_naks",
     {"rnr_nak_retry_err", "rcvd_rnr_err", "rnr_naks_rcvd", "sq_num_rnr"}},
    {Signal::kMissingReceive,
     "missing_receives",
     {"out_of_buffer", "send_rnr_err", "rx_out_of_buffer", "res_oob_drop_count", "rq_num_rnr"}},
    {Signal::kRetriesExceeded,
     "retries_exceeded",
     {"retry_exceeded_err", "max_retry_exceeded", "sq_num_tree"}},
    {Signal::kCnpSent, "cnps_sent", {"np_cnp_sent", "cnpSent", "tx_cnp_pkts", "cnp_tx_pkts"}},
    {Signal::kCnpHandled,
     "cnps_handled",
     {"rp_cnp_handled", "cnpHandled", "rx_cnp_pkts", "cnp_rx_pkts"}},
    {Signal::kEcnMarked,
     "ecn_marked_packets",
     {"np_ecn_marked_roce_packets", "RxECNMrkd", "rx_ecn_marked_pkts"}},
}};

const Names& names_of(Signal signal) {
  return *std::ranges::find(kNames, signal, &Names::signal);
}

}  // namespace

base::Expected<Devices> read_devices(const std::string& sys) {
  Devices all;
  const std::string folder = sys + "/class/infiniband";
  const auto names = list_folder(folder, kMostDevices, all.left_out);
  if (!names) return tl::unexpected(names.error());
  for (const std::string& name : *names) read_device(folder + "/" + name, name, all);
  return all;
}

bool is_count(std::string_view name) {
  return name != "lifespan" && name != "hw_retransmission" && !name.starts_with("active_") &&
         !name.starts_with("watermark_") && !name.ends_with("_watermark");
}

std::string_view name_of(Signal signal) {
  return names_of(signal).name;
}

std::optional<std::uint64_t> value_of(const DevicePort& port, Signal signal) {
  for (const std::string_view file : names_of(signal).files) {
    if (file.empty()) break;
    const auto found = std::ranges::find(port.hw_counters, file, &Counter::name);
    if (found != port.hw_counters.end()) return found->value;
  }
  return std::nullopt;
}

}  // namespace rpcrdma::host
