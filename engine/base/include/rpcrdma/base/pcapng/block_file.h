// A pcapng file that is being written, block by block. One that can take no more, as on a full
// disk, still says so: it ends with a whole block, and with statistics of what is missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <sys/types.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/pcapng/blocks.h>

namespace rpcrdma::base {

// Writers gather this much before they write it.
inline constexpr std::size_t kFlushBytes = std::size_t{256} << 10;
// Packets hold what users read and write: nobody else may read the file.
inline constexpr mode_t kFileMode = 0600;

class BlockFile {
 public:
  // From where the descriptor stands. It may be a pipe, too.
  explicit BlockFile(FileDescriptor fd);

  // Whole blocks. 0, or the errno of why not all could be written; then nothing can follow.
  [[nodiscard]] int write(std::span<const std::uint8_t> blocks);

  // Of one that could not take all: cuts off what is no whole block, and puts these statistics
  // behind the others, where the file has room already: instead of the last packet if there is too
  // little, and then they are asked for again. May be called again. Nothing is done to a pipe.
  void end_full(const std::function<PcapngBlocks::Statistics()>& statistics);

  [[nodiscard]] std::uint64_t bytes() const { return whole_; }      // in whole blocks
  [[nodiscard]] std::uint64_t packets() const { return packets_; }  // that are in the file

 private:
  FileDescriptor fd_;
  std::int64_t base_;        // where it begins in the file; -1: nowhere that can be written again
  std::uint64_t whole_ = 0;  // bytes
  std::uint64_t last_packet_ = 0;  // where it begins; 0: there is none
  std::uint64_t packets_ = 0;
  std::size_t torn_ = 0;  // bytes behind the whole blocks
};

}  // namespace rpcrdma::base
