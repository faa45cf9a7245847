// What the matrix is made of: who meets whom under which profile, Calls in which directions, of
// which shapes, over which network; and which of it is wanted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rpcrdma/fabric/error.h>
#include <rpcrdma/rules/rule.h>
#include <rpcrdma/selftest/shape.h>
#include <rpcrdma/service/client.h>
#include <rpcrdma/service/server.h>

namespace rpcrdma::selftest {

// What the protocol was and is.
enum class Profile : std::uint8_t {
  kRfc8166,
  kDraft01,  // draft-cel-nfsv4-rpcrdma-bidirection-01: reverse Calls without chunks
  kRfc5666,  // what RFC 8166 took out of it, by requester and responder; reverse Calls are RFC
             // 8167's
};
[[nodiscard]] const char* profile_name(Profile profile);  // "rfc8166", "draft-01"
// By which its recordings are measured.
[[nodiscard]] rules::Profile rules_of(Profile profile);
[[nodiscard]] bool reverse_is_inline_only(Profile profile);

// A line of the table. Its server listens on a port of its own: the first one and as many as
// there are lines above.
struct Combination {
  const char* client;  // "v2": it speaks both, and begins with the higher
  const char* server;
  protocol::Versions client_versions;
  protocol::Versions server_versions;
  std::uint32_t version;  // that they speak with each other
  Profile profile;
};
[[nodiscard]] std::span<const Combination> combinations();
// What of options is the combination's.
void apply(const Combination& combination, service::ClientOptions& options);
void apply(const Combination& combination, service::ServerOptions& options);

enum class Direction : std::uint8_t { kForward, kReverse, kBoth };
[[nodiscard]] const char* direction_name(Direction direction);  // "forward", "reverse", "both"

struct Cell {
  std::uint32_t combination = 0;  // of combinations()
  Direction direction = Direction::kForward;
  bool lossy = false;  // 1 % of all packets is lost
  Shape shape = Shape::kShort;
};
// "v2-v1.rfc8166.both.clean.long-call"
[[nodiscard]] std::string cell_name(const Cell& cell);

// All cells that fit the words: "v2-v1", "v2" (on either side), "rfc8166", "draft-01", "forward",
// "reverse", "both", "clean", "loss", and the shapes' names. Of several that are about the same
// thing, any; without one, all. Clean ones first. Error: kBadArgument.
[[nodiscard]] fabric::Expected<std::vector<Cell>> cells_of(std::span<const std::string> words);
// Of all kinds, with commas between.
[[nodiscard]] std::string all_words();

}  // namespace rpcrdma::selftest
