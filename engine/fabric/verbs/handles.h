// The handles that peers use: memory windows of type 2 if the device has them, which are reused, or
// otherwise a registration for each handle.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <infiniband/verbs.h>

#include <rpcrdma/fabric/error.h>

namespace rpcrdma::verbs {

class Handles {
 public:
  // Without `windows` each handle is a registration.
  Handles(ibv_pd* domain, bool windows) : domain_(domain), windows_(windows) {}
  ~Handles();  // no handle may be in use
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  [[nodiscard]] bool windows() const { return windows_; }

  // Returns a window for the connection `owner`; bind_window() determines its handle. Null: the
  // device has no more, see errno. Allocates only if all existing windows are in use.
  struct Window {
    ibv_mw* window = nullptr;
    std::uint32_t handle = 0;  // after the next binding
  };
  [[nodiscard]] Window take_window(std::uint32_t owner);
  // Registers memory for one handle. Null: see errno.
  [[nodiscard]] ibv_mr* register_memory(std::uint32_t owner, void* data, std::size_t length,
                                        int access);

  // Call before an invalidation is posted. False: the connection has no such handle.
  [[nodiscard]] bool begin_end(std::uint32_t owner, std::uint32_t handle);
  // Call after an invalidation: frees the window or ends the registration. False: the handle was
  // not the connection's.
  bool end(std::uint32_t owner, std::uint32_t handle);
  // Ends all handles of a connection, in whatever state, before its queue pair is destroyed: bound
  // windows refer to it.
  void end_all(std::uint32_t owner);

  [[nodiscard]] std::size_t of(std::uint32_t owner) const;

 private:
  static constexpr std::uint32_t kFree = 0;
  struct Entry {
    ibv_mw* window = nullptr;
    ibv_mr* registration = nullptr;
    std::uint32_t owner = kFree;
    std::uint32_t handle = 0;
    bool ending = false;
  };
  // The lower byte of a window's handle changes with each binding.
  [[nodiscard]] static std::uint32_t key_of(std::uint32_t handle) { return handle >> 8U; }
  [[nodiscard]] Entry* find(std::uint32_t owner, std::uint32_t handle);
  static void give_up(const Entry& entry);

  ibv_pd* const domain_;
  const bool windows_;
  std::unordered_map<std::uint32_t, Entry> entries_;
  std::vector<std::uint32_t> free_;                       // keys of windows
  std::unordered_map<std::uint32_t, std::size_t> count_;  // handles of each owner
};

}  // namespace rpcrdma::verbs
