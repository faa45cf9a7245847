#include "files.h"

#include <algorithm>
#include <optional>

#include <rpcrdma/host/sunrpc.h>

namespace rpcrdma::host {

namespace {

constexpr std::size_t kMostSwitches = 4096;
constexpr std::size_t kMostInSwitch = 256;
constexpr std::size_t kMostTransportsInAll = 8192;
constexpr std::size_t kMostSunrpcBytes = 4096;
constexpr std::size_t kMostFields = 64;
constexpr std::size_t kMostAddressBytes = 128;

// Lines "num_xprts=4". What is not a number, such as a negative one, is left out.
std::vector<Counter> read_fields(const std::string& path, std::uint64_t& left_out) {
  std::vector<Counter> all;
  const auto text = read_file(path, kMostSunrpcBytes);
  if (!text) return all;  // a transport that is not connected has none
  std::string_view rest = trimmed(*text);
  while (!rest.empty()) {
    std::string_view line = take_until(rest, '\n');
    const std::string_view name = take_until(line, '=');
    const auto value = whole_number(trimmed(line));
    if (!value || !is_plain_name(name) || all.size() == kMostFields ||
        std::ranges::find(all, name, &Counter::name) != all.end()) {
      ++left_out;
    } else {
      all.push_back({std::string(name), *value});
    }
  }
  return all;
}

std::string read_address(const std::string& path) {
  const auto text = read_file(path, kMostSunrpcBytes);
  return text ? std::string(trimmed(*text).substr(0, kMostAddressBytes)) : std::string();
}

// "state=LOCKED CONNECTED  BOUND", with a blank for each that is not set.
std::vector<std::string> read_states(const std::string& path, std::uint64_t& left_out) {
  std::vector<std::string> all;
  const auto text = read_file(path, kMostSunrpcBytes);
  if (!text) return all;
  std::string_view rest = trimmed(*text);
  if (take_until(rest, '=') != "state") {
    ++left_out;
    return all;
  }
  while (!rest.empty()) {
    const std::string_view word = take_until(rest, ' ');
    if (word.empty()) continue;
    if (!is_plain_name(word) || all.size() == kMostFields) {
      ++left_out;
    } else {
      all.emplace_back(word);
    }
  }
  return all;
}

// The number after `prefix`, which is removed from `name` with it.
std::optional<std::uint64_t> take_number(std::string_view& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  return whole_number(take_until(name, '-'));
}

SunrpcSwitch read_switch(const std::string& folder, std::size_t room, std::uint64_t& left_out) {
  SunrpcSwitch s;
  s.info = read_fields(folder + "/xprt_switch_info", left_out);
  const auto names = list_folder(folder, kMostInSwitch, left_out);
  if (!names) return s;
  for (const std::string& name : *names) {
    // "xprt-3-rdma"
    std::string_view rest = name;
    const auto number = take_number(rest, "xprt-");
    if (!number) continue;
    if (!is_plain_name(rest) || s.transports.size() == room) {
      ++left_out;
      continue;
    }
    const std::string at = folder + "/" + name;
    SunrpcTransport t;
    t.number = *number;
    t.protocol = rest;
    t.destination = read_address(at + "/dstaddr");
    t.source = t.protocol == "tcp" ? read_address(at + "/srcaddr") : std::string();
    t.info = read_fields(at + "/xprt_info", left_out);
    t.states = read_states(at + "/xprt_state", left_out);
    s.transports.push_back(std::move(t));
  }
  std::ranges::sort(s.transports, {}, &SunrpcTransport::number);
  return s;
}

}  // namespace

base::Expected<Sunrpc> read_sunrpc(const std::string& sys) {
  Sunrpc all;
  const std::string folder = sys + "/kernel/sunrpc/xprt-switches";
  const auto names = list_folder(folder, kMostSwitches, all.left_out);
  if (!names) return tl::unexpected(names.error());
  std::size_t room = kMostTransportsInAll;
  for (const std::string& name : *names) {
    std::string_view rest = name;
    const auto number = take_number(rest, "switch-");
    if (!number || !rest.empty()) {
      ++all.left_out;
      continue;
    }
    SunrpcSwitch s = read_switch(folder + "/" + name, room, all.left_out);
    s.number = *number;
    room -= s.transports.size();
    all.switches.push_back(std::move(s));
  }
  std::ranges::sort(all.switches, {}, &SunrpcSwitch::number);
  return all;
}

}  // namespace rpcrdma::host
