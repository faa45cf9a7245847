// Saves the messages that a document shows as a capture file.
#pragma once

#include <QString>
#include <cstdint>

#include <rpcrdma/capture/error.h>

namespace rpcrdma::gui {

class Document;
class Marks;

struct SavedMessages {
  std::uint64_t messages = 0, frames = 0;
};
// Writes the frames of the messages that are shown, each from the first to the last frame of its
// Call's exchange, and the frames that set up their connections: a reader then sees them as
// completely as here. Comments become comments of the frames that end the messages. Errors: the
// file cannot be written, or the capture can no longer be read.
[[nodiscard]] capture::Expected<SavedMessages> save_messages(const Document& document,
                                                             const QString& path,
                                                             const Marks& marks);

}  // namespace rpcrdma::gui
