// Splits the output of programs into lines and columns.
#pragma once

#include "tshark.h"

#include <map>
#include <stdexcept>

namespace rpcrdma::wireshark_tests {

using Row = std::vector<std::string>;

inline Row split(const std::string& text, const std::string& by) {
  Row parts;
  std::size_t at = 0;
  for (std::size_t end = 0; (end = text.find(by, at)) != std::string::npos; at = end + by.size()) {
    parts.push_back(text.substr(at, end - at));
  }
  parts.push_back(text.substr(at));
  return parts;
}

inline Row lines(const std::string& text) {
  Row all = split(text, "\n");
  if (all.back().empty()) all.pop_back();
  return all;
}

// Returns a row for each packet with a column for each field of -e; tshark joins the values of one
// packet by commas.
inline std::vector<Row> fields(const std::string& tshark_line) {
  const Result r = tshark("TSHARK -T fields " + tshark_line);
  if (r.status != 0) throw std::runtime_error(tshark_line + ": " + r.err);
  std::vector<Row> rows;
  for (const std::string& line : lines(r.out)) rows.push_back(split(line, "\t"));
  return rows;
}

// Copies a file to a place where tshark can read it.
inline std::string readable(const std::string& name) {
  static std::map<std::string, std::string> copies;
  std::string& copy = copies[name];
  if (copy.empty()) copy = Tshark::instance().copy(capture(name));
  return copy;
}

inline const std::vector<std::string>& nfs_captures() {
  static const std::vector<std::string> names = {"linux-nfs3.pcap", "linux-nfs41.pcap",
                                                 "linux-deleg.pcap"};
  return names;
}

}  // namespace rpcrdma::wireshark_tests
