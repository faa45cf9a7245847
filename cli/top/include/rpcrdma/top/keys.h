// Keys as terminals send them, and what they do to a live view.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/top/shown.h>

namespace rpcrdma::top {

enum class Key : std::uint8_t {
  kOther,
  kQuit,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kFirst,
  kLast,
  kPause,
  kSort,
  kFindings,
  kHelp,
};

// Bytes come in any pieces: a sequence that is not whole waits for the rest of it.
class KeyReader {
 public:
  [[nodiscard]] std::vector<Key> add(std::string_view bytes);

 private:
  std::string begun_;  // of an escape sequence
};

// `shown`: what the user sees.
void press(View& view, Key key, const Shown& shown);

// Moves the selection among what is shown, for a view that is paused.
void move_within(View& view, const Shown& shown);

}  // namespace rpcrdma::top
