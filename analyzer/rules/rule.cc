#include <algorithm>
#include <array>
#include <cctype>

#include <rpcrdma/rules/rule.h>

namespace rpcrdma::rules {

namespace {

using enum Where;
using enum Level;

constexpr std::array kRules = {
#define RPCRDMA_RULE(id, name, where, level5666, level8166, needs, section, sentence, advice) \
  Rule{RuleId::id, name, where, level5666, level8166, needs, section, sentence, advice},
#include <rpcrdma/rules/rules.def>
#undef RPCRDMA_RULE
};

}  // namespace

std::span<const Rule> rules() {
  return kRules;
}

const Rule& rule(RuleId id) {
  return kRules[static_cast<std::size_t>(id)];
}

const Rule* find_rule(std::string_view name) {
  const auto same_letter = [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) ==
           std::toupper(static_cast<unsigned char>(b));
  };
  const auto it = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& r) {
    const std::string_view own = r.name;
    return std::equal(own.begin(), own.end(), name.begin(), name.end(), same_letter);
  });
  return it == kRules.end() ? nullptr : &*it;
}

bool is_judged_from(const Rule& r, roce::Origin origin) {
  // Every rule needs messages.
  if (r.where == kEndpoint || origin == roce::Origin::kKernelSums) return false;
  return is_judged(r, roce::absent_from(origin));
}

std::size_t rules_not_judged(std::uint16_t absent, Profile profile) {
  return static_cast<std::size_t>(std::count_if(kRules.begin(), kRules.end(), [&](const Rule& r) {
    return r.where != kEndpoint && r.level(profile) != kOff && !is_judged(r, absent);
  }));
}

const char* where_name(Where where) {
  switch (where) {
    case kHeader:
      return "header";
    case kPair:
      return "pair";
    case kConnection:
      return "connection";
    case kPackets:
      return "packets";
    case kSetup:
      return "set-up";
    case kEndpoint:
      return "endpoint";
    case kDiagnosis:
      return "diagnosis";
    case kImplementationQuirk:
      return "quirk";
    case kCaptureItself:
      return "capture";
  }
  return "unknown";
}

const char* level_name(Level level) {
  switch (level) {
    case kOff:
      return "off";
    case kNote:
      return "note";
    case kWarning:
      return "warning";
    case kError:
      return "error";
  }
  return "off";
}

}  // namespace rpcrdma::rules
