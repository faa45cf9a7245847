// From a source of frames to the model's observer: the way every command takes.
#pragma once

#include <cstdint>
#include <functional>

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
  Pipeline(model::Observer& observer, const model::ModelOptions& options)
      : model_(observer, options), tracker_(model_) {}

  void frame(const capture::Frame& frame);
  // Reads `source` to its end. `tick` is called now and then (every few thousand frames).
  [[nodiscard]] capture::Expected<void> run(capture::Source& source,
                                            const std::function<void()>& tick);
  void finish() { tracker_.finish(); }

  [[nodiscard]] const model::Model& model() const { return model_; }
  [[nodiscard]] const roce::Tracker& tracker() const { return tracker_; }
  [[nodiscard]] const FrameCounts& frames() const { return counts_; }

 private:
  model::Model model_;
  roce::Tracker tracker_;
  FrameCounts counts_;
};

}  // namespace rpcrdma::report
