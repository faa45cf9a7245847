// Reads the stream of a live endpoint in a thread of its own, so that the endpoint's reader queue
// does not fill while what came before is being processed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::trace {

class StreamReader {
 public:
  using Clock = std::chrono::steady_clock;

  // Half a second of a million events per second.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  // `socket`: of connect_endpoint() or connect_packets(); it is not closed, and shut down at the
  // end. At most `most_bytes` wait, and as many are being processed; then it reads no more, and the
  // endpoint counts what this reader loses. Errors: the system has no thread or descriptor left.
  [[nodiscard]] static base::Expected<std::unique_ptr<StreamReader>> start(
      int socket, std::size_t most_bytes = kMostBytes);
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  // Replaces `bytes` by those that have come since the last call, and waits for some. Without any:
  // the deadline has passed, or ended().
  void take(std::vector<std::uint8_t>& bytes, const std::optional<Clock::time_point>& deadline);
  // The stream has ended, and all of it was taken.
  [[nodiscard]] bool ended() const;
  // Why reading failed, as errno; 0: the endpoint ended the stream.
  [[nodiscard]] int error() const;

 private:
  StreamReader(base::FileDescriptor socket, std::size_t most_bytes)
      : socket_(std::move(socket)), most_bytes_(most_bytes) {}
  void run() noexcept;
  bool read(std::vector<std::uint8_t>& buffer);
  void end(int error);

  const base::FileDescriptor socket_;
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint8_t> waiting_;
  bool stop_ = false;
  bool ended_ = false;
  int error_ = 0;
  std::thread thread_;
};

}  // namespace rpcrdma::trace
