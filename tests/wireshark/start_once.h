// Between tshark that starts once and who asks it: descriptors that it is started with.
#pragma once

namespace rpcrdma::wireshark_tests::start_once {

inline constexpr int kOutput = 3;  // files for what a command line writes
inline constexpr int kErrors = 4;
inline constexpr int kStatus = 5;           // a pipe: an int for each, as waitpid() has it
inline constexpr char kSeparator = '\x1f';  // between two arguments

}  // namespace rpcrdma::wireshark_tests::start_once
