// The hostile matrix: for each rule, which side can break it against an endpoint, how, and the
// reaction of the endpoint and the analyzer.
#pragma once

#include "against_client.h"
#include "against_server.h"

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <rpcrdma/rules/rule.h>

namespace rpcrdma::hostile {

struct HostileScene {
  std::string rule;  // "FC-01"
  // A clause about the scripted peer's action; the peer is its subject.
  std::string did;
  // The reaction of our endpoint, as described by AgainstServer::emitted() and
  // AgainstClient::emitted().
  std::string answer;
  // Exactly one is set: our endpoint is the server, or the client.
  std::function<void(AgainstServer&)> server = {};
  std::function<void(AgainstClient&)> client = {};
  // Options of our endpoint.
  service::ServerOptions server_options = {};
  service::ClientOptions client_options = one_version(1);
  bool serves = false;  // the client serves reverse Calls
  rules::Profile profile = rules::Profile::k8166;
  // Why only the packets show the violation; empty: the recording shows it, too.
  std::string not_in_recording = {};

  [[nodiscard]] static service::ClientOptions one_version(std::uint32_t version) {
    service::ClientOptions options;
    options.version.versions = {version, version};
    options.backoff_first = fabric::kMillisecond;
    return options;
  }
};

void PrintTo(const HostileScene& scene, std::ostream* out);  // for GoogleTest

// A rule that no peer can break against an endpoint, with the reason.
struct Unseen {
  std::string rule;
  std::string why;
};

[[nodiscard]] const std::vector<HostileScene>& all_scenes();
[[nodiscard]] const std::vector<Unseen>& all_unseen();

using Matrix = std::vector<HostileScene>;

// One file for each section of the rules.
void add_header_scenes(Matrix& m);        // HDR
void add_credit_scenes(Matrix& m);        // FC
void add_inline_scenes(Matrix& m);        // INL
void add_read_list_scenes(Matrix& m);     // RD
void add_write_list_scenes(Matrix& m);    // WR
void add_reply_chunk_scenes(Matrix& m);   // RP
void add_error_scenes(Matrix& m);         // ERR
void add_deprecated_scenes(Matrix& m);    // DEP
void add_reverse_scenes(Matrix& m);       // BI
void add_private_data_scenes(Matrix& m);  // CMP
void add_invalidation_scenes(Matrix& m);  // INV
void add_operation_scenes(Matrix& m);     // OPS
void add_version2_scenes(Matrix& m);      // V2

// The result of a scene.
struct Row {
  std::string answer;
  std::string lives;     // "the same connection", "a new connection"
  std::string analyzer;  // "error against the client"
};

// Plays the scene with all expectations except that of `answer`.
[[nodiscard]] Row play(const HostileScene& scene);

}  // namespace rpcrdma::hostile
