// Saves the messages that a document shows as a capture file.
#pragma once

#include <QString>
#include <cstdint>
#include <memory>

#include <rpcrdma/capture/error.h>
#include <rpcrdma/capture/source.h>

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

// Every frame of the document, from its first one on, for save_frames(). Errors: there is none, or
// it can no longer be read.
[[nodiscard]] capture::Expected<std::unique_ptr<capture::Source>> open_session(
    const Document& document);
// Writes all frames that `from` has; returns how many. Takes long: not in the interface's thread.
[[nodiscard]] capture::Expected<std::uint64_t> save_frames(capture::Source& from,
                                                           const QString& path);

}  // namespace rpcrdma::gui
