// The user-space provider: connects the fabric interface to an adapter, a UDP socket, a timer, the
// faults and the packet log.
#include "rc/slices.h"
#include "trace_hooks.h"
#include "udp/link_mtu.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/fabric/out_of_memory.h>
#include <rpcrdma/soft/fault_gate.h>
#include <rpcrdma/soft/frame.h>
#include <rpcrdma/soft/packet_log.h>
#include <rpcrdma/soft/provider.h>
#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>

namespace rpcrdma::soft {

using fabric::Errc;
using fabric::Expected;
using fabric::Time;

namespace {

// Buffers received before their requests are answered.
constexpr int kBatchesAtOnce = 8;
// Calls of progress() without sleep after which the owner is assumed to poll.
constexpr int kPolls = 16;
// A few round trips on one processor.
constexpr Time kSoon = 50 * fabric::kMicrosecond;

tl::unexpected<fabric::Error> system_error(const char* what) {
  return fabric::fail(Errc::kSystem, fmt::format("{}: {}", what, std::strerror(errno)));
}

class SoftConnection : public fabric::Connection {
 public:
  SoftConnection(Adapter& adapter, ConnectionId id) : adapter_(adapter), id_(id) {}
  ~SoftConnection() override { adapter_.destroy(id_, base::monotonic_ns()); }
  SoftConnection(const SoftConnection&) = delete;
  SoftConnection& operator=(const SoftConnection&) = delete;

  Expected<std::size_t> post_send(std::span<const fabric::SendRequest> requests) override {
    return adapter_.post_send(id_, requests);
  }
  Expected<std::size_t> post_receive(std::span<const fabric::ReceiveRequest> requests) override {
    return adapter_.post_receive(id_, requests);
  }
  Expected<fabric::MemoryRegion> advertise(std::uint64_t /*id*/, const fabric::Memory& memory,
                                           std::uint8_t* data, std::uint32_t length,
                                           fabric::Access access) override {
    return adapter_.advertise(id_, memory, data, length, access);
  }
  Expected<void> invalidate(std::uint64_t id, std::uint32_t handle) override {
    return adapter_.invalidate(id_, id, handle);
  }
  Expected<void> accept(const fabric::ConnectionOptions& options) override {
    return adapter_.accept(id_, options, base::monotonic_ns());
  }
  Expected<void> reject(std::span<const std::uint8_t> private_data) override {
    return adapter_.reject(id_, private_data, base::monotonic_ns());
  }
  void disconnect() override { adapter_.disconnect(id_, base::monotonic_ns()); }

 private:
  Adapter& adapter_;
  ConnectionId id_;
};

class SoftListener : public fabric::Listener {
 public:
  SoftListener(Adapter& adapter, UdpSocket& socket, std::uint16_t port)
      : adapter_(adapter), socket_(socket), port_(port) {}
  ~SoftListener() override {
    adapter_.unlisten(port_, base::monotonic_ns());
    socket_.release_port(port_);
  }
  SoftListener(const SoftListener&) = delete;
  SoftListener& operator=(const SoftListener&) = delete;

 private:
  Adapter& adapter_;
  UdpSocket& socket_;
  std::uint16_t port_;
};

class Soft : public SoftProvider {
 public:
  Soft(const ProviderOptions& options, UdpSocket socket, std::unique_ptr<PacketLog> log,
       const Secret& secret)
      : limits_{.message = kMaxMessage,
                .read_slices = fabric::kMaxSlices,
                .sends_invalidate = true,
                .accepts_invalidate = true,
                .sees_peer_operations = options.adapter.tracer != nullptr,
                .holds_first_message = true},
        adapter_(options.adapter, secret),
        tracer_(options.adapter.tracer),
        log_(std::move(log)),
        socket_(std::move(socket)),
        faults_(options.faults) {
    if (log_ != nullptr) socket_.log_to(log_.get());
    if (tracer_ != nullptr) socket_.show_to(&tracer_->packets());
  }

  Expected<void> watch() {
    epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (epoll_.get() < 0) return system_error("epoll_create1");
    timer_.reset(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    if (timer_.get() < 0) return system_error("timerfd_create");
    epoll_event event{};
    event.events = EPOLLIN;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &event) != 0 ||
        !watch_socket(EPOLLIN)) {
      return system_error("epoll_ctl");
    }
    return watch_more();
  }

  std::unique_ptr<PacketLog> log_to(std::unique_ptr<PacketLog> log) override {
    socket_.log_to(log.get());
    return std::exchange(log_, std::move(log));
  }

  const fabric::Limits& limits() const override { return limits_; }

  Expected<fabric::Memory> register_memory(std::span<std::uint8_t> memory) override {
    auto registered = adapter_.register_memory(memory);
    if (registered && trace::on(tracer_)) {
      trace_registration(*tracer_, *registered, true, base::monotonic_ns());
    }
    return registered;
  }
  void deregister_memory(const fabric::Memory& memory) override {
    adapter_.deregister_memory(memory);
    if (trace::on(tracer_)) trace_registration(*tracer_, memory, false, base::monotonic_ns());
  }

  Expected<std::unique_ptr<fabric::Listener>> listen(std::uint16_t port,
                                                     std::uint64_t cookie) override {
    const auto claimed = socket_.claim_port(port);
    if (!claimed) return tl::unexpected(claimed.error());
    const auto done = watch_more().and_then([&] { return adapter_.listen(port, cookie); });
    if (!done) {
      socket_.release_port(port);
      return tl::unexpected(done.error());
    }
    return std::unique_ptr<fabric::Listener>(
        std::make_unique<SoftListener>(adapter_, socket_, port));
  }

  Expected<std::unique_ptr<fabric::Connection>> connect(
      const fabric::Address& peer, std::uint16_t port,
      const fabric::ConnectionOptions& options) override {
    const Time now = base::monotonic_ns();
    const auto id = adapter_.connect(peer, port, options, now);
    if (!id) return tl::unexpected(id.error());
    try {
      return std::unique_ptr<fabric::Connection>(std::make_unique<SoftConnection>(adapter_, *id));
    } catch (const std::bad_alloc&) {
      adapter_.destroy(*id, now);
      return fabric::fail(Errc::kSystem, fabric::kOutOfMemory);
    }
  }

  int fd() const override { return epoll_.get(); }

  bool arm() override {
    const Time now = base::monotonic_ns();
    polls_ = 0;
    bool sent = send(now);
    if (anything_to_poll()) return false;
    adapter_.owner_sleeps(true);
    // Cannot fail: this one descriptor was in the epoll set before.
    (void)watch_socket(sent ? EPOLLIN : EPOLLIN | EPOLLOUT);
    // A message that postpones the deadline does not reset the timer: most do. But once it would
    // fire soon, that costs less than an interrupt.
    adapter_.update_deadlines(now + kSoon);
    const Time due = deadline();
    const bool fires_early = timer_set_ < due && timer_set_ < now + kSoon;
    if (due < timer_set_ || timer_set_ <= now || fires_early ||
        (due == fabric::kNever && timer_set_ != due)) {
      itimerspec when{};
      if (due != fabric::kNever) {
        // The kernel interprets 0 as "never".
        const Time at = std::max<Time>(due, 1);
        when.it_value.tv_sec = at / fabric::kSecond;
        when.it_value.tv_nsec = at % fabric::kSecond;
      }
      ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
      timer_set_ = due;
    }
    return true;
  }

  void progress() override {
    // Each arriving packet notifies the epoll instance, which costs about a tenth of the packet.
    if (watched_ != 0 && ++polls_ > kPolls) {
      (void)watch_socket(0);
      adapter_.owner_sleeps(false);
    }
    Time now = base::monotonic_ns();
    send(now);
    bool more = true;
    for (int i = 0; more && i < kBatchesAtOnce; ++i) {
      bool any = false;
      more = socket_.receive([&](const InPacket& p) {
        receive(p, now);
        any = true;
      });
      // The owner may want to answer; the ACK then leaves with its message.
      if (anything_to_poll()) break;
      if (any) send(now);
      if (more) now = base::monotonic_ns();
    }
    // An owner that is about to answer is not delayed for long.
    if (deadline() > (anything_to_poll() ? now - fabric::kMillisecond : now)) return;
    expire(now, more);
    send(now);
  }

  std::size_t poll(std::span<fabric::Completion> completions) override {
    return adapter_.poll(completions);
  }

  bool poll(fabric::Event& event) override {
    if (!event_waits_ && !adapter_.poll(adapter_event_)) return false;
    event_waits_ = true;  // cleared once there is memory for the owner's event
    std::unique_ptr<fabric::Connection> request;
    if (adapter_event_.type == fabric::EventType::kRequest) {
      request = std::make_unique<SoftConnection>(adapter_, adapter_event_.connection);
    }
    move_event(adapter_event_, event);
    event.request = std::move(request);
    event_waits_ = false;
    return true;
  }

  void set_faults(FaultPlan faults) override {
    const Time now = base::monotonic_ns();
    faults_.change(std::move(faults), [&](auto... packet) { go_on(packet..., now); });
    (void)socket_.flush();  // the rest is sent when the socket is writable
  }

  ProviderCounters counters() const override {
    AdapterCounters adapter = adapter_.counters();
    adapter.no_memory += no_memory_;
    return {adapter,  adapter_.queue_pairs(), socket_.counters(), not_sent_,
            damaged_, faults_applied_};
  }

 private:
  [[nodiscard]] bool anything_to_poll() const {
    return event_waits_ || adapter_.anything_to_poll();
  }
  [[nodiscard]] Time deadline() const { return std::min(adapter_.deadline(), faults_.deadline()); }

  // A timer may be due because the packet that would have stopped it still waits in the socket. So
  // timers are postponed until everything that was there when they were due was received. `more`:
  // perhaps not everything was received now. The kernel charges each datagram for more bytes than
  // are counted here.
  void expire(Time now, bool more) {
    constexpr std::uint64_t kLeastOverhead = 512;
    const UdpCounters& c = socket_.counters();
    const std::uint64_t received = c.received_bytes + kLeastOverhead * c.received_batches;
    if (!timers_wait_) received_before_ = received;
    const bool all = !more || received - received_before_ > socket_.receive_buffer();
    timers_wait_ = !adapter_.expire(now, all);
    faults_.expire(now, [&](auto... packet) { go_on(packet..., now); });
  }

  // Watches the descriptors besides the UDP socket, of which there may be more than before.
  Expected<void> watch_more() {
    for (const int fd : socket_.more_fds()) {
      epoll_event event{};
      event.events = EPOLLIN;
      if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0 && errno != EEXIST) {
        return system_error("epoll_ctl");
      }
    }
    return {};
  }

  // Watches the socket for these epoll events; 0: not at all.
  bool watch_socket(std::uint32_t events) {
    if (events == watched_) return true;
    epoll_event event{};
    event.events = events;
    const int how = events == 0 ? EPOLL_CTL_DEL : watched_ == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (::epoll_ctl(epoll_.get(), how, socket_.fd(), &event) != 0) return false;
    watched_ = events;
    return true;
  }

  // Returns false if packets wait until the socket is writable.
  bool send(Time now) {
    if (!socket_.flush()) return false;
    while (adapter_.transmit(out_, now)) {
      if (faults_.active()) {
        // Use the port that the socket really sends from, whatever port a peer's REQ implies.
        const Path path{socket_.local(), out_.path->remote, socket_.source_port()};
        const std::size_t length = frame(out_, path, 0, framed_);
        offer(FaultDirection::kOut, path, wire::MutableBytes(framed_).first(length), now);
        continue;
      }
      if (socket_.add(out_)) continue;
      ++not_sent_;
      return false;
    }
    return socket_.flush();
  }

  void receive(const InPacket& packet, Time now) {
    if (!faults_.active()) return adapter_.receive(*packet.path, packet.bytes, now);
    // Rebuild the datagram as it was on the wire, so that its ICRC reveals the fault's damage.
    const wire::MutableBytes datagram =
        wire::MutableBytes(framed_).first(packet.bytes.size() + wire::kIcrcBytes);
    std::memcpy(datagram.data(), packet.bytes.data(), packet.bytes.size());
    const Path there{packet.path->remote, packet.path->local, packet.path->udp_source_port};
    frame_again(there, 0, datagram);
    offer(FaultDirection::kIn, *packet.path, datagram, now);
  }

  void offer(FaultDirection direction, const Path& path, wire::MutableBytes datagram, Time now) {
    try {
      meet_faults(direction, path, datagram, now);
    } catch (const std::bad_alloc&) {
      ++no_memory_;
    }
  }

  void meet_faults(FaultDirection direction, const Path& path, wire::MutableBytes datagram,
                   Time now) {
    faults_.offer(
        direction, path, datagram, now, [&](auto... packet) { go_on(packet..., now); },
        [&](const FaultVerdict& verdict) {
          ++faults_applied_;
          if (!trace::on(tracer_)) return;
          const std::uint32_t dest_qp = wire::load_be24(datagram.data() + 5);
          trace_fault({tracer_, adapter_.trace_connection(direction, path, dest_qp)}, direction,
                      verdict.action, faults_.injector().text(verdict.rule), now);
        });
  }

  // Handles a packet after the faults were applied.
  void go_on(FaultDirection direction, const Path& path, wire::Bytes datagram, Time now) {
    if (direction == FaultDirection::kOut) {
      if (!socket_.add_framed(path, datagram)) ++not_sent_;
    } else if (check_icrc(path, datagram, 0) == IcrcCheck::kBad) {
      ++damaged_;
    } else {
      adapter_.receive(path, datagram.first(datagram.size() - wire::kIcrcBytes), now);
    }
  }

  const fabric::Limits limits_;
  Adapter adapter_;
  trace::Tracer* const tracer_;
  std::unique_ptr<PacketLog> log_;
  UdpSocket socket_;
  base::FileDescriptor epoll_;
  base::FileDescriptor timer_;
  Time timer_set_ = fabric::kNever;
  std::uint32_t watched_ = 0;  // the socket's events in epoll_
  int polls_ = 0;              // calls of progress() since the last arm()
  bool timers_wait_ = false;   // see expire()
  std::uint64_t received_before_ = 0;
  FaultGate faults_;
  std::array<std::uint8_t, 65536> framed_{};  // a datagram to which faults are applied
  OutPacket out_;
  AdapterEvent adapter_event_;
  bool event_waits_ = false;
  std::uint64_t not_sent_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t no_memory_ = 0;  // packets dropped by the faults for lack of memory
  std::uint64_t faults_applied_ = 0;
};

}  // namespace

Expected<std::unique_ptr<SoftProvider>> SoftProvider::open(const ProviderOptions& options) {
  auto socket = UdpSocket::open(options.adapter.address, options.udp);
  if (!socket) return tl::unexpected(socket.error());
  std::unique_ptr<PacketLog> log;
  if (!options.pcapng.empty()) {
    auto created = PacketLog::create(options.pcapng, options.packet_log);
    if (!created) return tl::unexpected(created.error());
    log = std::make_unique<PacketLog>(std::move(*created));
  }
  ProviderOptions own = options;
  own.adapter.udp_source_port = socket->source_port();
  own.adapter.receive_buffer = socket->receive_buffer();
  own.adapter.share = own.adapter.cm.share = socket->share();
  if (const std::uint32_t link = link_mtu(options.adapter.address); link != 0) {
    own.adapter.mtu = std::min(own.adapter.mtu, path_mtu_on(link));
  }
  auto provider =
      std::make_unique<Soft>(own, std::move(*socket), std::move(log), Secret::of_system());
  const auto done = provider->watch();
  if (!done) return tl::unexpected(done.error());
  return std::unique_ptr<SoftProvider>(std::move(provider));
}

}  // namespace rpcrdma::soft
