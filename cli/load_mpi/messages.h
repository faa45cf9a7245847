// The content of the messages between ranks: JSON, except ticks and results, which have formats of
// their own. It comes from the same program, possibly of another version: what cannot be read is
// refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/fabric/time.h>

namespace rpcrdma::load_mpi {

struct Hello {
  std::string version;
  std::string host;
  std::string address;  // under which other ranks reach this one; empty: not needed
  std::string problem;  // why this rank cannot take part; empty: it can
};
struct Work {
  std::uint32_t round = 0;
  std::vector<std::string> servers;  // to call; none: idle in this round
};
struct Ready {
  std::string problem;
};
struct Ping {
  fabric::Time sent = 0;    // rank 0's clock
  fabric::Time remote = 0;  // the rank's clock, in the answer
};
struct Start {
  fabric::Time at = 0;  // the rank's clock
  // Of the rank's clock against rank 0's.
  fabric::Time offset = 0;
  fabric::Time error = 0;
  fabric::Time since_first = 0;  // from the begin of the first round
};
struct Done {
  std::uint32_t round = 0;
  std::uint64_t bytes = 0;  // of the encoded result
};
struct Reduce {
  std::uint64_t capacity = 0;  // bytes
};

[[nodiscard]] std::string encode(const Hello& m);
[[nodiscard]] std::string encode(const Work& m);
[[nodiscard]] std::string encode(const Ready& m);
[[nodiscard]] std::string encode(const Ping& m);
[[nodiscard]] std::string encode(const Start& m);
[[nodiscard]] std::string encode(const Done& m);
[[nodiscard]] std::string encode(const Reduce& m);

// Nothing for anything else than encode() returns.
[[nodiscard]] std::optional<Hello> decode_hello(const std::string& bytes);
[[nodiscard]] std::optional<Work> decode_work(const std::string& bytes);
[[nodiscard]] std::optional<Ready> decode_ready(const std::string& bytes);
[[nodiscard]] std::optional<Ping> decode_ping(const std::string& bytes);
[[nodiscard]] std::optional<Start> decode_start(const std::string& bytes);
[[nodiscard]] std::optional<Done> decode_done(const std::string& bytes);
[[nodiscard]] std::optional<Reduce> decode_reduce(const std::string& bytes);

}  // namespace rpcrdma::load_mpi
