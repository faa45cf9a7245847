#include "html.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include <fmt/core.h>

#include <rpcrdma/rules/rule.h>

namespace rpcrdma::report::html {

namespace {

std::string one(const Finding& f) {
  std::string out = text(f.text);
  std::string where = frames(f.frames, f.count);
  if (f.count > 1) where = fmt::format("{} times{}{}", f.count, where.empty() ? "" : ", ", where);
  const std::string when = rules::spans_text(f.spans);
  if (!when.empty()) where = where.empty() ? when : fmt::format("{}, {}", when, where);
  return where.empty() ? out : fmt::format("{} <span class=\"small\">({})</span>", out, where);
}

std::string connection_link(std::uint32_t id) {
  return id == 0 ? std::string() : fmt::format("<a href=\"#c{}\">connection {}</a>", id, id);
}

std::string group_text(const std::vector<const Finding*>& group) {
  const Finding& first = *group.front();
  const char* severity = rules::severity_name(first.severity);
  std::string peer;
  if (!first.peer.empty()) {
    peer = first.role.empty() ? text(first.peer)
                              : fmt::format("the {} {}", text(first.role), text(first.peer));
  }
  std::string out = fmt::format(
      "<article class=\"finding {}\">\n<h3><span class=\"tag\">{}</span>{}{}</h3>\n", severity,
      severity, text(first.rule), peer.empty() ? "" : fmt::format(", by {}", peer));
  if (group.size() == 1) {
    const std::string where = connection_link(first.connection);
    out += fmt::format("<p>{}{}{}</p>\n", where, where.empty() ? "" : ": ", one(first));
  } else {
    out += "<ul>\n";
    for (std::size_t i = 0; i < std::min(group.size(), kMostOfGroup); ++i) {
      const std::string where = connection_link(group[i]->connection);
      out += fmt::format("<li>{}{}{}</li>\n", where, where.empty() ? "" : ": ", one(*group[i]));
    }
    if (group.size() > kMostOfGroup) {
      out += fmt::format("<li>and {} more of the same rule</li>\n", group.size() - kMostOfGroup);
    }
    out += "</ul>\n";
  }
  if (!first.advice.empty()) {
    out += fmt::format("<p class=\"advice\"><b>What to do:</b> {}</p>\n", text(first.advice));
  }
  if (const rules::Rule* rule = rules::find_rule(first.rule); rule != nullptr) {
    out += fmt::format("<p class=\"rule\">Rule {}: {}.{}</p>\n", rule->name, text(rule->sentence),
                       *rule->section != '\0' ? fmt::format(" ({})", text(rule->section)) : "");
  }
  return out + "</article>\n";
}

// Notes come last and mostly describe implementation quirks. They are folded, so that errors and
// warnings stand out.
std::string notes(std::span<const std::vector<const Finding*>> groups) {
  if (groups.empty()) return {};
  constexpr std::size_t kRulesNamed = 6;
  std::vector<std::string_view> names;
  for (const auto& group : groups) {
    const std::string_view rule = group.front()->rule;
    if (std::find(names.begin(), names.end(), rule) == names.end()) names.push_back(rule);
  }
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kRulesNamed); ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : ", ", text(names[i]));
  }
  std::string out =
      fmt::format("<details><summary>{} note{}: {}{}</summary>\n", groups.size(),
                  groups.size() == 1 ? "" : "s", list, names.size() > kRulesNamed ? ", ..." : "");
  for (const auto& group : groups) out += group_text(group);
  return out + "</details>\n";
}

}  // namespace

std::string findings(const Report& r) {
  // Groups the findings of one rule about one peer, at the place of the first of them.
  using Key = std::tuple<rules::Severity, std::string_view, std::string_view, std::string_view>;
  std::map<Key, std::size_t> index;
  std::vector<std::vector<const Finding*>> groups;
  for (const Finding& f : r.findings) {
    const auto [it, added] =
        index.try_emplace(Key{f.severity, f.rule, f.peer, f.advice}, groups.size());
    if (added) groups.emplace_back();
    groups[it->second].push_back(&f);
  }
  const std::span shown(groups.data(), std::min(groups.size(), kMostFindings));
  const auto note = std::find_if(shown.begin(), shown.end(), [](const auto& group) {
    return group.front()->severity == rules::Severity::kNote;
  });
  std::string body;
  for (auto group = shown.begin(); group != note; ++group) body += group_text(*group);
  if (groups.empty()) body += "<p>None.</p>\n";
  if (note == shown.begin() && note != shown.end()) body += "<p>No errors, no warnings.</p>\n";
  body += notes({note, shown.end()});
  std::uint64_t more = groups.size() - std::min(groups.size(), kMostFindings);
  for (const std::uint64_t n : r.findings_omitted) more += n;
  if (more != 0) body += aside(fmt::format("And {} more kinds of findings, not listed.", more));
  return section("findings", "Findings", body);
}

}  // namespace rpcrdma::report::html
