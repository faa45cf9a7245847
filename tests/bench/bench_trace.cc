// What it costs an endpoint to tell its events, and how many of them a second reach those who read.
//
//   bench_trace [hooks|stream]...
//
// hooks: of the thread that tells, with nobody listening, with a ring that is emptied meanwhile,
// and with a hub, a reader and a recording at work on the other core. stream: the most events a
// second of which neither reader nor recording loses any, and how late a reader gets them.
#include "two_cores.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>
#include <rpcrdma/trace_live/endpoints.h>
#include <rpcrdma/trace_live/hub.h>

namespace {

using namespace rpcrdma;
using Clock = std::chrono::steady_clock;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "bench_trace: %s\n", what.c_str());
  std::exit(1);
}
template <typename T>
T must(capture::Expected<T> value) {
  if (!value) die(value.error().message);
  return std::move(*value);
}
void must(const capture::Expected<void>& done) {
  if (!done) die(done.error().message);
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

// What a responder tells of a NULL Call, behind the hooks' branches.
constexpr std::uint64_t kEventsOfACall = 6;
const std::vector<std::uint8_t> kMessage(68);

void tell_call(trace::Tracer* tracer, std::int64_t now, std::uint32_t xid) {
  constexpr std::uint32_t kConnection = 0x01000001;
  if (trace::on(tracer)) {
    trace::Message message;
    message.side = 1;
    message.length = static_cast<std::uint32_t>(kMessage.size());
    tracer->tell(kConnection, now, message, kMessage);
  }
  if (trace::on(tracer)) tracer->tell(kConnection, now, trace::Receives{1, 64});
  if (trace::on(tracer)) {
    trace::Call call;
    call.xid = xid;
    tracer->tell(kConnection, now, call);
  }
  if (trace::on(tracer)) {
    trace::Credits credits;
    credits.in_use = xid;
    tracer->tell(kConnection, now, credits);
  }
  if (trace::on(tracer)) {
    trace::Message message;
    message.length = static_cast<std::uint32_t>(kMessage.size());
    tracer->tell(kConnection, now, message, kMessage);
  }
  if (trace::on(tracer)) {
    trace::CallEnd end;
    end.xid = xid;
    end.ended = now;
    tracer->tell(kConnection, now, end);
  }
}

// Nanoseconds an event, of so many Calls.
template <typename Body>
double ns_an_event(std::uint64_t calls, Body&& body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() /
         static_cast<double>(calls * kEventsOfACall);
}

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bench_trace_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) die("cannot make a folder");
    path = pattern;
    ::setenv("XDG_RUNTIME_DIR", path.c_str(), 1);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path;
};

// Reads a hub's socket to the end as an analyzer does.
class Reader {
 public:
  explicit Reader(const std::string& socket)
      : source_(must(capture::open_descriptor(must(trace::connect_endpoint(socket)), "stream"))) {
    thread_ = std::thread([this] { run(); });
    while (!begun_) std::this_thread::yield();
  }
  // When the hub has stopped.
  void finish() { thread_.join(); }

  std::uint64_t emitted = 0, lost = 0;
  std::vector<double> late_us;

 private:
  void run() {
    capture::Frame frame;
    while (source_->next(frame).value_or(false)) {
      const auto event = trace::event_in_pdu(frame.data);
      const auto view = event ? trace::view_event(*event) : std::nullopt;
      if (!view) die("the stream is broken");
      if (const auto loss = trace::read_event<trace::Loss>(*view)) {
        emitted = loss->emitted;
        lost = loss->lost;
      } else if (view->header.type == static_cast<std::uint16_t>(trace::EventType::kEndpoint)) {
        begun_ = true;
      } else if (++n_ % 64 == 0) {
        late_us.push_back(static_cast<double>(now_ns() - view->header.time) / 1e3);
      }
    }
  }

  std::unique_ptr<capture::Source> source_;
  std::atomic<bool> begun_ = false;
  std::uint64_t n_ = 0;
  std::thread thread_;
};

// A hub with a reader and a recording.
struct Scope {
  explicit Scope(const std::string& folder) : hub(must(trace::Hub::start({.name = "bench"}))) {
    tracer = hub->add();
    must(hub->open_socket());
    reader = std::make_unique<Reader>(hub->socket_path());
    must(hub->record(folder + "/bench.pcapng"));
  }
  void finish() {
    hub->stop();
    reader->finish();
  }

  std::unique_ptr<trace::Hub> hub;
  trace::Tracer* tracer = nullptr;
  std::unique_ptr<Reader> reader;
};

void print_hook(const char* what, std::vector<double>& ns) {
  const bench::Percentiles p = bench::percentiles(ns);
  std::printf("%-54s p50 %6.2f ns  p99 %6.2f ns an event\n", what, p.p50, p.p99);
}

void hooks() {
  constexpr std::uint32_t kCalls = 1000;  // of which the events fit into the ring
  constexpr int kRounds = 500;
  trace::Tracer tracer(1, std::size_t{1} << 20);
  trace::Tracer* hidden = &tracer;
  asm volatile("" : "+r"(hidden));  // whether it is null is not known to the compiler
  const auto calls = [&] {
    for (std::uint32_t i = 0; i < kCalls; ++i) tell_call(hidden, i, i);
  };
  std::vector<double> off, on;
  for (int i = 0; i < kRounds; ++i) off.push_back(ns_an_event(kCalls, calls));
  tracer.listen(true);
  for (int i = 0; i < kRounds; ++i) {
    on.push_back(ns_an_event(kCalls, calls));
    tracer.ring().read([](const trace::EventHeader&, std::span<const std::uint8_t>) {});
  }
  print_hook("nobody listens", off);
  print_hook("somebody does; the ring is emptied in between", on);

  const Folder folder;
  Scope scope(folder.path);
  constexpr std::uint32_t kBurst = 20;
  std::vector<double> busy;
  for (int i = 0; i < 20'000; ++i) {
    busy.push_back(ns_an_event(kBurst, [&] {
      for (std::uint32_t n = 0; n < kBurst; ++n) tell_call(scope.tracer, now_ns(), n);
    }));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  scope.finish();
  print_hook("hub, reader and recording at work, bursts of 120", busy);
  std::printf("%-54s %llu of %llu\n", "  of these the reader lost",
              static_cast<unsigned long long>(scope.reader->lost),
              static_cast<unsigned long long>(scope.reader->emitted));
}

struct Sustained {
  bool without_loss = false;
  double rate = 0;  // that was reached
  bench::Percentiles late_us;
  std::uint64_t lost = 0, emitted = 0, not_recorded = 0;
};

// So many events a second, for a second.
Sustained sustain(double rate) {
  const Folder folder;
  Scope scope(folder.path);
  constexpr std::uint32_t kBurst = 10;
  const auto events = static_cast<std::uint64_t>(rate);
  const auto begin = Clock::now();
  std::uint64_t told = 0;
  while (told < events) {
    const auto due = static_cast<std::uint64_t>(
        rate * std::chrono::duration<double>(Clock::now() - begin).count());
    if (told >= due) std::this_thread::sleep_for(std::chrono::microseconds(50));
    for (; told < due; told += kBurst * kEventsOfACall) {
      for (std::uint32_t n = 0; n < kBurst; ++n) tell_call(scope.tracer, now_ns(), n);
    }
  }
  Sustained result;
  result.rate =
      static_cast<double>(told) / std::chrono::duration<double>(Clock::now() - begin).count();
  scope.finish();
  const auto recorded = scope.hub->recordings().front();
  if (!recorded.error.empty()) die(recorded.error);
  result.lost = scope.reader->lost;
  result.emitted = scope.reader->emitted;
  result.not_recorded = recorded.lost;
  result.without_loss = result.lost == 0 && recorded.lost == 0;
  result.late_us = bench::percentiles(scope.reader->late_us);
  return result;
}

void stream() {
  constexpr double kFirst = 100'000, kMore = 1.3, kReached = 0.95;
  constexpr int kTries = 3;  // the machine has bad moments
  double most = 0;
  for (double rate = kFirst;; rate *= kMore) {
    Sustained best;
    for (int i = 0; i < kTries && !best.without_loss; ++i) best = sustain(rate);
    std::printf(
        "%6.2f M events/s asked, %6.2f told: reader lost %.2f %%, recording %.2f %%; late "
        "p50 %.0f us, p99 %.0f us\n",
        rate / 1e6, best.rate / 1e6,
        100.0 * static_cast<double>(best.lost) / static_cast<double>(best.emitted),
        100.0 * static_cast<double>(best.not_recorded) / static_cast<double>(best.emitted),
        best.late_us.p50, best.late_us.p99);
    if (best.without_loss) most = std::max(most, best.rate);
    if (!best.without_loss || best.rate < kReached * rate) break;
  }
  std::printf("%-54s %.2f M events/s\n", "hub, reader and recording, without loss", most / 1e6);
}

struct Part {
  std::string_view name;
  void (*run)();
};
// What tracing costs Calls from end to end is the engine's part, and belongs here.
constexpr Part kParts[] = {{"hooks", hooks}, {"stream", stream}};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> chosen(argv + 1, argv + argc);
  for (const std::string_view name : chosen) {
    if (std::none_of(std::begin(kParts), std::end(kParts),
                     [name](const Part& part) { return part.name == name; })) {
      die("no part " + std::string(name));
    }
  }
  for (const Part& part : kParts) {
    if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), part.name) == chosen.end()) {
      continue;
    }
    std::printf("== %s\n", part.name.data());
    part.run();
  }
}
