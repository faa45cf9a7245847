// Serves the packets of an endpoint's user-space providers to live readers, through a socket of
// their own next to that of the events. It has a thread of its own, since there may be very many
// packets. Without a reader the thread sleeps and the providers write nothing to their rings.
#pragma once

#include "poll_interval.h"
#include "reader_group.h"
#include "ring_drainer.h"

#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <rpcrdma/base/wakeup.h>

namespace rpcrdma::trace {

class PacketFeed {
 public:
  struct Options {
    std::string interface;         // its name in the streams
    std::size_t ring_bytes = 0;    // per tap, a power of two
    std::size_t reader_bytes = 0;  // that may wait for one reader
  };

  // Errors: the system has no thread or descriptor left.
  [[nodiscard]] static base::Expected<std::unique_ptr<PacketFeed>> start(ListeningSocket socket,
                                                                         Options options);
  // Sends each reader its sums and ends all streams. Waits up to a quarter of a second for readers
  // that do not read.
  ~PacketFeed();
  PacketFeed(const PacketFeed&) = delete;
  PacketFeed& operator=(const PacketFeed&) = delete;

  // Any thread. `tap` must outlive this.
  void add(PacketTap& tap);
  [[nodiscard]] std::string path() const { return path_; }

 private:
  PacketFeed(ListeningSocket socket, Options options, base::Wakeup wakeup);

  // Used by the feed's thread only.
  void run();
  [[nodiscard]] bool take_news();
  [[nodiscard]] bool reads() const { return !readers_.readers().empty(); }
  void listen(bool on);
  double pass(bool to_readers = true);
  void add_to_drainer(PacketTap& tap);
  void welcome(LiveReader& reader);
  void sweep();
  void wait(std::int64_t ns);
  void end();
  template <typename Function>
  void or_give_up(Function&& function);

  const Options options_;
  const std::string path_;
  const base::Wakeup wakeup_;

  std::mutex mutex_;
  bool stop_ = false;
  std::vector<PacketTap*> new_taps_;

  std::vector<PacketTap*> taps_;
  RingDrainer drainer_;
  PollInterval poll_interval_;
  std::atomic<std::uint64_t> lost_{0};  // to readers; each stream states its own share
  ReaderGroup readers_;
  std::vector<LiveReader*> welcomed_;  // those whose stream has started
  bool listening_ = false;
  std::vector<pollfd> watched_;

  std::thread thread_;
};

}  // namespace rpcrdma::trace
