// rpcrdma rules: lists and explains the rules.
#include "colour.h"
#include "commands.h"
#include "input.h"

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/report/json_writer.h>
#include <rpcrdma/rules/rule.h>

namespace rpcrdma::cli {

namespace {

constexpr std::array<std::pair<const char*, roce::Origin>, 4> kSources{{
    {"packets", roce::Origin::kPackets},
    {"endpoint", roce::Origin::kEndpoint},
    {"bpf", roce::Origin::kKernelBpf},
    {"tracepoints", roce::Origin::kKernelTracepoints},
}};

struct RulesOptions {
  std::vector<std::string> names;
  std::string source;  // one of kSources; empty: any
  bool json = false;
};

std::string needs_text(std::uint32_t needs) {
  std::string text;
  const auto item = [&](rules::Needs need, const char* what) {
    if ((needs & need) == 0) return;
    text += text.empty() ? "" : "; ";
    text += what;
  };
  item(rules::kLossFree, "a capture that lost no packet of the connection");
  item(rules::kLossFreeCall, "a capture that lost no packet while the Call was in flight");
  item(rules::kBothDirections, "packets of both directions");
  item(rules::kSetupSeen, "the connection's setup");
  item(rules::kSteadyClock, "a clock that does not step back");
  item(rules::kOperations,
       "the RDMA operations of the side at fault: a recording of its peer may not have them");
  item(rules::kBytes, "the bytes of messages");
  item(rules::kChunkLists, "chunk lists");
  item(rules::kLengths, "the lengths of Sends");
  item(rules::kRequests, "the credits that Calls request");
  item(rules::kGrants, "the credits that Replies grant");
  item(rules::kInvalidations, "which Sends invalidate a handle");
  item(rules::kPrivateData, "private data, and the limits of RDMA Reads in flight");
  item(rules::kExactOperations, "handle, offset and length of RDMA Reads and Writes");
  item(rules::kRefusals, "NAKs, RNR NAKs or retransmissions");
  item(rules::kPacketLevel, "packets");
  return text;
}

// "packets, endpoint, kernel BPF"
std::string judged_from_text(const rules::Rule& r) {
  std::string text;
  for (const auto& [name, origin] : kSources) {
    if (!rules::is_judged_from(r, origin)) continue;
    text += text.empty() ? "" : ", ";
    text += roce::origin_name(origin);
  }
  return text;
}

const char* where_text(rules::Where where) {
  switch (where) {
    case rules::Where::kHeader:
      return "in each message on its own";
    case rules::Where::kPair:
      return "in a Call and its Reply";
    case rules::Where::kConnection:
      return "against earlier messages of the connection";
    case rules::Where::kPackets:
      return "in RDMA Reads and Writes";
    case rules::Where::kSetup:
      return "in the CM exchange that sets up a connection";
    case rules::Where::kEndpoint:
      return "never: no capture can show it, only the endpoint itself can";
    case rules::Where::kDiagnosis:
      return "while a connection is open and when it ends: not required by a specification, but a "
             "likely problem and its cause";
    case rules::Where::kImplementationQuirk:
      return "when a connection ends: intended behaviour of a known implementation";
    case rules::Where::kCaptureItself:
      return "from what is missing in the capture itself";
  }
  return "";
}

void explain(const rules::Rule& r, bool bold) {
  fmt::print("{}{}{}  {}.\n", bold ? "\033[1m" : "", r.name, bold ? "\033[0m" : "", r.sentence);
  fmt::print("  checked    {}\n", where_text(r.where));
  if (r.where != rules::Where::kEndpoint) {
    fmt::print("  severity   {} (RFC 8166), {} (RFC 5666)\n", rules::level_name(r.level8166),
               rules::level_name(r.level5666));
  }
  if (const std::string from = judged_from_text(r); !from.empty()) {
    fmt::print("  judged     from {}\n", from);
  }
  if (*r.section != '\0') fmt::print("  section    {}\n", r.section);
  if (r.needs != 0) fmt::print("  needs      {}\n", needs_text(r.needs));
  if (*r.advice != '\0') fmt::print("  advice     {}\n", r.advice);
}

void write_json(const std::vector<const rules::Rule*>& chosen) {
  report::JsonWriter json;
  json.array();
  for (const rules::Rule* r : chosen) {
    json.object();
    json.field("rule", r->name);
    json.field("checked", rules::where_name(r->where));
    json.object("severity");
    json.field("8166", rules::level_name(r->level8166));
    json.field("5666", rules::level_name(r->level5666));
    json.end();
    json.field("section", r->section);
    json.field("sentence", r->sentence);
    json.field("needs", needs_text(r->needs));
    json.array("judged_from");
    for (const auto& [name, origin] : kSources) {
      if (rules::is_judged_from(*r, origin)) json.value(name);
    }
    json.end();
    json.field("advice", r->advice);
    json.end();
  }
  json.end();
  fmt::print("{}", json.take());
}

int rules_command(const RulesOptions& options) {
  std::vector<const rules::Rule*> chosen;
  for (const std::string& name : options.names) {
    const rules::Rule* r = rules::find_rule(name);
    if (r == nullptr) {
      complain(fmt::format("rules: {}: no such rule (`rpcrdma rules` lists them)", name));
      return kUnreadable;
    }
    chosen.push_back(r);
  }
  if (chosen.empty()) {
    for (const rules::Rule& r : rules::rules()) chosen.push_back(&r);
  }
  for (const auto& [name, origin] : kSources) {
    if (options.source != name) continue;
    std::erase_if(chosen, [of = origin](const rules::Rule* r) { return !is_judged_from(*r, of); });
  }
  if (options.json) {
    write_json(chosen);
    return kOk;
  }
  const bool colour = colour_wanted(stdout);
  if (!options.names.empty()) {
    for (const rules::Rule* r : chosen) {
      if (r != chosen.front()) fmt::print("\n");
      explain(*r, colour);
    }
    return kOk;
  }
  for (const rules::Rule* r : chosen) {
    fmt::print("{:<17} {:<10} {:<8} {}\n", r->name, rules::where_name(r->where),
               r->where == rules::Where::kEndpoint ? "-" : rules::level_name(r->level8166),
               r->sentence);
  }
  return kOk;
}

}  // namespace

Run add_rules(command_line::Command& command) {
  auto options = std::make_shared<RulesOptions>();
  command.argument("RULE", options->names, "Rules to explain, such as FC-01 (list all)");
  command
      .option("--source", options->source,
              "List only rules that are judged from this source: packets of a capture, events of "
              "an endpoint, or Linux by BPF programs or by the records of tracepoints")
      .one_of({"packets", "endpoint", "bpf", "tracepoints"});
  command.flag("--json", options->json, "Print a JSON list (docs/json.md)");
  return [options] { return rules_command(*options); };
}

}  // namespace rpcrdma::cli
