#include "page.h"

#include <fmt/format.h>

namespace rpcrdma::hostile {

namespace {

constexpr const char* kIntroduction =
    R"(# Hostile peers

The 91 rules of the specifications that `rpcrdma rules` lists, each broken on purpose by a scripted peer that
sends any bytes in any order: against our server as a client, against our client as a server, and in the
reverse direction. If no peer can break a rule, the table says why. Server and client are those of
`engine/service`, with default options or with those that the scene requires, on the soft fabric in a
simulated network. `hostile_test` (tests/hostile) generates this file: it plays every scene and compares the
results. Do not edit it.

- **Ours**: the side of our endpoint.
- **Answer**: the measured reaction of our endpoint: the messages that the peer received, how our client's
  Call ended, and why a connection ended, if it did. "ignored": no message was sent.
- **Lives on**: the connection on which the next Call of the same peer was answered.
- **Others**: another client of the same server, or another server of the same client, had its Calls answered
  correctly during the scene and afterwards.
- **Analyzer**: the severity that `rpcrdma analyze` reports for the rule, and the side at fault, in the packets
  of our endpoint and in its recording, or why the recording does not show it. No error or warning of a rule
  is against our endpoint or the others.

At the end of a scene, nothing is in flight at our endpoint, and when the connections are closed, all their
memory has been released.

)";

std::string rule_cell(const rules::Rule& rule, bool first) {
  return first ? fmt::format("| {} | {} ", rule.name, rule.sentence)
               : fmt::format("| {} | ", rule.name);
}

}  // namespace

bool of_specification(const rules::Rule& rule) {
  switch (rule.where) {
    case rules::Where::kHeader:
    case rules::Where::kPair:
    case rules::Where::kConnection:
    case rules::Where::kPackets:
    case rules::Where::kSetup:
    case rules::Where::kEndpoint:
      return true;
    case rules::Where::kDiagnosis:
    case rules::Where::kImplementationQuirk:
    case rules::Where::kCaptureItself:
      break;
  }
  return false;
}

std::string page() {
  std::string text = kIntroduction;
  text +=
      "| Rule | Sentence | Ours | Action of the peer | Answer | Lives on | Others | Analyzer |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const rules::Rule& rule : rules::rules()) {
    if (!of_specification(rule)) continue;
    bool first = true;
    for (const HostileScene& scene : all_scenes()) {
      if (scene.rule != rule.name) continue;
      const Row row = play(scene);
      text += rule_cell(rule, first) + fmt::format("| {} | {} | {} | {} | served | {} |\n",
                                                   scene.server ? "server" : "client", scene.did,
                                                   row.answer, row.lives, row.analyzer);
      first = false;
    }
    for (const Unseen& unseen : all_unseen()) {
      if (unseen.rule != rule.name) continue;
      text += rule_cell(rule, true) + fmt::format("| - | {} | - | - | - | - |\n", unseen.why);
    }
  }
  return text;
}

}  // namespace rpcrdma::hostile
