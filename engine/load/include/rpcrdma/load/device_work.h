// What an endpoint asked of its RDMA device: posts, completions and registrations, as text and as
// JSON.
#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace rpcrdma::load {

// As verbs::WorkCounters.
struct DeviceWork {
  std::uint64_t send_posts = 0, send_requests = 0, signaled = 0;
  std::uint64_t receive_posts = 0, receive_requests = 0;
  std::uint64_t completions = 0, notifications = 0;
  std::uint64_t registrations = 0, binds = 0, invalidations = 0;

  DeviceWork& operator+=(const DeviceWork& other);
};

// One line, with its newline.
[[nodiscard]] std::string to_text(const DeviceWork& work, std::uint64_t calls);
// One object; docs/load.md describes the keys.
[[nodiscard]] nlohmann::ordered_json to_json(const DeviceWork& work);

}  // namespace rpcrdma::load
