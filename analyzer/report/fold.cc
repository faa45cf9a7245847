#include "fold.h"

#include <algorithm>

namespace rpcrdma::report {

namespace {

constexpr std::size_t kHanging = 2;  // columns

std::size_t columns(std::string_view word) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] == '\x1b') {
      i = std::min(word.find('m', i), word.size());
      continue;
    }
    // Only the first byte of a UTF-8 character counts.
    n += (static_cast<unsigned char>(word[i]) & 0xc0) != 0x80 ? 1 : 0;
  }
  return n;
}

void fold_line(std::string_view line, std::size_t width, std::string& out) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  out.append(indent, ' ');
  std::size_t at = indent;
  std::size_t spaces = 0;  // in front of the next word
  for (std::size_t i = indent; i < line.size();) {
    const std::size_t end = std::min(line.find(' ', i), line.size());
    const std::string_view word = line.substr(i, end - i);
    const std::size_t wide = columns(word);
    if (spaces != 0 && at + spaces + wide > width) {
      out += '\n';
      out.append(indent + kHanging, ' ');
      at = indent + kHanging;
    } else {
      out.append(spaces, ' ');
      at += spaces;
    }
    out += word;
    at += wide;
    i = std::min(line.find_first_not_of(' ', end), line.size());
    spaces = i - end;
  }
}

}  // namespace

std::string fold(std::string_view text, std::size_t width) {
  if (width == 0) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    fold_line(text.substr(0, end), width, out);
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace rpcrdma::report
