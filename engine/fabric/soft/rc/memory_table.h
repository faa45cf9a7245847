// The memory of an adapter: regions for local work requests, and handles advertised to peers. A
// handle belongs to one queue pair, has bounds and access rights, and is checked for every packet.
// So from the moment it is invalidated nothing is read or written through it, whatever is in
// flight.
#pragma once

#include "slices.h"

#include <cstdint>
#include <span>
#include <vector>

#include <rpcrdma/fabric/provider.h>

namespace rpcrdma::soft {

// The owner of handles: a queue pair, which contains this.
struct HandleOwner {
  std::uint32_t qpn = 0;    // never 0 for an owner of handles
  std::uint32_t first = 0;  // its first handle; used by the table only
  std::uint32_t count = 0;
};

class MemoryTable {
 public:
  // Errors: kBadArgument, kNoRoom.
  [[nodiscard]] fabric::Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory);
  void deregister_memory(std::uint32_t local_key);
  [[nodiscard]] bool is_local(const fabric::Slice& slice) const;
  // Stores the memory of a work request in `all`. Error kBadArgument: too many slices, too many
  // bytes, or a slice outside registered memory.
  [[nodiscard]] fabric::Expected<void> local(std::span<const fabric::Slice> slices,
                                             Slices& all) const;

  // Errors: kBadArgument, kNoRoom.
  [[nodiscard]] fabric::Expected<fabric::MemoryRegion> advertise(HandleOwner& owner,
                                                                 const fabric::Memory& memory,
                                                                 std::uint8_t* data,
                                                                 std::uint32_t length,
                                                                 fabric::Access access);
  // Returns false if the owner has no such handle.
  bool invalidate(HandleOwner& owner, std::uint32_t handle);
  void invalidate_all(HandleOwner& owner);

  // Returns the address of `length` bytes from `offset` on; null if the access is not allowed.
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
    std::uint32_t next = 0;      // the owner's next handle: an index + 1, or 0
    std::uint32_t previous = 0;  // the owner's previous handle, likewise
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
