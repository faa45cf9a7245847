// A file that appears whole or not at all, whatever happens to the disk or the process: it grows
// without a name, or under another one, and takes its place when all of it is written.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::base {

enum class Existing : std::uint8_t {
  // The new file takes the place of the old one and keeps its permissions. A symbolic link is
  // followed. What is no regular file, such as a pipe, /dev/null and /dev/stdout, is written as it
  // is; so is a file in a folder where no other file can be made, which is empty after an error.
  kReplace,
  // The new file takes the place of whatever has this name, such as a symbolic link, with the
  // permissions of a new one. For names that do not come from the user.
  kReplaceName,
  kRefuse,  // an error
};

struct WholeFileOptions {
  Existing existing = Existing::kReplace;
  mode_t mode = 0666;    // of a new file; umask takes its part
  bool to_disk = false;  // finish() waits until a crash of the machine does not lose the file
};

class WholeFile {
 public:
  // Creates the file in the folder of `path`. Errors, also those of finish(): "PATH: REASON".
  [[nodiscard]] static Expected<WholeFile> create(std::string path,
                                                  const WholeFileOptions& options = {});
  // Removes what was written unless finish() succeeded.
  ~WholeFile();
  WholeFile(WholeFile&& other) noexcept;
  WholeFile& operator=(WholeFile&& other) noexcept;

  // Collects what is written in pieces of 256 KiB. After an error, which finish() returns, it does
  // nothing.
  void write(std::string_view bytes);
  // Whether a write failed, for callers that can stop early.
  [[nodiscard]] bool failed() const { return error_ != 0; }
  // Writes what is collected and gives the file its name. Call it once, last.
  [[nodiscard]] Expected<void> finish();

  [[nodiscard]] const std::string& path() const { return path_; }  // as given

 private:
  WholeFile(std::string path, const WholeFileOptions& options);

  [[nodiscard]] int open();  // these return an errno, or 0
  [[nodiscard]] int open_in_place();
  [[nodiscard]] int open_beside();
  [[nodiscard]] int give_name();
  void flush();
  void take_over_permissions() const;
  void discard();

  std::string path_;
  WholeFileOptions options_;
  std::string target_;     // `path_` without symbolic links, if they are followed
  std::string temporary_;  // the name until then; empty: none
  bool in_place_ = false;
  FileDescriptor fd_;
  std::string buffer_;
  int error_ = 0;  // errno of the first failure
};

using Write = std::function<void(std::string_view)>;

// Passes `produce` a function that writes to a WholeFile. Errors: those of WholeFile.
[[nodiscard]] Expected<void> write_whole(std::string path,
                                         const std::function<void(const Write&)>& produce,
                                         const WholeFileOptions& options = {});

}  // namespace rpcrdma::base
