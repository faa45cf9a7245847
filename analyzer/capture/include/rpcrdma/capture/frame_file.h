// Writes frames from any source and any number of interfaces to one pcapng file, either a temporary
// file to be read again or a file for other programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {

class FrameFile {
 public:
  // Creates a file without a name that disappears with this object. It lies in `folder`, which
  // should be on a disk. Errors: the folder does not exist or is not writable.
  [[nodiscard]] static Expected<std::unique_ptr<FrameFile>> temporary(const std::string& folder);
  // A base::WholeFile, which replaces a file of that name when finish() is called; only the user
  // may read a new one. Errors: it cannot be created.
  [[nodiscard]] static Expected<std::unique_ptr<FrameFile>> create(const std::string& path);
  ~FrameFile();
  FrameFile(const FrameFile&) = delete;
  FrameFile& operator=(const FrameFile&) = delete;

  // Each file and interface that frames name becomes an interface of this file. Up to 256 KiB may
  // wait to be written. Errors: the disk is full or the like; nothing may be written after that.
  // `comment`: the frame's comment in UTF-8, shortened to what pcapng can have; empty: none.
  [[nodiscard]] Expected<void> write(const Frame& frame, const std::string& comment = {});
  [[nodiscard]] Expected<void> flush();
  // Writes all, and gives a file that is not temporary its name. Call it last. Errors: as for
  // write(); the file does not appear then.
  [[nodiscard]] Expected<void> finish();
  // Frees the disk space between two places of the file that mark() named and that are flushed. The
  // other marks stay valid. Errors: the file system cannot free a part of a file.
  [[nodiscard]] Expected<void> discard(std::uint64_t from, std::uint64_t to);

  // The path to open the file again with while this object lives. It holds everything up to the
  // latest flush().
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] std::uint64_t frames() const;
  // The mark of the next frame to be written, which will have the number frames() + 1.
  [[nodiscard]] Mark mark() const;

 private:
  struct Impl;
  explicit FrameFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::capture
