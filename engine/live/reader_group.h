// The live socket and all who read it.
#pragma once

#include "live_reader.h"
#include "socket_file.h"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include <poll.h>

#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::trace {

class ReaderGroup {
 public:
  // `lost`: counts what readers do not get, also those that have gone since.
  ReaderGroup(ListeningSocket socket, std::string interface, std::size_t reader_bytes,
              std::atomic<std::uint64_t>& lost, Content content = Content::kEvents)
      : socket_(std::move(socket)),
        interface_(std::move(interface)),
        reader_bytes_(reader_bytes),
        lost_(lost),
        content_(content) {}

  [[nodiscard]] std::string path() const { return socket_.path(); }
  [[nodiscard]] const std::vector<std::unique_ptr<LiveReader>>& readers() const { return readers_; }

  // What poll(2) is to watch.
  void add_to(std::vector<pollfd>& watched);
  // `watched`: what add_to() has added. True: somebody wants to connect.
  [[nodiscard]] bool on_poll(std::span<const pollfd> watched, std::int64_t now);
  // `welcome` gets each new reader.
  void accept(const std::function<void(LiveReader&)>& welcome);
  // Accepting is tried again, where the process had too many files open.
  void tick() { may_accept_ = true; }
  // Those who have gone are forgotten.
  void sweep();
  // Until all have read what waits for them, or until then.
  void wait_for_all(std::int64_t deadline);

 private:
  ListeningSocket socket_;
  const std::string interface_;
  const std::size_t reader_bytes_;
  std::atomic<std::uint64_t>& lost_;
  const Content content_;
  std::vector<std::unique_ptr<LiveReader>> readers_;
  bool may_accept_ = true;
};

// Whether one who has connected may read: the same user, or root.
[[nodiscard]] bool may_read(int fd);

}  // namespace rpcrdma::trace
