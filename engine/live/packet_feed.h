// The packets of an endpoint's providers in user space, for those who read them live: a socket
// beside that of the events, and a thread of its own, since there may be very many. It sleeps while
// nobody reads, and the providers leave nothing in their rings.
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
    std::size_t ring_bytes = 0;    // of each tap, a power of two
    std::size_t reader_bytes = 0;  // that may wait for one reader
  };

  // Errors: the system has no thread or descriptor left.
  [[nodiscard]] static base::Expected<std::unique_ptr<PacketFeed>> start(ListeningSocket socket,
                                                                         Options options);
  // Tells each reader the sums, and ends all streams; who does not read is waited for a quarter of
  // a second.
  ~PacketFeed();
  PacketFeed(const PacketFeed&) = delete;
  PacketFeed& operator=(const PacketFeed&) = delete;

  // Any thread. It outlives this.
  void add(PacketTap& tap);
  [[nodiscard]] std::string path() const { return path_; }

 private:
  PacketFeed(ListeningSocket socket, Options options, base::Wakeup wakeup);

  // The thread's.
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
  std::atomic<std::uint64_t> lost_{0};  // by readers, whose streams tell it to them
  ReaderGroup readers_;
  std::vector<LiveReader*> welcomed_;  // of those, who gets what comes
  bool listening_ = false;
  std::vector<pollfd> watched_;

  std::thread thread_;
};

}  // namespace rpcrdma::trace
