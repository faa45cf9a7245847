// The messages that a document shows, as a capture file of their own.
#pragma once

#include <QString>
#include <cstdint>

#include <rpcrdma/capture/error.h>

namespace rpcrdma::gui {

class Document;

struct SavedMessages {
  std::uint64_t messages = 0, frames = 0;
};
// Writes the frames of the messages that are shown, each from the first to the last frame of its
// Call's exchange, and those that set their connections up: what it takes to see them as whole as
// here. Errors: the file cannot be written, the capture cannot be read any more.
[[nodiscard]] capture::Expected<SavedMessages> save_messages(const Document& document,
                                                             const QString& path);

}  // namespace rpcrdma::gui
