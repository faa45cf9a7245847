// Copies an endpoint's stream to Wireshark until either of them ends. It waits for both at once, so
// it ends with Wireshark even while the endpoint is silent.
#pragma once

#include "stream_edit.h"

#include <string>

#include <tl/expected.hpp>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/pcapng/whole_blocks.h>

namespace rpcrdma::extcap {

// Converts SIGTERM, SIGINT and SIGHUP into a readable descriptor; they have no other effect from
// then on. Call it before other threads start. SIGPIPE is ignored.
[[nodiscard]] tl::expected<base::FileDescriptor, std::string> take_signals();

// Opens the pipe that Wireshark creates, for writing. Wireshark opens its end after it has started
// this program, so this waits for the given time. Returns -1 if a signal arrives first. Errors are
// messages for the user: the pipe does not exist, or no process reads it.
[[nodiscard]] tl::expected<base::FileDescriptor, std::string> open_fifo(const std::string& path,
                                                                        int signals,
                                                                        int patience_ms);

// When the endpoint ends, all its data and statistics are written. After a signal, the same applies
// to the data received so far, if Wireshark reads it soon. When the pipe's reader closes it,
// nothing more is written. Errors are messages for the user: the pipe cannot be written, or the
// endpoint sends something else or nothing.
[[nodiscard]] tl::expected<void, std::string> pump(const base::FileDescriptor& from,
                                                   const base::FileDescriptor& fifo, int signals,
                                                   StreamEdit edit,
                                                   base::LivePatience patience = {});

}  // namespace rpcrdma::extcap
