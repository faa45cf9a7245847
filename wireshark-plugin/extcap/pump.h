// Carries an endpoint's stream to Wireshark until one of them has gone. It waits for all of them at
// once, so that it ends with Wireshark even while nothing comes from the endpoint.
#pragma once

#include "stream_edit.h"

#include <string>

#include <tl/expected.hpp>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/pcapng/whole_blocks.h>

namespace rpcrdma::extcap {

// SIGTERM, SIGINT and SIGHUP as something to read; they do nothing else from then on. Before other
// threads begin. SIGPIPE is ignored.
[[nodiscard]] tl::expected<base::FileDescriptor, std::string> take_signals();

// The pipe that Wireshark makes, for writing. Wireshark opens its end after it has started this
// program; for that so long is waited. -1: a signal has come meanwhile. Errors, for a person: it
// is not there; nobody reads it.
[[nodiscard]] tl::expected<base::FileDescriptor, std::string> open_fifo(const std::string& path,
                                                                        int signals,
                                                                        int patience_ms);

// When the endpoint ends, all that it told is written, and statistics; the same by a signal, of
// what has come, as far as it is read soon. When who reads the pipe has gone nothing more is.
// Error, for a person: it cannot be written, or what comes is no endpoint's, or does not come.
[[nodiscard]] tl::expected<void, std::string> pump(const base::FileDescriptor& from,
                                                   const base::FileDescriptor& fifo, int signals,
                                                   StreamEdit edit,
                                                   base::LivePatience patience = {});

}  // namespace rpcrdma::extcap
