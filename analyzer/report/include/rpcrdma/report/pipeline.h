// From a source of frames to the model's observer: the way every command takes.
#pragma once

#include <cstdint>
#include <functional>

#include <rpcrdma/capture/link.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/model/model.h>
#include <rpcrdma/roce/tracker.h>

namespace rpcrdma::report {

struct FrameCounts {
  std::uint64_t total = 0;
  std::uint64_t cut_short = 0;  // RoCE, captured without a whole BTH
  std::uint64_t fragments = 0;
  std::uint64_t unknown_link = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  std::uint64_t clock_steps_back = 0;
};

class Pipeline {
 public:
  using Tick = std::function<void(const capture::SourceStats&)>;

  Pipeline(model::Observer& observer, const model::ModelOptions& options)
      : model_(observer, options), tracker_(model_) {}

  // One frame, in this thread: for live sources.
  void frame(const capture::Frame& frame);

  // Reads `source` to its end. `tick` is called now and then (every few hundred or thousand
  // frames), by one thread at a time. `threads`: at most so many work, where the source allows it.
  // The result does not depend on it.
  [[nodiscard]] capture::Expected<void> run(capture::Source& source, const Tick& tick,
                                            unsigned threads);
  void finish() { tracker_.finish(); }

  [[nodiscard]] const model::Model& model() const { return model_; }
  [[nodiscard]] const roce::Connections& connections() const { return tracker_; }
  [[nodiscard]] const FrameCounts& frames() const { return counts_; }

 private:
  void count(std::int64_t time_ns, capture::LinkResult result);
  struct Team;
  [[nodiscard]] capture::Expected<void> run_team(capture::Source& source, const Tick& tick,
                                                 unsigned threads);

  model::Model model_;
  roce::Tracker tracker_;
  FrameCounts counts_;
};

}  // namespace rpcrdma::report
