#include "rules.h"

#include "plugin.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

#include <rpcrdma/rules/rule.h>

namespace rpcrdma::wireshark {

namespace {

using rules::Level;
using rules::Severity;

constexpr std::size_t kSeverities = 3;

// By rule and rules::Severity. Empty for a severity that violations of the rule cannot have.
std::vector<std::array<expert_field, kSeverities>>& experts() {
  static std::vector<std::array<expert_field, kSeverities>> fields(rules::rules().size(),
                                                                   {{EI_INIT, EI_INIT, EI_INIT}});
  return fields;
}

Level level_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return Level::kError;
    case Severity::kWarning:
      return Level::kWarning;
    case Severity::kNote:
      break;
  }
  return Level::kNote;
}

int pi_of(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return PI_ERROR;
    case Severity::kWarning:
      return PI_WARN;
    case Severity::kNote:
      break;
  }
  return PI_NOTE;
}

}  // namespace

// "rpcrdma.rule.FC-01" has the severity that RFC 8166 implies; a violation with less effect, or one
// under RFC 5666, is registered as "rpcrdma.rule.FC-01.warning".
void register_rules() {
  static std::deque<std::string> names, summaries;
  static std::vector<ei_register_info> infos;
  infos.reserve(rules::rules().size() * kSeverities);
  for (const rules::Rule& rule : rules::rules()) {
    const char* const summary =
        summaries.emplace_back(std::string(rule.name) + ": " + rule.sentence).c_str();
    const Level most = std::max(rule.level5666, rule.level8166);
    for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
      if (level_of(severity) > most) continue;
      std::string name = std::string("rpcrdma.rule.") + rule.name;
      if (level_of(severity) != rule.level8166) {
        name += std::string(".") + rules::severity_name(severity);
      }
      names.push_back(std::move(name));
      infos.push_back(
          {&experts()[static_cast<std::size_t>(rule.id)][static_cast<std::size_t>(severity)],
           {names.back().c_str(), PI_PROTOCOL, pi_of(severity), summary, EXPFILL}});
    }
  }
  expert_register_field_array(expert_register_protocol(registered.protocol), infos.data(),
                              static_cast<int>(infos.size()));
}

void add_finding(const annotations::FindingNote& finding, tvbuff_t* tvb, packet_info* pinfo,
                 proto_tree* tree) {
  const rules::Rule& rule = rules::rule(finding.rule);
  proto_item* item =
      proto_tree_add_string(tree, hf(decode::FieldId::kFinding), tvb, 0, 0, rule.name);
  proto_item_set_generated(item);
  proto_item_append_text(item, ": %s", finding.text.c_str());
  expert_field* expert = &experts()[static_cast<std::size_t>(finding.rule)]
                                   [static_cast<std::size_t>(finding.severity)];
  if (expert->ei <= 0) return;
  if (finding.peer.empty()) {
    expert_add_info_format(pinfo, item, expert, "%s: %s", rule.name, finding.text.c_str());
  } else {
    expert_add_info_format(pinfo, item, expert, "%s: %s (at fault: %s)", rule.name,
                           finding.text.c_str(), finding.peer.c_str());
  }
  proto_tree* below = proto_item_add_subtree(item, registered.tree);
  proto_item* said = nullptr;
  proto_tree_add_subtree_format(below, tvb, 0, 0, registered.tree, &said, "%s%s%s%s", rule.sentence,
                                rule.section[0] != 0 ? " (" : "", rule.section,
                                rule.section[0] != 0 ? ")" : "");
  proto_item_set_generated(said);
  proto_tree_add_subtree_format(below, tvb, 0, 0, registered.tree, &said, "%s",
                                finding.advice.c_str());
  proto_item_set_generated(said);
}

}  // namespace rpcrdma::wireshark
