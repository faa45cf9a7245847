// A file mapped as a whole and walked once from front to back, of which only a window of some MiB
// is resident: each step faults the next piece in with one call, since single page faults would
// cost more than all the rest of the walk, and gives back what lies behind the cursor.
//
// A file that another process cuts short would raise SIGBUS at the first access behind its new end.
// Each step therefore looks at the size again and goes no further than that, and faulting pages in
// by madvise() gives an error where an access would give the signal. What remains: a file cut
// within the window in use, between a step and the access. Closing that gap takes a copy of every
// byte, or a signal handler, which is for a program to install and not for a library.
#pragma once

#include "feed.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include <rpcrdma/capture/error.h>
#include <rpcrdma/capture/file_descriptor.h>

namespace rpcrdma::capture {

class MappedFile final : public Feed {
 public:
  // `size`: as fstat() gave it, not zero. Null when the file cannot be mapped (a file system
  // without mmap, an address space limit): it can still be read as a stream.
  [[nodiscard]] static std::unique_ptr<MappedFile> map(FileDescriptor& fd, std::uint64_t size);
  ~MappedFile() override;
  [[nodiscard]] bool stays() const override { return true; }
  [[nodiscard]] bool begin_at(std::uint64_t offset) override;

 private:
  MappedFile(FileDescriptor fd, std::uint8_t* map, std::size_t size);
  bool refill(std::size_t n) override;
  void close_input() override { fd_.close(); }
  bool check_size();
  bool populate(std::size_t from, std::size_t to);
  void release_behind(std::size_t offset);

  FileDescriptor fd_;
  std::uint8_t* map_;
  std::size_t mapped_;        // bytes
  std::size_t size_;          // of the file as last seen, never more than mapped_
  std::size_t released_ = 0;  // everything before this offset was given back
  bool can_populate_ = true;
};

}  // namespace rpcrdma::capture
