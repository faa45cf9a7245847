// A file beside an endpoint's live socket that states where the endpoint serves its metrics. It is
// not part of the trace: the address is known only once the endpoint listens, long after the first
// event, and recordings have no use for it.
#pragma once

#include "runtime_folder.h"
#include "socket_file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <rpcrdma/base/error.h>

namespace rpcrdma::trace {

// NAME.PID.metrics for the live socket NAME.PID.sock.
[[nodiscard]] std::string metrics_file_name(const SocketName& socket);

// The process that `file` names, if it has the form of metrics_file_name().
[[nodiscard]] std::optional<std::uint32_t> process_of_metrics_file(std::string_view file);

// Whether `text` is an address with a port, as in a URL: "10.0.0.1:9464", "[::1]:9464",
// "[fe80::1%eth0]:9464".
[[nodiscard]] bool is_metrics_address(std::string_view text);

// Returns the address in the file; nothing if there is none. The folder's owner may have put
// anything there: a file that does not belong to them, that is not regular, or that does not hold
// just an address, is ignored.
[[nodiscard]] std::string read_metrics_file(const RuntimeFolder& folder, const SocketName& socket);

// Exists as long as this object does.
class MetricsFile {
 public:
  // Error: it cannot be written; the text is no address.
  [[nodiscard]] static base::Expected<MetricsFile> create(RuntimeFolder folder,
                                                          const SocketName& socket,
                                                          const std::string& address);
  ~MetricsFile();
  MetricsFile(MetricsFile&&) noexcept = default;
  MetricsFile& operator=(MetricsFile&&) = delete;

 private:
  MetricsFile(RuntimeFolder folder, std::string file)
      : folder_(std::move(folder)), file_(std::move(file)) {}

  RuntimeFolder folder_;
  std::string file_;
};

}  // namespace rpcrdma::trace
