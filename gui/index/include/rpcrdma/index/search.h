// Finds the messages that match a display filter, step by step, so that the first ones are visible
// at once and the search can be stopped.
//
// A filter on fields that rows have (row.h) is answered from the rows. Any other filter makes the
// analyzer read the frames again, up to the last one that the store knows.
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
  // `store` must outlive this; `frames`: from Loading::frames(). `text`: as passed to compile().
  Search(const Store& store, std::string frames, filter::Filter filter);
  ~Search();
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  struct Found {
    // IDs, sorted. Some may precede those of earlier steps, since a Call matches only when it is
    // over. Some may repeat earlier ones, if more was found on a message since.
    std::vector<std::uint64_t> messages;
    std::uint64_t done = 0, total = 0;  // messages searched, and how many there are
    bool idle = false;                  // nothing more to do until the store grows
    std::string error;                  // why the search stopped; empty: no error
  };
  // Searches for some milliseconds. Must be called by one thread at a time.
  [[nodiscard]] Found step();

  // Whether the filter makes it read the frames again.
  [[nodiscard]] bool reads() const;

  // The fields that rows can answer.
  [[nodiscard]] static const std::bitset<decode::kFieldCount>& fields_of_rows();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::index
