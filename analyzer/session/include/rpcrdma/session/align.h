// Opens several files as one capture whose clocks agree.
//
// The recordings of two hosts, or a recording and a capture from a switch, can differ by hours.
// Files that show the same messages are found beforehand, and the times of all but one of them are
// shifted, so that a message is read from all files at about the same time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::session {

// Reads the first frames of each file and compares their messages. Files that cannot be read twice,
// or not at all, are skipped, and so are all if there are many, as of a ring.
[[nodiscard]] std::vector<capture::FileClock> compare_clocks(const std::vector<std::string>& paths);

// capture::open_files() with these clocks.
[[nodiscard]] capture::Expected<std::unique_ptr<capture::Source>> open_aligned(
    const std::vector<std::string>& paths);

}  // namespace rpcrdma::session
