#include "line_cutter.h"

#include <algorithm>
#include <utility>

namespace rpcrdma::load_agents {

void LineCutter::append(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::size_t room = kMostLineBytes - line_.size();
    line_.append(text.substr(0, std::min(end, room)));
    cut_ = cut_ || end > room;
    if (end == text.size()) return;
    end_line();
    text.remove_prefix(end + 1);
  }
}

void LineCutter::end() {
  end_line();
}

void LineCutter::end_line() {
  while (!line_.empty() && line_.back() == '\r') line_.pop_back();  // ssh ends its lines so
  if (!line_.empty()) {
    if (std::exchange(cut_, false)) line_ += "...";
    last_line_ = line_;
    if (kept_ < kMostLines) {
      ++kept_;
      lines_.push_back(std::move(line_));
    } else {
      ++dropped_;
    }
  }
  line_.clear();
}

std::vector<std::string> LineCutter::take_lines() {
  return std::exchange(lines_, {});
}

}  // namespace rpcrdma::load_agents
