// Chooses the next Call of a load: a procedure by weight, and a size. The sequence is random, and
// the same for the same seed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/soft/random.h>

namespace rpcrdma::load {

// Sizes in bytes, such as "1M", "512-64k", "0,4k,1Mi-2Mi". All members of the list are equally
// likely, and so are all numbers of a range.
class Sizes {
 public:
  // Error: kBadArgument. A size has 32 bits; for a larger one the error names `most`, the maximum
  // in the caller's context.
  [[nodiscard]] static fabric::Expected<Sizes> parse(std::string_view text,
                                                     std::uint32_t most = UINT32_MAX);

  [[nodiscard]] std::uint32_t pick(soft::Random& random) const;
  [[nodiscard]] std::uint32_t largest() const;

 private:
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t last = 0;  // included
  };
  std::vector<Range> ranges_;
};

// Weighted choices, such as "echo" or "echo:8,source:2"; the default weight is 1.
class Mix {
 public:
  // Returns the number of the choice with this name.
  using Known = std::function<std::optional<std::uint32_t>(std::string_view)>;
  // Error: kBadArgument for a name that is unknown or given twice, and for a weight of 0 or above a
  // million.
  [[nodiscard]] static fabric::Expected<Mix> parse(std::string_view text, const Known& known);

  [[nodiscard]] std::uint32_t pick(soft::Random& random) const;
  [[nodiscard]] bool has(std::uint32_t choice) const;

 private:
  struct Member {
    std::uint32_t choice = 0;
    std::uint64_t up_to = 0;  // sum of the weights up to this one
  };
  std::vector<Member> members_;
};

}  // namespace rpcrdma::load
