#include "terminal.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include <rpcrdma/base/parse.h>

namespace rpcrdma::cli {

std::size_t terminal_width() {
  constexpr std::size_t kUsual = 80;
  constexpr std::size_t kMost = 200;
  if (const char* columns = std::getenv("COLUMNS"); columns != nullptr) {
    const auto n = base::parse_u32(columns);
    if (n && *n != 0) return std::min<std::size_t>(*n, kMost);
  }
  winsize size{};
  if (ioctl(fileno(stdout), TIOCGWINSZ, &size) == 0 && size.ws_col != 0) {
    return std::min<std::size_t>(size.ws_col, kMost);
  }
  return kUsual;
}

bool utf8_wanted() {
  // Same order of precedence as setlocale().
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale(value);
    for (const char* code : {"UTF-8", "UTF8", "utf-8", "utf8"}) {
      if (locale.find(code) != std::string_view::npos) return true;
    }
    return false;
  }
  return false;
}

}  // namespace rpcrdma::cli
