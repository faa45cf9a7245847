// What `rpcrdma top` reads: the live stream of an endpoint of this host, of another host over ssh,
// or of a command that writes it to a pipe.
#pragma once

#include "endpoint_reader.h"

#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/base/child_process.h>
#include <rpcrdma/base/error.h>
#include <rpcrdma/capture/live_stream.h>

namespace rpcrdma::cli {

struct RemoteOptions {
  std::string ssh = "ssh -o BatchMode=yes";
  std::string command = "rpcrdma";
};

class TopSource {
 public:
  // An endpoint of this host, connected. `path`: of its socket, if it was found there.
  TopSource(std::string name, std::string path, base::FileDescriptor stream);

  // `name`: "ssh:HOST" or "ssh:HOST/ENDPOINT" (the endpoint kernel, if none is named), "-" for
  // standard input, the path of a FIFO, or what EndpointReader::connect() takes. Errors, in one
  // line: it cannot be opened; what a host is named by is no host. `standard_input`: taken for "-".
  [[nodiscard]] static base::Expected<TopSource> open(const std::string& name,
                                                      EndpointReader& reader,
                                                      const RemoteOptions& options,
                                                      base::FileDescriptor& standard_input);
  [[nodiscard]] static bool is_standard_input(const std::string& name) { return name == "-"; }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& host() const { return host_; }  // empty: this one
  [[nodiscard]] const std::string& path() const { return path_; }
  void forget_path() { path_.clear(); }

  [[nodiscard]] capture::LiveStream& stream() { return stream_; }
  [[nodiscard]] const capture::LiveStream& stream() const { return stream_; }

  // What ssh and the command there print as errors has to be read; -1: nothing more will come.
  [[nodiscard]] int errors() const { return child_ ? child_->errors.get() : -1; }
  void read_errors();
  // Why the stream ended; empty if the endpoint ended it itself. With ssh, its last line if there
  // was no stream, as sent: escape it.
  [[nodiscard]] std::string why();

 private:
  [[nodiscard]] static base::Expected<TopSource> over_ssh(const std::string& name,
                                                          const RemoteOptions& options);

  std::string name_, host_, path_;
  std::optional<base::ChildProcess> child_;
  std::string said_;  // the end of what came as errors
  capture::LiveStream stream_;
};

}  // namespace rpcrdma::cli
