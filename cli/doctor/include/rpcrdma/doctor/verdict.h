// What is made of what was found: a line for each thing, how it is, and what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/doctor/machine.h>

namespace rpcrdma::doctor {

enum class Health : std::uint8_t {
  kGood,
  kNote,     // works, and could be better; or is not needed by everybody
  kMissing,  // something that somebody may want does not work
};
[[nodiscard]] const char* health_name(Health health);  // "good", "note", "missing"

struct Line {
  std::string subject;  // "device mlx5_0"
  Health health = Health::kGood;
  std::string text;
  std::string advice;  // what to do; empty: nothing
};

[[nodiscard]] std::vector<Line> judge(const Machine& machine, const Build& build);

// A line each, with advice below it, and a sentence at last.
[[nodiscard]] std::string to_text(const std::vector<Line>& lines);
// One JSON object (docs/verbs.md).
[[nodiscard]] std::string to_json(const Machine& machine, const std::vector<Line>& lines);

}  // namespace rpcrdma::doctor
