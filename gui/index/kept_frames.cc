#include <rpcrdma/index/kept_frames.h>

namespace rpcrdma::index {

namespace {

// Continues behind the gap when it comes to it.
class AroundGap final : public capture::Source {
 public:
  AroundGap(std::unique_ptr<capture::Source> source, std::string frames, BufferGap gap)
      : source_(std::move(source)), frames_(std::move(frames)), gap_(std::move(gap)) {}

  capture::Expected<bool> next(capture::Frame& frame) override {
    if (gap_.has(number_ + 1)) {
      auto opened = capture::open_file_at(frames_, gap_.after);
      if (!opened) return tl::unexpected(opened.error());
      source_ = std::move(*opened);
    }
    auto more = source_->next(frame);
    if (more && *more) number_ = frame.number;
    return more;
  }
  [[nodiscard]] const capture::SourceStats& stats() const override { return source_->stats(); }

 private:
  std::unique_ptr<capture::Source> source_;
  std::string frames_;
  BufferGap gap_;
  std::uint64_t number_ = 0;  // of the latest frame
};

}  // namespace

capture::Expected<std::unique_ptr<capture::Source>> open_kept_frames(const Store& store,
                                                                     const std::string& frames) {
  std::optional<capture::Mark> mark;
  BufferGap gap;
  store.read([&](const Content& c) {
    if (!c.marks.empty()) mark = c.marks.front();
    gap = c.progress.gap;
  });
  if (!mark) return capture::fail("there are no frames to save");
  auto source = capture::open_file_at(frames, *mark);
  if (!source || gap.first_frame == 0) return source;
  return std::make_unique<AroundGap>(std::move(*source), frames, std::move(gap));
}

}  // namespace rpcrdma::index
