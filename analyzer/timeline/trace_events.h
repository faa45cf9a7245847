// Writes the events of the Trace Event Format as JSON. The caller defines their meaning.
#pragma once

#include <cstdint>
#include <string_view>

#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/timeline/format.h>

namespace rpcrdma::timeline {

// The IDs of a process and of one of its threads.
struct Track {
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
};

class TraceEvents {
 public:
  explicit TraceEvents(Write write);

  // Call before the first event. Times are relative to `reference_ns`, because a double cannot hold
  // nanoseconds since 1970. Earlier times are written as `reference_ns`.
  void begin(std::int64_t reference_ns);
  void end();

  // Open an event. Write its arguments to args(), then call close(). Names and categories must not
  // be empty.
  void instant(Track track, std::string_view name, std::string_view category, std::int64_t time_ns);
  void slice(Track track, std::string_view name, std::string_view category, std::int64_t begin_ns,
             std::int64_t end_ns);
  // The arguments are the values of the counters.
  void counter(Track track, std::string_view name, std::string_view category, std::int64_t time_ns);
  [[nodiscard]] report::JsonWriter& args() { return json_; }
  void close();

  // The place of a flow, an arrow between slices: in the slice of the track that was written before
  // and contains the time. `flow`: equal at all places of one flow, which are in order of time.
  enum class Place : std::uint8_t { kBegin, kNext, kEnd };
  void flow(Track track, std::string_view name, std::string_view category, std::int64_t time_ns,
            Place place, std::uint64_t flow);

  // A later name replaces an earlier one.
  void name_process(std::uint32_t process, std::string_view name);
  // Also sorts threads by their IDs.
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

// Times in the format's unit, exact.
[[nodiscard]] inline report::Decimal microseconds(std::int64_t ns) {
  return {ns, 3};
}

}  // namespace rpcrdma::timeline
