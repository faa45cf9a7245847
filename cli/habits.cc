#include "habits.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include <rpcrdma/filter/nearest.h>

namespace rpcrdma::cli {

namespace {

bool is_file(const std::string& word) {
  std::error_code ignored;
  return std::filesystem::exists(word, ignored) && !std::filesystem::is_directory(word, ignored);
}

std::string reading(const std::string& file) {
  return fmt::format("; to read a capture: rpcrdma analyze {}, or rpcrdma decode {}", file, file);
}

}  // namespace

std::vector<std::string> usual_words(std::vector<std::string> words) {
  if (words.empty()) return words;
  if (words[0] == "help") {
    // The page of `help` itself is that of the program.
    if (words.size() == 1 || words[1].starts_with('-')) return {"--help"};
    return usual_words({words[1], "--help"});
  }
  if (words[0] == "analyse") words[0] = "analyze";
  return words;
}

std::string command_hint(const command_line::Command& program,
                         const std::vector<std::string>& words) {
  if (words.empty()) return {};
  const std::string& word = words[0];
  if (word.size() == 2 && (word == "-r" || word == "-R")) {
    return reading(words.size() > 1 && !words[1].starts_with('-') ? words[1] : "FILE");
  }
  if (word.starts_with('-')) return {};
  if (is_file(word)) return reading(word);
  std::vector<std::string_view> names;
  for (const auto& command : program.commands()) names.emplace_back(command->name());
  const auto name = filter::nearest(word, names);
  return name ? fmt::format("; did you mean {}?", *name) : std::string();
}

}  // namespace rpcrdma::cli
