// A capture in which the network signals congestion: packets marked CE, CNPs and pause frames, put
// into a plain capture of RoCEv2.
#pragma once

#include "pcap_edit.h"

#include <cstdint>
#include <cstring>
#include <string>

namespace rpcrdma::testing {

struct CongestedCapture {
  std::string file;
  std::uint64_t marked = 0, cnps = 0, pauses = 0;
};

namespace congested {

inline constexpr std::size_t kIpAt = 16 + 14, kBthAt = kIpAt + 28;

inline void store16(std::string& record, std::size_t at, std::size_t value) {
  record[at] = static_cast<char>(value >> 8);
  record[at + 1] = static_cast<char>(value);
}

// A CNP that goes the way of an ACK.
inline std::string cnp_like(std::string ack) {
  ack[kBthAt] = static_cast<char>(0x81);
  ack.replace(kBthAt + 12, std::string::npos, std::string(20, '\0'));
  const auto size = static_cast<std::uint32_t>(ack.size() - 16);
  std::memcpy(ack.data() + 8, &size, 4);
  std::memcpy(ack.data() + 12, &size, 4);
  store16(ack, kIpAt + 2, ack.size() - kIpAt);
  store16(ack, kIpAt + 24, ack.size() - kIpAt - 20);
  e2e::mend_icrc(ack);
  return ack;
}

// A pause frame for class 3, by 02:00:00:00:00:07.
inline std::string pause_like(const std::string& record) {
  std::string frame("\x01\x80\xc2\0\0\1\2\0\0\0\0\7\x88\x08\1\1\0\x08\0\0\0\0\0\0\xff\xff", 26);
  frame.resize(60);
  std::string pause = record.substr(0, 16);
  const auto size = static_cast<std::uint32_t>(frame.size());
  std::memcpy(pause.data() + 8, &size, 4);
  std::memcpy(pause.data() + 12, &size, 4);
  return pause + frame;
}

}  // namespace congested

// `plain`: a pcap file whose server has an address that ends with .1. Marks the packets of the
// client for which `marks` is true, by their number in the file, and puts a CNP of the server
// behind each of its ACKs that follow a marked packet, and `pauses` pause frames at the end.
template <typename Marks>
CongestedCapture congested_capture(const std::string& plain, Marks marks, std::uint64_t pauses) {
  using congested::kIpAt;
  constexpr int kAckOpcode = 0x11;
  const char server = 1;
  CongestedCapture made;
  e2e::PcapEdit edit(plain);
  std::vector<std::string> records;
  records.swap(edit.records);
  bool answered = true;
  for (std::size_t i = 0; i < records.size(); ++i) {
    std::string& record = records[i];
    const int opcode = e2e::PcapEdit::opcode(record);
    if (opcode >= 0 && opcode < 0x20 && record[kIpAt + 15] != server && marks(i)) {
      record[kIpAt + 1] = 3;
      ++made.marked;
      answered = false;
    }
    edit.records.push_back(record);
    if (opcode == kAckOpcode && record[kIpAt + 15] == server && !answered) {
      edit.records.push_back(congested::cnp_like(record));
      ++made.cnps;
      answered = true;
    }
  }
  for (; made.pauses != pauses; ++made.pauses) {
    edit.records.push_back(congested::pause_like(edit.records.back()));
  }
  made.file = edit.file();
  return made;
}

}  // namespace rpcrdma::testing
