// One message at several points, as a line of text or a JSON object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <rpcrdma/ends/ends.h>
#include <rpcrdma/report/point_listing.h>

namespace rpcrdma::report {

// A sighting with its place among those of the other sources.
struct PlacedSighting {
  const Sighting* sighting = nullptr;
  std::uint32_t source = 0;  // index in Ends::sources
  std::int64_t at_ns = 0;    // by the clock of the reference
  bool aligned = false;      // false: by its own clock, since no other is known
  // Of the points of one connection: "client", "wire", "server"; with the file where several are
  // of one kind, or the kind is not known.
  std::string point;
};

struct PlacedMessage {
  const ends::EndsConnection* connection = nullptr;  // null: one source alone shows it
  std::uint32_t connection_index = 0;
  std::vector<PlacedSighting> seen;      // in the order of the path: client, wire, server
  std::vector<std::string> unseen;       // points of the connection that did not show it
  const Sighting* shown = nullptr;       // that shows most of it
  const ends::EndsCall* call = nullptr;  // of a Reply, if known
};

// The sources with their clocks; one line each.
[[nodiscard]] std::string points_head_text(const ends::Ends& ends);
[[nodiscard]] std::string points_head_json(const ends::Ends& ends);

// With the newline; below a Reply the line of its Call.
[[nodiscard]] std::string points_text(const PlacedMessage& m, const ends::Ends& ends);
[[nodiscard]] std::string points_json(const PlacedMessage& m, const ends::Ends& ends);

}  // namespace rpcrdma::report
