// Which messages a display filter takes, found bit by bit, so that whoever waits sees the first
// ones at once and can stop it.
//
// A filter for what rows have (row.h) is answered from them. Any other reads the frames again, as
// far as the store knows them, with the analyzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/filter/filter.h>
#include <rpcrdma/index/loading.h>
#include <rpcrdma/index/store.h>

namespace rpcrdma::index {

class Search {
 public:
  // `store` must outlive it; `frames`: of Loading::frames(). `text`: as compile() took it.
  Search(const Store& store, std::string frames, filter::Filter filter);
  ~Search();
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  struct Found {
    // IDs, sorted. Some may be before those of earlier steps, since a Call matches when it is over,
    // and some may have been among them, where more was found on a message since.
    std::vector<std::uint64_t> messages;
    std::uint64_t done = 0, total = 0;  // messages looked at, of those that there are
    bool idle = false;                  // nothing more to do until the store grows
    std::string error;                  // why it cannot go on; empty: it can
  };
  // Goes on for some milliseconds. For one thread at a time.
  [[nodiscard]] Found step();

  // Whether it reads the frames again.
  [[nodiscard]] bool reads() const;

  // The fields that rows answer.
  [[nodiscard]] static const std::bitset<decode::kFieldCount>& fields_of_rows();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::index
