#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/load/device_work.h>

namespace rpcrdma::load {

namespace {

constexpr std::array<std::pair<const char*, std::uint64_t DeviceWork::*>, 10> kCounts{{
    {"send_posts", &DeviceWork::send_posts},
    {"send_requests", &DeviceWork::send_requests},
    {"signaled", &DeviceWork::signaled},
    {"receive_posts", &DeviceWork::receive_posts},
    {"receive_requests", &DeviceWork::receive_requests},
    {"completions", &DeviceWork::completions},
    {"notifications", &DeviceWork::notifications},
    {"registrations", &DeviceWork::registrations},
    {"binds", &DeviceWork::binds},
    {"invalidations", &DeviceWork::invalidations},
}};

}  // namespace

DeviceWork& DeviceWork::operator+=(const DeviceWork& other) {
  for (const auto& [name, count] : kCounts) this->*count += other.*count;
  return *this;
}

std::string to_text(const DeviceWork& w, std::uint64_t calls) {
  const auto each = [&](std::uint64_t count) {
    return calls == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(calls);
  };
  return fmt::format(
      "device, per Call: {:.2f} posts of {:.2f} requests, {:.2f} signaled; {:.2f} posts of {:.2f} "
      "Receives; {:.2f} completions, {:.2f} notifications; {:.2f} registrations, {:.2f} windows "
      "bound, {:.2f} invalidated\n",
      each(w.send_posts), each(w.send_requests), each(w.signaled), each(w.receive_posts),
      each(w.receive_requests), each(w.completions), each(w.notifications), each(w.registrations),
      each(w.binds), each(w.invalidations));
}

nlohmann::ordered_json to_json(const DeviceWork& work) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, count] : kCounts) json[name] = work.*count;
  return json;
}

}  // namespace rpcrdma::load
