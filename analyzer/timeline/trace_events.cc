#include "trace_events.h"

#include <algorithm>
#include <utility>

#include <rpcrdma/report/context.h>

namespace rpcrdma::timeline {

TraceEvents::TraceEvents(Write write) : write_(std::move(write)) {}

void TraceEvents::begin(std::int64_t reference_ns) {
  reference_ns_ = reference_ns;
  json_.object();
  // This key comes first, because old versions of Perfetto stop at an unknown key. displayTimeUnit
  // is left out, because they read it as the unit of the times.
  json_.array("traceEvents");
  written();
}

void TraceEvents::end() {
  json_.end();
  json_.object("otherData");
  json_.field("program", "rpcrdma export");
  json_.field("start_time", report::format_time(reference_ns_) + " UTC");
  json_.field("start_time_ns", reference_ns_);
  json_.end();
  json_.end();
  written();
}

void TraceEvents::instant(Track track, std::string_view name, std::string_view category,
                          std::int64_t time_ns) {
  open(track, name, category, "i", time_ns);
  json_.field("s", "t");  // scope: thread
  json_.object("args");
}

void TraceEvents::slice(Track track, std::string_view name, std::string_view category,
                        std::int64_t begin_ns, std::int64_t end_ns) {
  open(track, name, category, "X", begin_ns);
  json_.field("dur", microseconds(end_ns - begin_ns));
  json_.object("args");
}

void TraceEvents::counter(Track track, std::string_view name, std::string_view category,
                          std::int64_t time_ns) {
  open(track, name, category, "C", time_ns);
  json_.object("args");
}

void TraceEvents::flow(Track track, std::string_view name, std::string_view category,
                       std::int64_t time_ns, Place place, std::uint64_t flow) {
  const char* const phase = place == Place::kBegin ? "s" : place == Place::kNext ? "t" : "f";
  open(track, name, category, phase, time_ns);
  json_.field("id", flow);
  json_.field("bp", "e");  // binds to the slice around it, not to the next one
  json_.object("args");
  close();
}

void TraceEvents::close() {
  json_.end();
  json_.end();
  written();
}

void TraceEvents::name_process(std::uint32_t process, std::string_view name) {
  metadata({process, 1}, "process_name");
  json_.field("name", name);
  close();
}

void TraceEvents::name_thread(Track track, std::string_view name) {
  metadata(track, "thread_name");
  json_.field("name", name);
  close();
  metadata(track, "thread_sort_index");
  json_.field("sort_index", track.thread);
  close();
}

void TraceEvents::open(Track track, std::string_view name, std::string_view category,
                       std::string_view phase, std::int64_t time_ns) {
  json_.object();
  json_.field("name", name);
  json_.field("cat", category);
  json_.field("ph", phase);
  json_.field("ts", microseconds(std::max(time_ns, reference_ns_) - reference_ns_));
  json_.field("pid", track.process);
  json_.field("tid", track.thread);
}

void TraceEvents::metadata(Track track, std::string_view what) {
  json_.object();
  json_.field("name", what);
  json_.field("ph", "M");
  json_.field("pid", track.process);
  json_.field("tid", track.thread);
  json_.object("args");
}

void TraceEvents::written() {
  json_.drain(write_);
  write_("\n");
}

}  // namespace rpcrdma::timeline
