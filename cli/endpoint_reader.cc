#include "endpoint_reader.h"

#include <algorithm>
#include <cstdio>

#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/program/privileges.h>

namespace rpcrdma::cli {

using base::Expected;
using base::fail;
using base::FileDescriptor;

namespace {

bool runs(const std::string& name) {
  const auto endpoints = trace::list_endpoints();
  return endpoints && std::ranges::any_of(*endpoints, [&](const trace::RunningEndpoint& e) {
           return e.name == name;
         });
}

void put(const std::string& lines) {
  std::fputs(lines.c_str(), stderr);
}

}  // namespace

Expected<FileDescriptor> EndpointReader::connect(const std::string& which) {
  if (which != kernel::kEndpointName && filter_.any()) {
    return fail(which + ": options that say what to trace are for the endpoint kernel");
  }
  auto fd = trace::connect_endpoint(which);
  if (fd) return found(std::move(*fd));
  if (which != kernel::kEndpointName) return fd;
  // It runs, but has too many readers, for example.
  if (runs(which)) return fd;
  return start();
}

Expected<FileDescriptor> EndpointReader::found(FileDescriptor fd) const {
  if (filter_.any()) {
    return fail("the endpoint kernel runs already; what it traces was decided when it was started");
  }
  return fd;
}

Expected<FileDescriptor> EndpointReader::start() {
  const auto caller = identity_after_opening("");
  if (!caller) return tl::unexpected(caller.error());
  if (*caller) {
    Expected<FileDescriptor> of_caller = fail("");
    {
      const EffectiveUser user(**caller);
      of_caller = trace::connect_endpoint(kernel::kEndpointName);
    }
    if (of_caller) {
      if (const auto done = give_up_privileges(*caller); !done) return tl::unexpected(done.error());
      return found(std::move(*of_caller));
    }
  }
  std::vector<std::string> options = words(filter_);
  if (sums_) options.emplace_back("--sums");
  auto started = kernel::Launched::start(options);
  if (!started) return tl::unexpected(started.error());
  started_ = std::move(*started);
  if (const auto done = give_up_privileges(*caller); !done) return tl::unexpected(done.error());
  return trace::connect_endpoint(started_->socket());
}

void EndpointReader::print() {
  if (started_) put(started_->said());
}

void EndpointReader::end(bool only_errors) {
  if (!started_) return;
  const std::string rest = started_->end();
  if (!only_errors || started_->failed()) put(rest);
  started_.reset();
}

}  // namespace rpcrdma::cli
