#include <rpcrdma/rpcbind/rpcbind.h>

namespace rpcrdma::rpcbind {

std::string quoted(const std::string& text) {
  constexpr std::size_t kMost = 64;
  std::string out = "\"";
  for (const char c : text.substr(0, kMost)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > kMost ? "...\"" : "\"");
}

}  // namespace rpcrdma::rpcbind
