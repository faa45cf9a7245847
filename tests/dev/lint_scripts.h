// The shell scripts that `./dev lint` checks, as listed in ./dev, separated by spaces.
#pragma once

#include "support/command.h"

#include <string>

namespace rpcrdma::dev {

inline std::string lint_scripts() {
  const std::string dev = e2e::read_file(RPCRDMA_SOURCE_DIR "/dev");
  const std::string begin = "\nscripts=(";
  const std::size_t at = dev.find(begin);
  if (at == std::string::npos) return "no list of scripts in ./dev";
  const std::string text = dev.substr(at + begin.size(), dev.find(')', at) - at - begin.size());
  std::string list;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n';
    if (!space) {
      list += c;
    } else if (!list.empty() && list.back() != ' ') {
      list += ' ';
    }
  }
  return list;
}

}  // namespace rpcrdma::dev
