// Counts Calls into Files while a session reads a capture.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tsl/robin_map.h>

#include <rpcrdma/model/call.h>
#include <rpcrdma/report/files.h>

namespace rpcrdma::report {

class FileTally {
 public:
  // `server`: the side that the Call went to. `answer`: null if there is none. A Call that is about
  // no file is ignored.
  void count(const model::Call& call, const model::Message* answer, const roce::Side& server,
             bool failed, Files& to);
  // Notes only the name of the file, of a Call that a filter excludes.
  void note_name(const model::Call& call, const roce::Side& server, Files& to);

 private:
  // The latest READs and WRITEs of a file, which run in parallel.
  struct Range {
    std::uint64_t begin = 0, end = 0;
    bool alone = false;  // it was compared, and continues none so far
  };
  struct Recent {
    FileStats* stats = nullptr;  // null: beyond kMaxFiles
    std::string name;            // not escaped
    std::optional<std::uint32_t> below;
    std::array<Range, 16> ranges{};
    std::size_t seen = 0;  // so many of `ranges` are valid, or all

    void forget() {
      stats = nullptr;
      name.clear();
      below.reset();
      seen = 0;
    }
  };
  static void take_name(const model::FileUse& use, Recent& recent);
  [[nodiscard]] Recent& find(const model::FileUse& use, const roce::Side& server, Files& to);
  static void count_data(const model::Call& call, const model::FileUse& use, Recent& recent,
                         OtherFiles& others);

  // A file by its slot and generation, whose low bits are much the same for all files.
  struct Hash {
    [[nodiscard]] std::size_t operator()(std::uint64_t key) const {
      key *= 0x9e3779b97f4a7c15ULL;
      return static_cast<std::size_t>(key ^ key >> 32);
    }
  };
  [[nodiscard]] Recent& add_recent(std::uint64_t key);

  // In front of Files::list. It is emptied when it is full; `recent_` keeps its memory.
  tsl::robin_map<std::uint64_t, std::uint32_t, Hash> recent_at_;  // in recent_
  std::vector<Recent> recent_;
};

}  // namespace rpcrdma::report
