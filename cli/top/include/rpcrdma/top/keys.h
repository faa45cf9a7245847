// Decodes keys as terminals send them, and applies them to a live view.
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
  kEndpoints,  // the rest: of a fleet
  kEvents,
  kOpen,
};

// Bytes may come in pieces: an incomplete sequence waits for its rest.
class KeyReader {
 public:
  [[nodiscard]] std::vector<Key> add(std::string_view bytes);

 private:
  std::string begun_;  // start of an escape sequence
};

// `shown`: what is on the screen.
void press(View& view, Key key, const Shown& shown);

// Moves the selection within what is shown, for a paused view.
void move_within(View& view, const Shown& shown);

}  // namespace rpcrdma::top
