// Judges what was found on a machine: a line for each subject with its state and advice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/doctor/machine.h>

namespace rpcrdma::doctor {

enum class Health : std::uint8_t {
  kGood,
  kNote,     // works but could be better, or not everybody needs it
  kMissing,  // a possible use of this machine does not work
};
[[nodiscard]] const char* health_name(Health health);  // "good", "note", "missing"

struct Line {
  std::string subject;  // "device mlx5_0"
  Health health = Health::kGood;
  std::string text;
  std::string advice;  // what to do; empty: nothing
};

[[nodiscard]] std::vector<Line> judge(const Machine& machine, const Build& build);

// Returns a line for each subject, with advice below it, and a closing sentence.
[[nodiscard]] std::string to_text(const std::vector<Line>& lines);
// Returns one JSON object (docs/verbs.md).
[[nodiscard]] std::string to_json(const Machine& machine, const std::vector<Line>& lines);

}  // namespace rpcrdma::doctor
