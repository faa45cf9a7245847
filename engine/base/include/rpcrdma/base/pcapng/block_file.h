// Writes a pcapng file block by block. If the file cannot grow, as on a full disk, it still ends
// with a whole block and with statistics that count the missing packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <sys/types.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/pcapng/blocks.h>

namespace rpcrdma::base {

// Writers collect this many bytes before they write.
inline constexpr std::size_t kFlushBytes = std::size_t{256} << 10;
// Packets contain users' data, so no other user may read the file.
inline constexpr mode_t kFileMode = 0600;

class BlockFile {
 public:
  // Continues at the descriptor's current offset. The descriptor may be a pipe.
  explicit BlockFile(FileDescriptor fd);

  // Writes whole blocks. Returns 0, or the errno of a failure; nothing can be written after one.
  [[nodiscard]] int write(std::span<const std::uint8_t> blocks);
  // late_write_error(): call it after the last write.
  [[nodiscard]] int late_error() const;

  // Ends a file after a failed write: removes the incomplete block and appends these statistics in
  // the space already allocated. If that is too small, they replace the last packet, and
  // `statistics` is called a second time. May be called repeatedly. Does nothing to a pipe.
  void end_full(const std::function<PcapngBlocks::Statistics()>& statistics);

  [[nodiscard]] std::uint64_t bytes() const { return whole_; }      // of whole blocks
  [[nodiscard]] std::uint64_t packets() const { return packets_; }  // in the file

 private:
  FileDescriptor fd_;
  std::int64_t base_;        // offset of the first block in the file; -1: it cannot be rewritten
  std::uint64_t whole_ = 0;  // bytes
  std::uint64_t last_packet_ = 0;  // its offset; 0: none
  std::uint64_t packets_ = 0;
  std::size_t torn_ = 0;  // bytes of an incomplete block at the end
};

}  // namespace rpcrdma::base
