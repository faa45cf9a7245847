#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <rpcrdma/base/pcapng/block_file.h>
#include <rpcrdma/base/pcapng/read_blocks.h>
#include <rpcrdma/base/write_all.h>

namespace rpcrdma::base {
namespace {

// Returns the current offset, or -1 if written data cannot be changed.
std::int64_t place_in(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  return flags < 0 || (flags & O_APPEND) != 0 ? -1 : ::lseek(fd, 0, SEEK_CUR);
}

}  // namespace

BlockFile::BlockFile(FileDescriptor fd) : fd_(std::move(fd)), base_(place_in(fd_.get())) {}

int BlockFile::write(std::span<const std::uint8_t> blocks) {
  const Written done = write_all(fd_.get(), blocks);
  const std::size_t written = done.bytes;
  for (std::size_t at = 0; at < blocks.size();) {
    const std::size_t length = pcapng::word(blocks, at + pcapng::kLengthAt);
    if (length > written - at) break;
    if (pcapng::word(blocks, at) == pcapng::kEnhancedPacket) {
      last_packet_ = whole_;
      ++packets_;
    }
    whole_ += length;
    at += length;
    torn_ = written - at;
  }
  if (written < blocks.size() && pcapng::word(blocks, pcapng::kLengthAt) > written) torn_ = written;
  return done.error;
}

int BlockFile::late_error() const {
  return late_write_error(fd_.get());
}

void BlockFile::end_full(const std::function<PcapngBlocks::Statistics()>& statistics) {
  if (base_ < 0) return;
  PcapngBlocks blocks;
  blocks.statistics(statistics());
  const std::size_t bytes = blocks.bytes().size();
  if (torn_ < bytes && last_packet_ != 0) {
    torn_ += whole_ - last_packet_;
    whole_ = std::exchange(last_packet_, 0);
    --packets_;
    blocks.clear();
    blocks.statistics(statistics());
  }
  const std::int64_t end = base_ + static_cast<std::int64_t>(whole_);
  const bool done =
      ::pwrite(fd_.get(), blocks.bytes().data(), bytes, end) == static_cast<ssize_t>(bytes);
  [[maybe_unused]] const int cut =
      ::ftruncate(fd_.get(), end + static_cast<std::int64_t>(done ? bytes : 0));
}

}  // namespace rpcrdma::base
