// Messages between the coordinator of a load and its agents: the bodies of frames (frame.h). Each
// decode() takes bytes from the other end: it returns nothing if they are not exactly a message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/load_agents/frame.h>

namespace rpcrdma::load_agents {

// Changes with each change of the messages. kHello keeps its form, so that both ends can name
// their versions.
inline constexpr std::uint32_t kProtocol = 1;

using Body = std::vector<std::uint8_t>;

struct Hello {
  std::uint32_t protocol = kProtocol;
  std::string version;  // of the program, as --version prints it
  std::string address;  // of the agent's machine as its ssh server knows it; empty: unknown

  [[nodiscard]] Body encode() const;
  [[nodiscard]] static std::optional<Hello> decode(Bytes body);
};

// Of kRefusal: one clause for display.
struct Refusal {
  std::string why;

  [[nodiscard]] Body encode() const;
  [[nodiscard]] static std::optional<Refusal> decode(Bytes body);
};

struct Ping {
  std::uint64_t number = 0;

  [[nodiscard]] Body encode() const;
  [[nodiscard]] static std::optional<Ping> decode(Bytes body);
};

struct Pong {
  std::uint64_t number = 0;  // of the ping
  std::int64_t clock = 0;    // CLOCK_MONOTONIC of the agent, nanoseconds

  [[nodiscard]] Body encode() const;
  [[nodiscard]] static std::optional<Pong> decode(Bytes body);
};

// Asks for the agent's address in a network, as --network names it.
struct Locate {
  std::string network;

  [[nodiscard]] Body encode() const;
  [[nodiscard]] static std::optional<Locate> decode(Bytes body);
};

struct Located {
  std::string address;

  [[nodiscard]] Body encode() const;
  [[nodiscard]] static std::optional<Located> decode(Bytes body);
};

struct Options {
  std::uint32_t rank = 0;
  std::string name;                // of the agent, for reports
  std::vector<std::string> serve;  // options of its server; none: it does not serve
  std::vector<std::string> words;  // options of the command line of a load

  [[nodiscard]] Body encode() const;
  [[nodiscard]] static std::optional<Options> decode(Bytes body);
};

struct Connect {
  std::uint32_t round = 0;
  std::vector<std::string> servers;  // to call; none: this agent only serves
  // By how much the clock of the agent is ahead of the coordinator's, and the bound of the error.
  std::int64_t clock_offset = 0;
  std::int64_t clock_error = 0;

  [[nodiscard]] Body encode() const;
  [[nodiscard]] static std::optional<Connect> decode(Bytes body);
};

struct Start {
  std::int64_t at = 0;           // CLOCK_MONOTONIC of the agent, nanoseconds
  std::int64_t since_first = 0;  // from the begin of the first round

  [[nodiscard]] Body encode() const;
  [[nodiscard]] static std::optional<Start> decode(Bytes body);
};

}  // namespace rpcrdma::load_agents
