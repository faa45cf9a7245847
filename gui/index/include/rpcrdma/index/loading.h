// Reads a capture, or what live endpoints tell, in a thread of its own, and keeps a Store up to
// date with it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/capture/frame_file.h>
#include <rpcrdma/capture/live_stream.h>
#include <rpcrdma/capture/source.h>
#include <rpcrdma/index/store.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/wire/dialects.h>

namespace rpcrdma::index {

struct LoadOptions {
  rules::Profile profile = rules::Profile::k8166;
  std::optional<wire::Dialect> dialect;  // of version 2; nothing: told from the messages
  unsigned threads = 0;                  // of a file at most so many work; 0: as many as cores
  // What cannot be read twice is kept in a file without a name in this folder.
  std::string folder = "/var/tmp";
};

class Loading {
 public:
  // Called by the reading thread after the store was written. Not to block.
  using Changed = std::function<void()>;

  // Each begins at once; `store`, which has to be empty, must outlive it. What goes wrong stands in
  // Progress::error; errors here: it cannot be opened at all.
  // `paths`: as of capture::open_files(); "-" is standard input.
  [[nodiscard]] static capture::Expected<std::unique_ptr<Loading>> files(
      Store& store, const std::vector<std::string>& paths, const LoadOptions& options,
      Changed changed);
  // `endpoints`: as of trace::connect_endpoint(); of several, those that cannot be connected to
  // are told in Integrity::damage.
  struct Stream {
    std::string name;
    base::FileDescriptor fd;  // of trace::connect_endpoint()
    capture::LiveStream::Check check = {};
  };
  [[nodiscard]] static capture::Expected<std::unique_ptr<Loading>> endpoints(
      Store& store, std::vector<Stream> streams, const LoadOptions& options, Changed changed);
  [[nodiscard]] static capture::Expected<std::unique_ptr<Loading>> interface(
      Store& store, std::unique_ptr<capture::LiveSource> source, const LoadOptions& options,
      Changed changed);

  // Ends it: as cancel(), and waits.
  ~Loading();
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  // Nothing more is read; what was, stays. Returns at once.
  void cancel();

  // A file that holds the frames, to be opened at one of Content::marks; frames of which the store
  // knows are in it.
  [[nodiscard]] const std::string& frames() const;
  [[nodiscard]] const LoadOptions& options() const;

 private:
  struct Impl;
  explicit Loading(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::index
