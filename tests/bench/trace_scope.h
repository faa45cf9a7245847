// Helpers of the tracing benchmarks: emits the events of a responder to a hub with a reader of its
// live socket and a recording.
#pragma once

#include "echo_calls.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/live/hub.h>
#include <rpcrdma/trace/event.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::bench {

[[nodiscard]] std::int64_t now_ns();

// Number of events that a responder emits for a NULL Call.
inline constexpr std::uint64_t kEventsOfACall = 6;
void trace_call(trace::Tracer* tracer, std::int64_t now, std::uint32_t xid);

// A folder for recordings and live sockets.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path;
};

// Reads a hub's socket to the end, as an analyzer does.
class Reader {
 public:
  explicit Reader(const std::string& socket);
  // Call it after the hub has stopped.
  void finish();

  std::uint64_t emitted = 0, lost = 0;  // valid after finish()
  std::vector<double> late_us;

 private:
  void run();

  std::unique_ptr<capture::Source> source_;
  std::atomic<bool> begun_ = false;
  std::uint64_t n_ = 0;
  std::map<std::uint32_t, trace::Loss> sums_;  // by ring
  std::thread thread_;
};

// A hub with a reader and a recording.
struct Scope {
  // `one_in`: see trace::Tracer::in_sample().
  explicit Scope(const std::string& folder, std::uint32_t one_in = 1);
  void finish();

  std::unique_ptr<trace::Hub> hub;
  trace::Tracer* tracer = nullptr;
  std::unique_ptr<Reader> reader;
};

}  // namespace rpcrdma::bench
