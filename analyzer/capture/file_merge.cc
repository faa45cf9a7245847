// A heap of files ordered by the time of their next frame. A file that is not open yet is in the
// heap with the time of its first frame, read beforehand. So a file is opened only when its turn
// comes, and the files of a ring, whose times do not overlap, are open one after the other.
#include "file_merge.h"

#include "open_reusing.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include <sys/stat.h>

#include <rpcrdma/base/out_of_memory.h>

namespace rpcrdma::capture {
namespace {

constexpr std::size_t kNoteBytes = 1000;  // of notes, after which no more are added
constexpr std::size_t kDamagedNamed = 8;  // files that a message names; others are counted

struct File {
  std::string path;
  std::unique_ptr<Source> source;  // null: not open yet, or read to its end
  Frame head;                      // the next frame, when open
  std::int64_t begun_ns = 0;       // time of its first frame
  std::uint32_t lane = 0;          // unique among the open files
};

// An entry of the heap: the time of the file's next frame.
struct Turn {
  std::int64_t time_ns;
  std::int64_t begun_ns;  // of the file's first frame
  std::size_t file;
  // The standard heap puts the greatest first, so the earliest frame compares greatest. Ties go to
  // the file that began first, since a ring's next file may begin at the time at which the one
  // before it ends, and then to the file that was named first.
  friend bool operator<(const Turn& a, const Turn& b) {
    return std::tie(b.time_ns, b.begun_ns, b.file) < std::tie(a.time_ns, a.begun_ns, a.file);
  }
};

bool is_empty_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
}

bool is_regular(const std::string& path) {
  struct stat status {};
  return path != "-" && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

class Merge final : public Source {
 public:
  explicit Merge(const MergeLimits& limits) : limits_(limits) {}

  // Reads each file's first frame.
  Expected<void> look(const std::vector<std::string>& paths, const std::vector<FileClock>& clocks) {
    frames_stay_ = paths.size() <= limits_.staying;
    std::size_t empty = 0;
    files_.reserve(paths.size());
    for (const std::string& path : paths) {
      // A ring's newest file is often still empty when its writer is killed.
      if (is_empty_file(path)) {
        ++empty;
        note_damage(path, "the file is empty");
        continue;
      }
      auto source = open_file_reusing(path, spare_);
      if (!source) return tl::unexpected(source.error());
      File file{path, std::move(*source), {}, 0};
      sizes_known_ &= file.source->stats().bytes_total != 0;
      closed_.bytes_total += file.source->stats().bytes_total;
      frames_stay_ &= file.source->frames_stay();
      const auto any = file.source->next(file.head);
      if (!any) return tl::unexpected(any.error());
      if (!*any) {
        note_closed(file);
        continue;
      }
      MergedFile& merged = merged_.emplace_back();
      merged.path = path;
      merged.recording = file.head.link == LinkType::kUpperPdu;
      for (const FileClock& clock : clocks) {
        if (clock.path != path) continue;
        merged.shift_ns = clock.shift_ns;
        merged.order_ns = clock.order_ns;
        merged.run = clock.run;
      }
      file.begun_ns = turn_ns(file, files_.size());
      turns_.push_back({file.begun_ns, file.begun_ns, files_.size()});
      if (is_regular(path)) {
        file.source.reset();
      } else {  // it cannot be read twice, so it stays open
        if (open_.size() == limits_.open) return too_many_open();
        file.lane = free_lane();
        open_.push_back(files_.size());
      }
      files_.push_back(std::move(file));
    }
    if (empty == paths.size())
      return fail(paths.front() + ": the file is empty, as are all others");
    std::make_heap(turns_.begin(), turns_.end());
    return {};
  }

  Expected<bool> next(Frame& frame) override try {
    if (given_) {
      if (auto advanced = advance(*given_); !advanced) return tl::unexpected(advanced.error());
    }
    if (!given_) {
      if (turns_.empty()) return false;
      auto begun = take_turn();
      if (!begun || !*begun) return begun;
    }
    frame = files_[*given_].head;
    frame.time_ns = later(frame.time_ns, merged_[*given_].shift_ns);
    frame.number = ++frames_;
    frame.file = static_cast<std::uint32_t>(*given_);
    frame.lane = files_[*given_].lane;
    while (!kept_.empty() && passed_ - kept_.front().passed > kReadableBehind) kept_.pop_front();
    passed_ += frame.room;
    return true;
  } catch (const std::bad_alloc&) {
    return base::out_of_memory("several files");
  }

  bool frames_stay() const override { return frames_stay_; }
  std::span<const MergedFile> files() const override { return merged_; }

  const SourceStats& stats() const override {
    stats_ = closed_;
    std::size_t damaged = damaged_;
    for (const std::size_t index : open_) {
      add(stats_, damaged, files_[index].path, files_[index].source->stats());
    }
    if (damaged > kDamagedNamed) {
      stats_.damage += "; " + std::to_string(damaged - kDamagedNamed) + " more files are damaged";
    }
    stats_.frames = frames_;
    if (!sizes_known_) stats_.bytes_total = 0;
    return stats_;
  }

 private:
  // The last frames of a closed file may still be in use: keeps their window without the
  // descriptor.
  struct Kept {
    std::unique_ptr<Source> source;
    std::uint64_t passed;
  };

  static std::int64_t later(std::int64_t time_ns, std::int64_t by_ns) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(time_ns, by_ns, &sum) ? time_ns : sum;
  }
  // When the turn of the file's next frame comes.
  [[nodiscard]] std::int64_t turn_ns(const File& file, std::size_t index) const {
    return later(later(file.head.time_ns, merged_[index].shift_ns), merged_[index].order_ns);
  }

  static void name_damage(SourceStats& stats, std::size_t& damaged, const std::string& path,
                          const std::string& what) {
    if (++damaged > kDamagedNamed) return;
    if (!stats.damage.empty()) stats.damage += "; ";
    stats.damage += path + ": " + what;
  }
  static void add(SourceStats& sum, std::size_t& damaged, const std::string& path,
                  const SourceStats& stats) {
    sum.bytes_read += stats.bytes_read;
    sum.dropped += stats.dropped;
    sum.cut_short |= stats.cut_short;
    if (!stats.note.empty() && sum.note.size() < kNoteBytes) {
      sum.note += (sum.note.empty() ? "" : "; ") + path + ": " + stats.note;
    }
    if (!stats.damage.empty()) name_damage(sum, damaged, path, stats.damage);
  }
  void note_damage(const std::string& path, const std::string& what) {
    name_damage(closed_, damaged_, path, what);
  }
  void note_closed(const File& file) { add(closed_, damaged_, file.path, file.source->stats()); }

  tl::unexpected<Error> too_many_open() const {
    return fail("more than " + std::to_string(limits_.open) +
                " of the files overlap in time and would have to be open at once; give fewer, or "
                "merge some of them first (mergecap)");
  }

  // Makes the file's next frame its head. If the file has ended, or another file's turn comes
  // before that frame, given_ is empty afterwards.
  Expected<void> advance(std::size_t index) {
    File& file = files_[index];
    const auto more = file.source->next(file.head);
    if (!more) return tl::unexpected(more.error());
    if (!*more) {
      given_.reset();
      note_closed(file);
      std::erase(open_, index);
      if (frames_stay_) kept_.push_back({std::move(file.source), passed_});
      file.source.reset();
      return {};
    }
    const Turn turn{turn_ns(file, index), file.begun_ns, index};
    if (turns_.empty() || turns_.front() < turn) return {};
    given_.reset();
    turns_.push_back(turn);
    std::push_heap(turns_.begin(), turns_.end());
    return {};
  }

  // Gives the turn to the file whose next frame is the earliest; opens it if that frame is its
  // first.
  Expected<bool> take_turn() {
    while (!turns_.empty()) {
      std::pop_heap(turns_.begin(), turns_.end());
      const std::size_t index = turns_.back().file;
      turns_.pop_back();
      if (!files_[index].source) {
        const auto opened = open_again(index);
        if (!opened) return opened;
        if (!*opened) continue;
      }
      given_ = index;
      return true;
    }
    return false;
  }

  // The lowest free number. The files of a ring, where one begins after another has ended, all
  // share one lane.
  [[nodiscard]] std::uint32_t free_lane() const {
    std::uint32_t lane = 0;
    const auto taken = [&](std::size_t index) { return files_[index].lane == lane; };
    while (std::any_of(open_.begin(), open_.end(), taken)) ++lane;
    return lane;
  }

  // Returns false when the file is no longer the one that was examined: a ring that is still being
  // written loses its oldest files.
  Expected<bool> open_again(std::size_t index) {
    if (open_.size() == limits_.open) return too_many_open();
    File& file = files_[index];
    auto source = open_file_reusing(file.path, spare_);
    if (!source) {
      if (base::is_out_of_memory(source.error())) return tl::unexpected(source.error());
      note_damage("not read", source.error().message);
      return false;
    }
    if (frames_stay_ && !(*source)->frames_stay()) {
      note_damage(file.path, "not read: it was replaced by another kind of file meanwhile");
      return false;
    }
    file.source = std::move(*source);
    const auto any = file.source->next(file.head);
    if (any && *any) {
      file.lane = free_lane();
      open_.push_back(index);
    } else {
      note_closed(file);
      file.source.reset();
    }
    return any;
  }

  MergeLimits limits_;
  std::shared_ptr<SpareBuffers> spare_ = std::make_shared<SpareBuffers>();
  std::vector<File> files_;
  std::vector<MergedFile> merged_;    // the same files, as users see them
  std::vector<Turn> turns_;           // a heap of all files except the one in given_
  std::optional<std::size_t> given_;  // the file whose head was returned last
  std::vector<std::size_t> open_;     // indexes of open files
  std::deque<Kept> kept_;
  std::uint64_t frames_ = 0;
  std::uint64_t passed_ = 0;  // sum of Frame::room over all frames returned
  bool frames_stay_ = true;
  bool sizes_known_ = true;
  SourceStats closed_;  // sums over the closed files; bytes_total over all files
  std::size_t damaged_ = 0;
  mutable SourceStats stats_;  // updated on request
};

}  // namespace

Expected<std::unique_ptr<Source>> merge_files(const std::vector<std::string>& paths,
                                              const MergeLimits& limits,
                                              const std::vector<FileClock>& clocks) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) {
    return fail("standard input (-) can be given only once");
  }
  return base::or_out_of_memory("several files", [&]() -> Expected<std::unique_ptr<Source>> {
    auto merge = std::make_unique<Merge>(limits);
    if (auto looked = merge->look(paths, clocks); !looked) {
      return tl::unexpected(looked.error());
    }
    return merge;
  });
}

Expected<std::unique_ptr<Source>> open_files(const std::vector<std::string>& paths,
                                             const std::vector<FileClock>& clocks) {
  if (paths.size() == 1) return open_file(paths.front());
  return merge_files(paths, {}, clocks);
}

Expected<std::unique_ptr<Source>> open_merged(const std::vector<std::string>& paths,
                                              const std::vector<FileClock>& clocks) {
  return merge_files(paths, {}, clocks);
}

}  // namespace rpcrdma::capture
