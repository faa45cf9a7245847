// Memory that an adapter knows: what local work requests may use, and what is exposed to peers. A
// handle belongs to one queue pair, has bounds and rights, and is checked for every packet; so from
// the moment it is withdrawn on nothing is read or written through it, whatever is under way.
#pragma once

#include "slices.h"

#include <cstdint>
#include <span>
#include <vector>

#include <rpcrdma/fabric/provider.h>

namespace rpcrdma::soft {

// To whom handles belong: a queue pair, which keeps it.
struct HandleOwner {
  std::uint32_t qpn = 0;    // never 0 of one that owns any
  std::uint32_t first = 0;  // of its handles; the table's business
  std::uint32_t count = 0;
};

class MemoryTable {
 public:
  // Errors: kBadArgument, kNoRoom.
  [[nodiscard]] fabric::Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory);
  void deregister_memory(std::uint32_t local_key);
  [[nodiscard]] bool is_local(const fabric::Slice& slice) const;
  // The memory of a work request into `all`. Error kBadArgument: too many slices, too many bytes,
  // or a slice outside of what is remembered.
  [[nodiscard]] fabric::Expected<void> local(std::span<const fabric::Slice> slices,
                                             Slices& all) const;

  // Errors: kBadArgument, kNoRoom.
  [[nodiscard]] fabric::Expected<fabric::MemoryRegion> advertise(HandleOwner& owner,
                                                                 const fabric::Memory& memory,
                                                                 std::uint8_t* data,
                                                                 std::uint32_t length,
                                                                 fabric::Access access);
  // False: the owner has no such handle.
  bool invalidate(HandleOwner& owner, std::uint32_t handle);
  void invalidate_all(HandleOwner& owner);

  // Where `length` bytes from `offset` on lie; null when they may not be accessed so.
  [[nodiscard]] std::uint8_t* find(std::uint32_t qpn, std::uint32_t handle, std::uint64_t offset,
                                   std::uint64_t length, fabric::Access access) const;

  [[nodiscard]] std::size_t advertised() const { return advertised_; }

 private:
  struct Local {
    std::uint8_t* data = nullptr;
    std::size_t length = 0;
    std::uint8_t key = 0;
  };
  struct Handle {
    std::uint8_t* data = nullptr;
    std::uint64_t offset = 0;
    std::uint32_t length = 0;
    std::uint32_t qpn = 0;  // 0: free
    fabric::Access access{};
    std::uint8_t key = 0;
    std::uint32_t next = 0;      // of the same owner: an index + 1, or 0
    std::uint32_t previous = 0;  // the same
  };
  [[nodiscard]] const Handle* get(std::uint32_t qpn, std::uint32_t handle) const;

  std::vector<Local> locals_;
  std::vector<std::uint32_t> free_locals_;
  std::vector<Handle> handles_;
  std::vector<std::uint32_t> free_handles_;
  std::uint64_t serial_ = 0;
  std::size_t advertised_ = 0;
};

}  // namespace rpcrdma::soft
