// Reads a capture, or the events of live endpoints, in a thread of its own, and keeps a Store up to
// date.
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
  std::optional<wire::Dialect> dialect;  // of version 2; nothing: determined from the messages
  bool check_icrc = true;                // false: accept packets whatever their ICRC
  // Several sources that show the same connection are one connection: the client's view, or the
  // packets, is followed, and the others are compared with it. False: each is one of its own.
  bool join_views = true;
  unsigned threads = 0;  // maximum number of threads for a file; 0: as many as cores
  // Data that cannot be read twice is kept in an unnamed file in this folder.
  std::string folder = "/var/tmp";
  // What a live source may use of it, bytes.
  std::uint64_t buffer_limit = std::uint64_t{1} << 30;
};

class Loading {
 public:
  // Called by a thread of the Loading after each update of the store. Must not block.
  using Changed = std::function<void()>;

  // Each function starts to read at once; `store` must be empty and must outlive the Loading.
  // Errors while reading appear in Progress::error; an error returned here means that nothing could
  // be opened.
  // `paths`: as for capture::open_files(); "-" is standard input.
  [[nodiscard]] static capture::Expected<std::unique_ptr<Loading>> files(
      Store& store, const std::vector<std::string>& paths, const LoadOptions& options,
      Changed changed);
  // `endpoints`: as for trace::connect_endpoint(). If only some of them cannot be connected, they
  // are listed in Integrity::damage.
  struct Stream {
    std::string name;
    base::FileDescriptor fd;  // from trace::connect_endpoint()
    capture::LiveStream::Check check = {};
  };
  [[nodiscard]] static capture::Expected<std::unique_ptr<Loading>> endpoints(
      Store& store, std::vector<Stream> streams, const LoadOptions& options, Changed changed);
  [[nodiscard]] static capture::Expected<std::unique_ptr<Loading>> interface(
      Store& store, std::unique_ptr<capture::LiveSource> source, const LoadOptions& options,
      Changed changed);

  // Cancels as cancel() does, and waits for the thread.
  ~Loading();
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;

  // Stops reading; what was read stays. Returns at once.
  void cancel();

  // Path of a file that holds the frames, to open at one of Content::marks. It holds every frame
  // that the store knows.
  [[nodiscard]] const std::string& frames() const;
  [[nodiscard]] const LoadOptions& options() const;

 private:
  struct Impl;
  explicit Loading(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::index
