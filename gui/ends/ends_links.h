// Which message of the document belongs to which joined Call. Each file has been read twice, once
// by the document and once to join both ends: XIDs, peers and times relate the results.
#pragma once

#include "ends_rows.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <rpcrdma/index/store.h>

namespace rpcrdma::gui {

class EndsLinks {
 public:
  // Linear in the number of messages, apart from sorting; locks the store for short times only.
  // Returns what was found so far when `cancelled` is set.
  EndsLinks(SharedEnds all, const index::Store& store, const std::atomic<bool>& cancelled);

  // The message of the Call; 0: the document does not show it. The store must be the same.
  [[nodiscard]] std::uint64_t message_of(std::uint32_t call, const index::Store& store) const;
  // The index in calls_of() of the Call that a message is, or answers.
  [[nodiscard]] std::optional<std::uint32_t> call_of(std::uint64_t message,
                                                     const index::Store& store) const;

 private:
  SharedEnds all_;
  // By XID.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> messages_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> calls_;
};

}  // namespace rpcrdma::gui
