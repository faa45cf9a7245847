// rpcrdma-kernel with a source that needs no kernel: for tests of the endpoint program, and of the
// commands that start it. The environment variable RPCRDMA_FAKE_KERNEL has words, separated by
// commas, that say what the source does:
//
//   events=FILE  emits the events that an endpoint would record for the client of this capture
//   signal       but only after SIGUSR1: a search for endpoints is a reader, too
//   lost=N       and loses N events
//   ends         and then ends, as if a module were unloaded
//   silent       ends without an event
//   fallback     is what is opened because BPF cannot be used
//   refused      cannot be opened, and has a verifier's log
//   regains      fails if, after it was opened, root privileges can be had again
//   seconds=N    with --sums: ends after N seconds
//
// With --sums it counts 100 Calls of NFS READ a second.
#include "support/command.h"
#include "support/trace_builder.h"

#include <atomic>
#include <csignal>
#include <map>
#include <sstream>

#include <sys/eventfd.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/kernel_endpoint/run.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>

namespace rpcrdma::e2e {
namespace {

using kernel::EventSink;

// The words of the variable: name and value.
std::map<std::string, std::string> orders() {
  std::map<std::string, std::string> found;
  const char* const text = std::getenv("RPCRDMA_FAKE_KERNEL");
  std::istringstream words(text != nullptr ? text : "");
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t equals = word.find('=');
    found[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
  }
  return found;
}

int signalled = -1;  // an eventfd; -1: no signal is awaited
std::atomic<bool> came{false};

void on_user_signal(int) {
  came.store(true);
  ::eventfd_write(signalled, 1);
}

class FakeSource : public kernel::Source {
 public:
  explicit FakeSource(const kernel_endpoint::Plan& plan)
      : sums_(plan.source.mode == kernel::Mode::kSums) {
    if (sums_) return;
    waiting_ = base::FileDescriptor(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    if (orders_.contains("signal")) {
      signalled = waiting_.get();
      std::signal(SIGUSR1, on_user_signal);
    }
    const auto order = orders_.find("events");
    if (order == orders_.end()) return;
    const std::string bytes = read_file(order->second);
    const auto trace = trace_reader::testing::events_of_capture(
        {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, {.side = 0});
    trace.for_each([&](auto data, const roce::PacketMeta&) {
      const trace::EventView view = *trace::view_event(*trace::event_in_pdu(data));
      const auto type = static_cast<trace::EventType>(view.header.type);
      if (type == trace::EventType::kEndpoint || type == trace::EventType::kLoss) return;
      events_.push_back({view.header,
                         {view.fixed.begin(), view.fixed.end()},
                         {view.payload.begin(), view.payload.end()}});
    });
  }

  int fd() const override { return waiting_.get(); }
  void listen(bool on) override {
    listening_ = on;
    if (on && !emitted_) ::eventfd_write(waiting_.get(), 1);
  }
  base::Expected<void> drain(EventSink& sink) override {
    eventfd_t ignored = 0;
    ::eventfd_read(waiting_.get(), &ignored);
    if (orders_.contains("regains") && (::setuid(0) == 0 || ::setgid(0) == 0)) {
      return base::fail("root privileges can be had again");
    }
    if (orders_.contains("silent") && ++drained_ == 2) {
      return base::fail("the module svcrdma was unloaded");
    }
    if (!listening_ || (signalled >= 0 && !came.load())) return {};
    if (std::exchange(emitted_, true)) return {};
    for (const Event& event : events_) emit(sink, event);
    if (orders_.contains("lost")) {
      lost_ = std::stoul(orders_.at("lost"));
      sink.lost(lost_);
    }
    if (orders_.contains("ends")) return base::fail("the module xprtrdma was unloaded");
    return {};
  }
  base::Expected<void> sums(EventSink& sink, std::int64_t now) override;
  std::uint64_t lost() const override { return lost_; }
  trace::EventSource kind() const override {
    return sums_ ? trace::EventSource::kKernelSums : trace::EventSource::kKernelBpf;
  }
  std::string role() const override { return "client of a fake Linux"; }
  std::string missing() const override { return {}; }

 private:
  struct Event {
    trace::EventHeader header;
    std::vector<std::uint8_t> fixed, payload;
  };

  void emit(EventSink& sink, const Event& event) {
    trace::EventHeader header = event.header;
    if (header.connection != 0) {
      std::uint32_t& number = connections_[header.connection];
      if (number == 0) number = sink.new_connection();
      header.connection = number;
    }
    sink.event(header, event.fixed, event.payload, {});
  }

  const std::map<std::string, std::string> orders_ = orders();
  const bool sums_;
  base::FileDescriptor waiting_;
  std::vector<Event> events_;
  std::map<std::uint32_t, std::uint32_t> connections_;
  bool listening_ = false;
  bool emitted_ = false;
  int drained_ = 0;
  std::uint64_t lost_ = 0;
  std::uint32_t counted_ = 0;  // number of the connection with sums
  std::uint64_t seconds_ = 0;
};

base::Expected<void> FakeSource::sums(EventSink& sink, std::int64_t now) {
  constexpr std::uint64_t kCalls = 100, kMillisecond = 1'000'000, kChunk = 65536;
  if (orders_.contains("seconds") && seconds_ == std::stoul(orders_.at("seconds"))) {
    return base::fail("the seconds are over");
  }
  if (counted_ == 0) {
    counted_ = sink.new_connection();
    trace::Connection c = trace_reader::testing::plain_connection();
    c.private_data_unknown = 1;
    sink.emit(counted_, now, c);
  }
  ++seconds_;
  trace::ProcedureSums sums;
  sums.program = 100003;
  sums.version = 3;
  sums.procedure = 6;
  sums.calls = kCalls * seconds_ + 1;
  sums.replies = kCalls * seconds_;
  sums.errors = seconds_;
  sums.call_bytes = 200 * sums.calls;
  sums.reply_bytes = 150 * sums.replies;
  sums.write_chunk_bytes = kChunk * sums.replies;
  sums.latency_ns = (99 * kMillisecond + 50 * kMillisecond) * seconds_;
  sums.max_latency_ns = 50 * kMillisecond;
  const std::array<trace::SumBucket, 2> buckets{
      trace::SumBucket{trace::sum_bucket(kMillisecond), 0, 99 * seconds_},
      trace::SumBucket{trace::sum_bucket(50 * kMillisecond), 0, seconds_}};
  sink.emit(counted_, now, sums,
            {reinterpret_cast<const std::uint8_t*>(buckets.data()), sizeof buckets});
  trace::ConnectionSums c;
  c.sends = sums.calls;
  c.receives = sums.replies;
  c.send_bytes = sums.call_bytes;
  c.receive_bytes = sums.reply_bytes;
  c.credit_waits = 3 * seconds_;
  c.credit_wait_ns = 6 * kMillisecond * seconds_;
  c.flushed = 1;
  sink.emit(counted_, now, c);
  trace::Credits credits;
  credits.requested = 128;
  credits.granted = credits.limit = 64;
  credits.in_use = 1;
  credits.in_use_most = 60;
  sink.emit(counted_, now, credits);
  return {};
}

}  // namespace
}  // namespace rpcrdma::e2e

int main(int argc, char** argv) {
  using namespace rpcrdma;
  return kernel_endpoint::main_of(
      argc, argv,
      [](const kernel_endpoint::Plan& plan,
         kernel_endpoint::Opening& opening) -> base::Expected<std::unique_ptr<kernel::Source>> {
        if (e2e::orders().contains("refused")) {
          opening.log = "0: R1=ctx()\ninvalid access";
          return base::fail("the kernel refuses the program wc_send: invalid access");
        }
        if (e2e::orders().contains("fallback")) opening.why_no_bpf = "this kernel has no BTF";
        return std::make_unique<e2e::FakeSource>(plan);
      });
}
