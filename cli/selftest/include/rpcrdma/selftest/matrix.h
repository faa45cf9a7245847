// The test matrix: which versions meet under which profile, Calls in which directions, of which
// shapes, with or without loss; and which cells are selected.
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

// Past and present variants of the protocol.
enum class Profile : std::uint8_t {
  kRfc8166,
  kDraft01,  // draft-cel-nfsv4-rpcrdma-bidirection-01: reverse Calls without chunks
  kRfc5666,  // what RFC 8166 removed, by requester and responder; reverse Calls follow RFC 8167
};
[[nodiscard]] const char* profile_name(Profile profile);  // "rfc8166", "draft-01"
// Returns the rules profile for checking its recordings.
[[nodiscard]] rules::Profile rules_of(Profile profile);
[[nodiscard]] bool reverse_is_inline_only(Profile profile);

// A row of the table. Its server listens on a port of its own: the first port plus the number of
// rows above.
struct Combination {
  const char* client;  // "v2": supports both, and starts with the higher one
  const char* server;
  protocol::Versions client_versions;
  protocol::Versions server_versions;
  std::uint32_t version;  // the version that they agree on
  Profile profile;
};
[[nodiscard]] std::span<const Combination> combinations();
// Sets the options that depend on the combination.
void apply(const Combination& combination, service::ClientOptions& options);
void apply(const Combination& combination, service::ServerOptions& options);

enum class Direction : std::uint8_t { kForward, kReverse, kBoth };
[[nodiscard]] const char* direction_name(Direction direction);  // "forward", "reverse", "both"

struct Cell {
  std::uint32_t combination = 0;  // index into combinations()
  Direction direction = Direction::kForward;
  bool lossy = false;  // drops 1 % of all packets
  Shape shape = Shape::kShort;
};
// "v2-v1.rfc8166.both.clean.long-call"
[[nodiscard]] std::string cell_name(const Cell& cell);

// Returns all cells that match the words: "v2-v1", "v2" (on either side), "rfc8166", "draft-01",
// "forward", "reverse", "both", "clean", "loss", and the names of shapes. Words of the same
// dimension are alternatives; a dimension without a word is not restricted. Clean cells come first.
// Error: kBadArgument.
[[nodiscard]] fabric::Expected<std::vector<Cell>> cells_of(std::span<const std::string> words);
// Returns the words of all dimensions, separated by commas.
[[nodiscard]] std::string all_words();

}  // namespace rpcrdma::selftest
