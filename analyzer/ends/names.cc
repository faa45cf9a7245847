// The words and JSON keys of stages and sides.
#include <array>

#include <rpcrdma/ends/ends.h>

namespace rpcrdma::ends {

namespace {

struct StageName {
  const char* text;
  const char* key;
  Side side;
};

constexpr std::array<StageName, kStages> kNames{{
    {"waiting for a slot", "slot", Side::kClient},
    {"waiting for a credit", "credit", Side::kClient},
    {"client posting", "post", Side::kClient},
    {"network, to the server", "network_there", Side::kNetwork},
    {"server decoding", "decode", Side::kServer},
    {"RDMA Read", "read", Side::kNetwork},
    {"executing", "execute", Side::kServer},
    {"RDMA Write", "write", Side::kNetwork},
    {"server sending", "send", Side::kServer},
    {"network, to the client", "network_back", Side::kNetwork},
    {"client waking up", "wake", Side::kClient},
}};

}  // namespace

const char* stage_text(Stage stage) {
  return kNames.at(static_cast<std::size_t>(stage)).text;
}
const char* stage_key(Stage stage) {
  return kNames.at(static_cast<std::size_t>(stage)).key;
}
Side side_of(Stage stage) {
  return kNames.at(static_cast<std::size_t>(stage)).side;
}

const char* side_key(Side side) {
  switch (side) {
    case Side::kClient:
      return "client";
    case Side::kNetwork:
      return "network";
    case Side::kServer:
      return "server";
    case Side::kInconclusive:
      return "inconclusive";
    case Side::kNone:
      break;
  }
  return "none";
}

bool any(const Ends& ends) {
  return !ends.connections.empty();
}

}  // namespace rpcrdma::ends
