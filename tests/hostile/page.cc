#include "page.h"

#include <fmt/format.h>

namespace rpcrdma::hostile {

namespace {

constexpr const char* kIntroduction =
    R"(# Hostile peers

The 91 rules that `rpcrdma rules` lists of the specifications, each broken on purpose by a scripted peer that
sends any bytes in any order: against our server as a client, against our client as a server, and in the
reverse direction. Where no peer can break a rule, the table says why. Server and client are
those of `engine/service` with their default options or what the scene needs, over the soft fabric in a
simulated network. This file is made by `hostile_test` (tests/hostile), which plays every scene and
compares; do not edit it.

- **Ours**: which of the two our endpoint was.
- **Answer**: what it did, as it was measured: the messages that came back to the peer, how our client's
  Call ended, and why a connection ended, if it did. "ignored": nothing came back.
- **Lives on**: where the next Call of the same peer was answered.
- **Others**: another client of the same server, or another server of the same client, had its Calls answered
  rightly while this went on, and afterwards.
- **Analyzer**: what `rpcrdma analyze` finds by the rule, and whom it blames, in the packets of our endpoint
  and in the recording that it made of itself, unless it says why that does not show it. No error or warning
  by a rule blames our endpoint or the others.

When a scene is over, nothing is under way at our endpoint, and with the connections all their memory is given
back.

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
      "| Rule | What it says | Ours | What the peer did | Answer | Lives on | Others | Analyzer |\n"
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
