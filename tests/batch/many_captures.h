// Captures for a batch: copies of one capture, at other times and between other hosts.
#pragma once

#include "support/command.h"
#include "support/pcap_edit.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fmt/core.h>

namespace rpcrdma::e2e {

using nlohmann::json;

// Adds to the times of all records.
inline void shift_time(PcapEdit& edit, std::uint32_t seconds) {
  for (std::string& record : edit.records) {
    std::uint32_t time = 0;
    std::memcpy(&time, record.data(), 4);
    time += seconds;
    std::memcpy(record.data(), &time, 4);
  }
}

// Changes the third byte of all IPv4 addresses.
inline void other_hosts(PcapEdit& edit, std::uint8_t number) {
  constexpr std::size_t kSource = 16 + 14 + 12;
  for (std::string& record : edit.records) {
    if (PcapEdit::opcode(record) < 0) continue;
    record[kSource + 2] = record[kSource + 6] = static_cast<char>(number);
    mend_icrc(record);
  }
}

inline PcapEdit part(const PcapEdit& whole, std::size_t from, std::size_t to) {
  PcapEdit some = whole;
  to = std::min(to, whole.records.size());
  some.records.assign(whole.records.begin() + static_cast<std::ptrdiff_t>(from),
                      whole.records.begin() + static_cast<std::ptrdiff_t>(to));
  return some;
}

// Writes `count` small captures of up to 256, one after the other, each between hosts of its own
// and without a Call in flight at its end; returns their names.
inline std::vector<std::string> write_captures(const std::string& folder, std::size_t count) {
  const PcapEdit whole(read_file(capture("linux-nfs3.pcap")));
  std::size_t begin = 0;  // the set-up of its connection
  while (PcapEdit::opcode(whole.records[begin]) < 0) ++begin;
  // After so many packets all Calls are answered and acknowledged.
  constexpr std::array<std::size_t, 7> kPackets{31, 45, 49, 53, 84, 91, 103};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    PcapEdit one = part(whole, begin, begin + kPackets[i % kPackets.size()]);
    shift_time(one, static_cast<std::uint32_t>(200 * i));
    other_hosts(one, static_cast<std::uint8_t>(i));
    names.push_back(fmt::format("{}/c{:03}.pcap", folder, i));
    write_file(names.back(), one.file());
  }
  return names;
}

inline std::string joined_names(const std::vector<std::string>& names) {
  std::string line;
  for (const std::string& name : names) line += " " + name;
  return line;
}

}  // namespace rpcrdma::e2e
