// The Trace Event Format as JSON: what an event of each kind has. What it means is the caller's.
#pragma once

#include <cstdint>
#include <string_view>

#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/timeline/format.h>

namespace rpcrdma::timeline {

// Of a process and one of its threads, by their IDs.
struct Track {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
};

class TraceEvents {
 public:
  explicit TraceEvents(Write write);

  // Before the first event. Times are counted from `reference_ns`, since a double holds no
  // nanoseconds since 1970; what lies before it is written as it.
  void begin(std::int64_t reference_ns);
  void end();

  // Each opens an event: its arguments go to args(), and close() ends it. Names and categories are
  // not empty.
  void instant(Track track, std::string_view name, std::string_view category, std::int64_t time_ns);
  void slice(Track track, std::string_view name, std::string_view category, std::int64_t begin_ns,
             std::int64_t end_ns);
  // Its arguments are the counters' values.
  void counter(Track track, std::string_view name, std::string_view category, std::int64_t time_ns);
  [[nodiscard]] report::JsonWriter& args() { return json_; }
  void close();

  // The latest name counts.
  void name_process(std::uint32_t process, std::string_view name);
  // Threads stand in the order of their IDs.
  void name_thread(Track track, std::string_view name);

 private:
  void open(Track track, std::string_view name, std::string_view category, std::string_view phase,
            std::int64_t time_ns);
  void metadata(Track track, std::string_view what);
  void written();

  Write write_;
  report::JsonWriter json_;
  std::int64_t reference_ns_ = 0;
};

// As the format has times: exact.
[[nodiscard]] inline report::Decimal microseconds(std::int64_t ns) {
  return {ns, 3};
}

}  // namespace rpcrdma::timeline
