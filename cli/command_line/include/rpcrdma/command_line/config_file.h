// Configuration files: a line "NAME = VALUE" for each option, in TOML as far as it is needed. Keys
// are the options' long names.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/command_line/command.h>

namespace rpcrdma::command_line {

inline constexpr std::size_t kMostConfigBytes = std::size_t{1} << 20;

// A line of a file: the option and its values, as words of a command line.
struct ConfigEntry {
  std::size_t line = 0;  // from 1
  const Option* option = nullptr;
  std::vector<std::string> values;  // of a flag: "true" or "false"
};

// Reads a file for this command. A section with the command's name may hold the lines. Errors, in
// one line that begins with the file and the number of the line: the file cannot be read, or is too
// long; a key that is not an option of the command; a section of another name.
[[nodiscard]] base::Expected<std::vector<ConfigEntry>> read_config(const std::string& path,
                                                                   const Command& command);

// An option and its value: words for a command line; empty: not set.
struct EffectiveValue {
  const Option* option = nullptr;
  std::vector<std::string> values;
};
// Returns all options that a file can set, with the values of their targets.
[[nodiscard]] std::vector<EffectiveValue> effective_values(const Command& command);

// Returns a file with all options, their help as comments, and their values. Those that are not set
// are comments.
[[nodiscard]] std::string config_text(const Command& command);

}  // namespace rpcrdma::command_line
