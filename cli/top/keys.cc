#include <algorithm>
#include <array>
#include <utility>

#include <rpcrdma/top/keys.h>

namespace rpcrdma::top {

namespace {

constexpr int kPageLines = 10;
constexpr int kFar = 1 << 20;  // more than any number of connections or findings
constexpr char kEscape = '\033';
constexpr std::size_t kLongest = 16;  // bytes of an escape sequence

Key key_of(char c) {
  switch (c) {
    case 'q':
    case 'Q':
      return Key::kQuit;
    case 'k':
      return Key::kUp;
    case 'j':
      return Key::kDown;
    case 'g':
      return Key::kFirst;
    case 'G':
      return Key::kLast;
    case 'p':
    case ' ':
      return Key::kPause;
    case 's':
      return Key::kSort;
    case 'f':
      return Key::kFindings;
    case '?':
    case 'h':
      return Key::kHelp;
    case 'e':
      return Key::kEndpoints;
    case 'v':
      return Key::kEvents;
    case '\r':
    case '\n':
      return Key::kOpen;
    default:
      return Key::kOther;
  }
}

// Returns the key of the text after "ESC [" or "ESC O".
Key key_of(std::string_view sequence) {
  constexpr std::array<std::pair<std::string_view, Key>, 10> kSequences{{
      {"A", Key::kUp},
      {"B", Key::kDown},
      {"5~", Key::kPageUp},
      {"6~", Key::kPageDown},
      {"H", Key::kFirst},
      {"1~", Key::kFirst},
      {"7~", Key::kFirst},
      {"F", Key::kLast},
      {"4~", Key::kLast},
      {"8~", Key::kLast},
  }};
  for (const auto& [bytes, key] : kSequences) {
    if (sequence == bytes) return key;
  }
  return Key::kOther;
}

int lines_of(Key key) {
  switch (key) {
    case Key::kUp:
      return -1;
    case Key::kDown:
      return 1;
    case Key::kPageUp:
      return -kPageLines;
    case Key::kPageDown:
      return kPageLines;
    case Key::kFirst:
      return -kFar;
    case Key::kLast:
      return kFar;
    default:
      return 0;
  }
}

std::size_t moved(std::size_t at, int by, std::size_t count) {
  if (count == 0) return 0;
  const auto to = static_cast<std::ptrdiff_t>(std::min(at, count - 1)) + by;
  return static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(to, 0, static_cast<std::ptrdiff_t>(count) - 1));
}

}  // namespace

std::vector<Key> KeyReader::add(std::string_view bytes) {
  std::vector<Key> keys;
  for (const char c : bytes) {
    if (c == kEscape) {
      begun_ = c;
    } else if (begun_.empty()) {
      keys.push_back(key_of(c));
    } else if (begun_.size() == 1 && c != '[' && c != 'O') {
      // Escape, followed by a key.
      begun_.clear();
      keys.push_back(key_of(c));
    } else {
      begun_ += c;
      // Parameters precede the final byte.
      const bool whole = begun_.size() > 2 && c >= '@' && c <= '~';
      if (!whole && begun_.size() < kLongest) continue;
      keys.push_back(key_of(std::string_view(begun_).substr(2)));
      begun_.clear();
    }
  }
  return keys;
}

void press(View& view, Key key, const Shown& shown) {
  if (key == Key::kQuit) {
    view.quit = true;
  } else if (view.page == Page::kHelp) {
    view.page = Page::kConnections;
  } else if (key == Key::kHelp) {
    view.page = Page::kHelp;
  } else if (key == Key::kFindings) {
    view.page = view.page == Page::kFindings ? Page::kConnections : Page::kFindings;
    view.finding = 0;
  } else if (key == Key::kPause) {
    view.paused = !view.paused;
  } else if (key == Key::kSort && view.page == Page::kConnections && !view.paused) {
    view.sort = static_cast<Sort>((static_cast<std::size_t>(view.sort) + 1) % kSorts);
  } else if (view.page == Page::kFindings) {
    view.finding = moved(view.finding, lines_of(key), shown.findings.size());
  } else {
    view.move = std::clamp(view.move + lines_of(key), -kFar, kFar);
  }
}

void move_within(View& view, const Shown& shown) {
  const int by = std::exchange(view.move, 0);
  if (by == 0 || shown.rows.empty()) return;
  std::size_t at = 0;
  while (at + 1 < shown.rows.size() && shown.rows[at].id != view.selected) ++at;
  view.selected = shown.rows[moved(at, by, shown.rows.size())].id;
}

}  // namespace rpcrdma::top
