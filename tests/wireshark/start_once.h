// The interface between the preloaded tshark and its client: inherited descriptors.
#pragma once

namespace rpcrdma::wireshark_tests::start_once {

inline constexpr int kOutput = 3;  // files for the output of a command line
inline constexpr int kErrors = 4;
inline constexpr int kStatus = 5;           // a pipe: one int for each, in the format of waitpid()
inline constexpr char kSeparator = '\x1f';  // between two arguments

}  // namespace rpcrdma::wireshark_tests::start_once
