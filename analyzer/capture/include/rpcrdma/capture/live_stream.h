// What comes from a live endpoint, taken as far as it is there, without waiting for more.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <rpcrdma/capture/file_descriptor.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/capture/whole_blocks.h>

namespace rpcrdma::capture {

class LiveStream {
 public:
  // Of trace::connect_endpoint().
  explicit LiveStream(FileDescriptor fd);

  // To wait for; -1 when nothing more will come.
  [[nodiscard]] int fd() const { return fd_.get(); }

  // Reads once, and gives `take` each frame that is whole; valid during the call. Some hundred KiB
  // at most, so the caller is soon back.
  void read(const std::function<void(const Frame&)>& take);

  // Why nothing more comes, unless the endpoint itself has ended the stream.
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  void end(std::string why);
  void parse(std::span<const std::uint8_t> blocks, const std::function<void(const Frame&)>& take);

  FileDescriptor fd_;
  WholeBlocks blocks_;
  std::vector<std::uint8_t> buffer_;
  // The section's and interface's blocks, and room behind them: with them, any later blocks are a
  // capture.
  std::vector<std::uint8_t> capture_;
  std::size_t head_ = 0;  // bytes of those blocks
  bool head_whole_ = false;
  std::string why_;
};

}  // namespace rpcrdma::capture
