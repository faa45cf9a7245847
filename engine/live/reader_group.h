// The live socket and all its readers.
#pragma once

#include "reader_queue.h"
#include "sink.h"
#include "socket_file.h"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include <poll.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/live/endpoints.h>

namespace rpcrdma::trace {

// A reader of the live socket. It is written to as fast as it reads. If it does not read, its queue
// fills, without an effect on others.
class LiveReader final : public Sink {
 public:
  // `fd`: connected, non-blocking. `interface`: its name in the stream. `lost`: counts the events
  // that this reader does not get; must outlive it.
  LiveReader(base::FileDescriptor fd, std::string interface, std::size_t most_bytes,
             std::atomic<std::uint64_t>& lost, Content content = Content::kEvents);

  void begin(std::span<const std::uint8_t> endpoint, std::int64_t wall_offset) override;
  void take(const EventBatch& batch) override;
  [[nodiscard]] bool has_room() const override { return queue_.has_room(); }
  void emit_sums(std::int64_t now) override;
  void end(std::int64_t now) override;
  [[nodiscard]] bool over() const override { return gone_; }

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Returns whether there are bytes that it has not read yet.
  [[nodiscard]] bool waits() const { return !gone_ && !queue_.waiting().empty(); }
  // Stops sending to it.
  void give_up() override { gone_ = true; }
  // Called when it has read, or has disconnected (`hung_up`).
  void on_poll(bool hung_up, std::int64_t now);

 private:
  void send();

  base::FileDescriptor fd_;
  const std::string interface_;
  const Content content_;
  std::atomic<std::uint64_t>& lost_;
  ReaderQueue queue_;
  bool gone_ = false;
};

class ReaderGroup {
 public:
  // `lost`: counts the events that readers do not get, including readers that have disconnected.
  ReaderGroup(ListeningSocket socket, std::string interface, std::size_t reader_bytes,
              std::atomic<std::uint64_t>& lost, Content content = Content::kEvents)
      : socket_(std::move(socket)),
        interface_(std::move(interface)),
        reader_bytes_(reader_bytes),
        lost_(lost),
        content_(content) {}

  [[nodiscard]] std::string path() const { return socket_.path(); }
  [[nodiscard]] const std::vector<std::unique_ptr<LiveReader>>& readers() const { return readers_; }

  // Adds the descriptors that poll(2) must watch.
  void add_to(std::vector<pollfd>& watched);
  // `watched`: the entries that add_to() added. Returns whether there is a connection to accept.
  [[nodiscard]] bool on_poll(std::span<const pollfd> watched, std::int64_t now);
  // Calls `welcome` with each new reader.
  void accept(const std::function<void(LiveReader&)>& welcome);
  // Accepts again after the process had too many open files.
  void tick() { may_accept_ = true; }
  // Removes readers that have disconnected.
  void sweep();
  // Waits until all readers have read their queues, or until `deadline`.
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

// Returns whether a connected process may read: the same user, or root.
[[nodiscard]] bool may_read(int fd);

}  // namespace rpcrdma::trace
