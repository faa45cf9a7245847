// Moves a window over a regular file, so no page of the file is ever mapped. Mapping the pages of a
// large file costs more than copying them where page tables are expensive, above all in virtual
// machines; and if another process truncates the file, this walk ends where a mapping would raise
// SIGBUS.
#pragma once

#include "window.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::capture {

class WindowFile final : public Window {
 public:
  // `size`: from fstat(). Bytes that the file gains later are not read.
  // `spare`, `first_step`: as for Window.
  WindowFile(base::FileDescriptor fd, std::uint64_t size,
             std::shared_ptr<SpareBuffers> spare = nullptr, std::size_t first_step = kStepBytes);
  [[nodiscard]] bool begin_at(std::uint64_t offset) override;

 private:
  std::size_t read_input(std::span<std::uint8_t> to) override;
  void close_input() override { fd_.reset(); }

  base::FileDescriptor fd_;
};

}  // namespace rpcrdma::capture
