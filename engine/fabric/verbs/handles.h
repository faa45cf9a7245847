// The handles that peers have: memory windows of type 2 where the device has them, which are used
// again and again, or registrations of their own.
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
  ~Handles();  // none is in use
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  [[nodiscard]] bool windows() const { return windows_; }

  // A window for the connection `owner`, whose handle is to be that of bind_window(). Null: the
  // device has no more; errno tells why. Allocates only when all that there are are in use.
  struct Window {
    ibv_mw* window = nullptr;
    std::uint32_t handle = 0;  // the next
  };
  [[nodiscard]] Window take_window(std::uint32_t owner);
  // A registration. Null: errno tells why.
  [[nodiscard]] ibv_mr* register_memory(std::uint32_t owner, void* data, std::size_t length,
                                        int access);

  // It is going to be invalidated; false: the connection has no such handle.
  [[nodiscard]] bool begin_end(std::uint32_t owner, std::uint32_t handle);
  // It is invalid: its window is free, its registration gone. False: it was not the connection's.
  bool end(std::uint32_t owner, std::uint32_t handle);
  // All of a connection's, whatever state they are in, before its queue pair is destroyed: windows
  // that are bound refer to that.
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
  // The lower byte of a window's handle is another one each time that it is bound.
  [[nodiscard]] static std::uint32_t key_of(std::uint32_t handle) { return handle >> 8U; }
  [[nodiscard]] Entry* find(std::uint32_t owner, std::uint32_t handle);
  static void give_up(const Entry& entry);

  ibv_pd* const domain_;
  const bool windows_;
  std::unordered_map<std::uint32_t, Entry> entries_;
  std::vector<std::uint32_t> free_;                       // keys of windows
  std::unordered_map<std::uint32_t, std::size_t> count_;  // of each owner
};

}  // namespace rpcrdma::verbs
