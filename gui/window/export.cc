#include "export.h"

#include "document.h"
#include "marks.h"

#include <algorithm>
#include <map>

#include <rpcrdma/capture/frame_file.h>
#include <rpcrdma/index/kept_frames.h>

namespace rpcrdma::gui {

namespace {

using Range = std::pair<std::uint64_t, std::uint64_t>;  // first and last frame

// If Call and Reply are far apart, only the two ends are saved, without the frames between.
constexpr std::uint64_t kWholeUpTo = 512;

void add(std::vector<Range>& ranges, const index::MessageRow& row) {
  ranges.emplace_back(row.frame - row.first_frame, row.frame);
}

}  // namespace

capture::Expected<SavedMessages> save_messages(const Document& document, const QString& path,
                                               const Marks& marks) {
  SavedMessages saved;
  std::vector<Range> ranges;
  std::map<std::uint64_t, std::string> comments;  // by frame
  index::BufferGap gap;
  document.store().read([&](const index::Content& c) {
    gap = c.progress.gap;
    saved.messages = document.row_count();
    for (const auto& entry : marks.all()) {
      if (entry.second.comment.isEmpty() || !document.row_of(entry.first)) continue;
      std::string& text = comments[c.rows[entry.first - 1].frame];
      if (!text.empty()) text += '\n';
      text += entry.second.comment.toStdString();
    }
    std::vector<bool> seen(c.connections.size() + c.set_up.size() + 1);
    for (std::uint64_t i = 0; i < saved.messages; ++i) {
      const index::MessageRow& row = c.rows[document.message_at(i) - 1];
      add(ranges, row);
      const std::uint32_t index = c.canonical(row.connection);
      if (index < c.set_up.size() && !seen[index]) {
        seen[index] = true;
        for (const std::uint64_t frame : c.set_up[index]) ranges.emplace_back(frame, frame);
      }
      if (row.match == 0 || row.match > c.rows.size()) continue;
      const index::MessageRow& other = c.rows[row.match - 1];
      add(ranges, other);
      const std::uint64_t from = std::min(row.frame, other.frame);
      const std::uint64_t to = std::max(row.frame, other.frame);
      if (to - from <= kWholeUpTo) ranges.emplace_back(from, to);
    }
  });
  std::sort(ranges.begin(), ranges.end());
  if (std::any_of(ranges.begin(), ranges.end(), [&](const Range& r) {
        return r.first <= gap.last_frame && r.second >= gap.first_frame;
      })) {
    return capture::fail(
        "some of these messages are no longer in the buffer: choose a later range of time");
  }
  auto source = index::open_kept_frames(document.store(), document.frames());
  if (!source) return tl::unexpected(source.error());
  auto file = capture::FrameFile::create(path.toStdString());
  if (!file) return tl::unexpected(file.error());
  std::size_t at = 0;
  std::uint64_t until = 0;  // the last frame to save, over the ranges seen so far
  capture::Frame frame;
  while (at < ranges.size() || frame.number < until) {
    const auto more = (*source)->next(frame);
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    for (; at < ranges.size() && ranges[at].first <= frame.number; ++at) {
      until = std::max(until, ranges[at].second);
    }
    if (frame.number > until) continue;
    const auto comment = comments.find(frame.number);
    const auto written =
        comment == comments.end() ? (*file)->write(frame) : (*file)->write(frame, comment->second);
    if (!written) return tl::unexpected(written.error());
    ++saved.frames;
  }
  if (auto done = (*file)->finish(); !done) return tl::unexpected(done.error());
  return saved;
}

capture::Expected<std::unique_ptr<capture::Source>> open_session(const Document& document) {
  return index::open_kept_frames(document.store(), document.frames());
}

capture::Expected<std::uint64_t> save_frames(capture::Source& from, const QString& path) {
  auto file = capture::FrameFile::create(path.toStdString());
  if (!file) return tl::unexpected(file.error());
  std::uint64_t frames = 0;
  capture::Frame frame;
  for (;;) {
    const auto more = from.next(frame);
    if (!more) return tl::unexpected(more.error());
    if (!*more) break;
    if (auto written = (*file)->write(frame); !written) return tl::unexpected(written.error());
    ++frames;
  }
  if (auto done = (*file)->finish(); !done) return tl::unexpected(done.error());
  return frames;
}

}  // namespace rpcrdma::gui
