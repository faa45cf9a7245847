// What it costs an endpoint to tell its events, and how many of them a second reach those who read.
//
//   bench_trace [hooks|calls|highest|stream]...
//
// hooks: of the thread that tells, with nobody listening, with a ring that is emptied meanwhile,
// and with a hub, a reader and a recording at work on the other core. calls: of Calls from end to
// end, beside the same Calls of endpoints that cannot tell anything. highest: the same at the
// highest rate that both ends reach, and how much of what they tell is lost. stream: the most events a second of which neither
// reader nor recording loses any, and how late a reader gets them.
#include "echo_calls.h"
#include "two_cores.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <time.h>
#include <unistd.h>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/trace/read.h>
#include <rpcrdma/trace/upper_pdu.h>
#include <rpcrdma/trace_live/endpoints.h>
#include <rpcrdma/trace_live/hub.h>

namespace {

using namespace rpcrdma;
using Clock = std::chrono::steady_clock;
using bench::die;
using bench::must;
using service::echo::Proc;

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
  void finish() {
    thread_.join();
    for (const auto& [ring, sums] : sums_) {
      emitted += sums.emitted;
      lost += sums.lost;
    }
  }

  std::uint64_t emitted = 0, lost = 0;  // once finished
  std::vector<double> late_us;

 private:
  void run() {
    capture::Frame frame;
    while (source_->next(frame).value_or(false)) {
      const auto event = trace::event_in_pdu(frame.data);
      const auto view = event ? trace::view_event(*event) : std::nullopt;
      if (!view) die("the stream is broken");
      if (const auto loss = trace::read_event<trace::Loss>(*view)) {
        sums_[view->header.ring] = *loss;
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
  std::map<std::uint32_t, trace::Loss> sums_;  // of each ring
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

// kBeside: by endpoints that cannot tell, while the other processor is as busy as their readers
// would keep it, with what someone else tells. Processors share caches, memory and their clock:
// what a neighbour costs is no cost of telling.
enum class Told : std::uint8_t { kNever, kToNobody, kToReaders, kBeside };
constexpr int kTold = 4;
constexpr const char* kToldNames[kTold] = {"no tracer", "nobody listens", "reader and recording",
                                           "no tracer, readers beside"};

// Tells so many events a second to a hub, a reader and a recording of its own, in a thread of its
// own.
class Neighbour {
 public:
  explicit Neighbour(double rate) : scope_(folder_.path), thread_([this, rate] { run(rate); }) {}
  ~Neighbour() {
    stop_ = true;
    thread_.join();
    scope_.finish();
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

 private:
  void run(double rate) {
    const auto begin = Clock::now();
    double told = 0;
    while (!stop_) {
      const double due = rate * std::chrono::duration<double>(Clock::now() - begin).count();
      for (; told < due; told += kEventsOfACall) tell_call(scope_.tracer, now_ns(), 0);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  Folder folder_;
  Scope scope_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

struct Loss {
  std::uint64_t emitted = 0, of_reader = 0, of_recording = 0;
};

// Both ends of a load, and who reads what they tell, on the other processor.
class Observed {
 public:
  // `rate`: events a second, of who tells beside.
  Observed(Told told, double rate) {
    if (told == Told::kNever) return;
    bench::pin_to(1);  // what a hub and a reader start
    if (told == Told::kBeside) {
      neighbour_.emplace(rate);
      return;
    }
    if (told == Told::kToReaders) {
      scope_.emplace(folder_.path);
      hub_ = scope_->hub.get();
      server = scope_->tracer;
    } else {
      quiet_ = must(trace::Hub::start({.name = "bench"}));
      must(quiet_->open_socket());
      hub_ = quiet_.get();
      server = hub_->add();
    }
    client = hub_->add();
  }
  // When both ends have gone. Adds to the sums.
  void finish(Loss& sums) {
    if (!scope_) return;
    scope_->finish();
    const auto recorded = hub_->recordings().front();
    if (!recorded.error.empty()) die(recorded.error);
    sums.emitted += scope_->reader->emitted;
    sums.of_reader += scope_->reader->lost;
    sums.of_recording += recorded.lost;
  }

  trace::Tracer* server = nullptr;
  trace::Tracer* client = nullptr;

 private:
  Folder folder_;
  std::optional<Scope> scope_;
  std::unique_ptr<trace::Hub> quiet_;
  std::optional<Neighbour> neighbour_;
  trace::Hub* hub_ = nullptr;
};

double own_cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

double median(std::vector<double> values) {
  return bench::percentiles(values).p50;
}

// Of a machine that is faster at one moment than at the next: each turn is compared with its own.
double percent_more(const std::vector<double>& values, const std::vector<double>& than) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < values.size(); ++i) ratios.push_back(values[i] / than[i]);
  return 100 * (median(std::move(ratios)) - 1);
}

struct Load {
  const char* name;
  service::echo::Request request;
  fabric::Time spin;
  std::uint32_t depth;
  unsigned server;  // its processor; the client has 0, and who reads 1
  std::uint64_t count;
};

struct Measured {
  std::vector<double> p50, p99, rate, cpu;
};

// In turns: the load of endpoints without a tracer, and of those that tell nobody and readers. In
// the first turn the kinds come in order, so it is known what readers get when a neighbour tells.
void load(const Load& load, int kinds) {
  constexpr int kTurns = 30;
  constexpr std::uint64_t kWarmUp = 10;  // one in so many
  constexpr double kWithWarmUp = 1 + 1.0 / kWarmUp;
  std::array<Measured, kTold> of;
  Loss loss;
  double events_a_second = 0;  // when they were told to readers the last time
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int i = 0; i < kinds; ++i) {
      const int kind = (turn + i) % kinds;  // who comes first may have it better
      Measured& m = of[static_cast<std::size_t>(kind)];
      Observed observed(static_cast<Told>(kind), events_a_second);
      {
        bench::RunningServer server(load.spin, load.server, observed.server);
        bench::pin_to(0);
        bench::Calls calls(load.spin, 1, load.depth, load.request.length, observed.client);
        (void)calls.run(load.request, load.count / kWarmUp);
        calls.timed = true;
        const double before = own_cpu_seconds() + server.cpu_seconds();
        m.rate.push_back(calls.run(load.request, load.count));
        const double taken = own_cpu_seconds() + server.cpu_seconds() - before;
        m.cpu.push_back(1e6 * taken / static_cast<double>(load.count));
        const bench::Percentiles p = bench::percentiles(calls.us);
        m.p50.push_back(p.p50);
        m.p99.push_back(p.p99);
      }
      const std::uint64_t emitted_before = loss.emitted;
      observed.finish(loss);
      if (loss.emitted == emitted_before) continue;
      const double events_a_call = static_cast<double>(loss.emitted - emitted_before) /
                                   (kWithWarmUp * static_cast<double>(load.count));
      events_a_second = events_a_call * m.rate.back();
    }
  }
  std::printf("%s\n", load.name);
  const Measured& none = of[0];
  for (int kind = 0; kind < kinds; ++kind) {
    const Measured& m = of[static_cast<std::size_t>(kind)];
    std::printf(
        "  %-25s p50 %7.2f us %+5.1f %%  p99 %7.2f us %+5.1f %%  %7.0f Calls/s %+5.1f %%  "
        "processor %6.3f us a Call %+5.1f %%\n",
        kToldNames[kind], median(m.p50), percent_more(m.p50, none.p50), median(m.p99),
        percent_more(m.p99, none.p99), median(m.rate), percent_more(m.rate, none.rate),
        median(m.cpu), percent_more(m.cpu, none.cpu));
  }
  if (loss.emitted == 0) return;
  const auto index = [](Told told) { return static_cast<std::size_t>(told); };
  std::printf("  reader and recording, against readers beside: processor %+.1f %% a Call\n",
              percent_more(of[index(Told::kToReaders)].cpu, of[index(Told::kBeside)].cpu));
  const double observed_calls = kWithWarmUp * static_cast<double>(load.count) * kTurns;
  const auto percent = [&](std::uint64_t lost) {
    return 100 * static_cast<double>(lost) / static_cast<double>(loss.emitted);
  };
  std::printf(
      "  %.1f events a Call, both ends, %llu in all; the reader lost %llu (%.3f %%), the "
      "recording %llu (%.3f %%)\n",
      static_cast<double>(loss.emitted) / observed_calls,
      static_cast<unsigned long long>(loss.emitted),
      static_cast<unsigned long long>(loss.of_reader), percent(loss.of_reader),
      static_cast<unsigned long long>(loss.of_recording), percent(loss.of_recording));
}

void calls() {
  // With two processors that poll there is none left for a reader. Where one is needed both ends
  // share the first.
  constexpr service::echo::Request kNull{Proc::kNull, 0, 0, 0, 0};
  load({"NULL, polling, a processor each", kNull, fabric::kNever, 1, 1, 20'000}, 2);
  load({"NULL, sleeping", kNull, 0, 1, 0, 20'000}, kTold);
  load({"ECHO_BULK of 4 KiB, 16 outstanding", {Proc::kEchoBulk, 4096, 0, 1, 0}, 0, 16, 0, 20'000},
       kTold);
}

void highest() {
  constexpr service::echo::Request kNull{Proc::kNull, 0, 0, 0, 0};
  load({"NULL, 64 outstanding: as many events a second as there can be", kNull, 0, 64, 0, 100'000},
       kTold);
}

struct Part {
  std::string_view name;
  void (*run)();
};
constexpr Part kParts[] = {{"hooks", hooks}, {"calls", calls}, {"highest", highest}, {"stream", stream}};

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
