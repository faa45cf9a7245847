#include "recorder.h"

#include <rpcrdma/fleet/fetch.h>
#include <rpcrdma/fleet/record.h>

namespace rpcrdma::gui {

base::Expected<void> bring_recording(fleet::Bus& bus, const std::string& host,
                                     const std::string& endpoint, int seconds,
                                     const std::string& path,
                                     const std::function<bool()>& interrupted) {
  fleet::FetchOptions options;
  options.host = host;
  options.endpoint = endpoint;
  options.duration_ns = std::int64_t{seconds} * 1'000'000'000;
  options.most_bytes = fleet::kMostRecordBytes;
  options.file = path;
  options.interrupted = interrupted;
  const auto fetched = fleet::fetch(bus, options);
  if (!fetched) return tl::unexpected(fetched.error());
  return {};
}

}  // namespace rpcrdma::gui
