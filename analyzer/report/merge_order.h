// The order in which a merge adds reports, and the reasons why it refuses them. Keeps a few bytes
// of each report and connection, so that the reports themselves need not stay in memory.
#pragma once

#include "overlap.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <rpcrdma/report/report.h>

namespace rpcrdma::report {

class MergeOrder {
 public:
  // Returns the JSON of a report by its number. It is called for reports of the same time only.
  using Text = std::function<tl::expected<std::string, std::string>(std::size_t)>;

  void add(const Report& report);

  // Returns the numbers of all reports, from 0 in the order of add(), by the time of their first
  // frames. Errors: one sentence, if the reports have different profiles or filters or show the
  // same traffic; those of `text`.
  [[nodiscard]] tl::expected<std::vector<std::size_t>, std::string> places(
      const std::vector<std::string>& names, const Text& text) const;

  // Returns whether `report` can be the one that was added under this number.
  [[nodiscard]] bool matches(std::size_t number, const Report& report) const;

  // "report 1" for those without a name.
  [[nodiscard]] static std::string name(const std::vector<std::string>& names, std::size_t number);

 private:
  struct Entry {
    std::uint64_t frames = 0;
    std::int64_t first_ns = 0, last_ns = 0;
    std::uint32_t connections = 0;
    rules::Profile profile = rules::Profile::k8166;
    std::size_t filter = 0;  // index in filters_
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  [[nodiscard]] Entry entry_of(const Report& report, std::size_t filter) const;
  [[nodiscard]] std::string other_settings() const;

  std::vector<Entry> entries_;
  std::vector<std::string> filters_;  // each once
  Overlaps overlaps_;
};

}  // namespace rpcrdma::report
