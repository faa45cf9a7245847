// Frames of whatever source and of any number of interfaces in one pcapng file: kept for a while to
// be looked at again, or for others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

class FrameFile {
 public:
  // A file without a name, of which nothing is left when this is gone. It lies in `folder`, which
  // should be on a disk. Errors: the folder does not exist, or nothing may be written there.
  [[nodiscard]] static Expected<std::unique_ptr<FrameFile>> temporary(const std::string& folder);
  // Replaces one of that name; only the user may read it. Errors: it cannot be made.
  [[nodiscard]] static Expected<std::unique_ptr<FrameFile>> create(const std::string& path);
  ~FrameFile();
  FrameFile(const FrameFile&) = delete;
  FrameFile& operator=(const FrameFile&) = delete;

  // Every file and interface that frames name becomes an interface of this one. 256 KiB may wait to
  // be written. Errors: the disk is full, or the like; nothing more is to be written then.
  [[nodiscard]] Expected<void> write(const Frame& frame);
  [[nodiscard]] Expected<void> flush();

  // To be opened again with, while this lives. What was written until the latest flush() is there.
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::uint64_t frames() const;
  // Before the frame that is written next, which has there the number frames() + 1.
  [[nodiscard]] Mark mark() const;

 private:
  struct Impl;
  explicit FrameFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::capture
