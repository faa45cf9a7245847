#include "slow_option.h"

#include "input.h"

#include <algorithm>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>

namespace rpcrdma::cli {

namespace {

std::string upper_case(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

// Whether a report can count Calls under this name: of a procedure, or of an operation of NFSv4.
bool is_procedure(const std::string& name) {
  constexpr std::uint32_t kPrograms[] = {
      decode::kProgPortmap,  decode::kProgNfs,        decode::kProgMount,
      decode::kProgNlm,      decode::kProgNsm,        decode::kProgNfsAcl,
      decode::kProgEcho,     decode::kProgRdmaConfig, decode::kProgEchoCallback,
      decode::kProgTransfer, decode::kProgSelftest,   decode::kProgNfsCallback};
  constexpr std::uint32_t kVersions = 4;
  constexpr std::uint32_t kNumbers = 128;  // of procedures and operations
  for (std::uint32_t n = 0; n < kNumbers; ++n) {
    for (const std::uint32_t program : kPrograms) {
      for (std::uint32_t version = 1; version <= kVersions; ++version) {
        const char* const known = decode::procedure_name(program, version, n);
        if (known != nullptr && name == known) return true;
      }
    }
    for (const bool callback : {false, true}) {
      const char* const known = decode::nfs4_op_name(n, callback);
      if (known != nullptr && name == known) return true;
    }
  }
  return false;
}

}  // namespace

void add_slow(command_line::Command& command, std::vector<std::string>& limits) {
  command
      .option("--slow", limits,
              "Report Calls that take longer, or wait longer in vain: READ=20ms (of any version of "
              "NFS), or 50ms for all Calls")
      .value("LIMIT")
      .delimiter(',')
      .one_word();
}

std::optional<std::vector<report::SlowLimit>> parse_slow(const std::vector<std::string>& limits,
                                                         const char* command) {
  std::vector<report::SlowLimit> parsed;
  for (const std::string& text : limits) {
    const std::size_t equals = text.find('=');
    report::SlowLimit limit;
    if (equals != std::string::npos) limit.procedure = upper_case(text.substr(0, equals));
    const std::string time = equals == std::string::npos ? text : text.substr(equals + 1);
    const auto ns = base::parse_duration(time);
    const bool no_unit = !time.empty() && time.back() >= '0' && time.back() <= '9';
    if (!ns || *ns <= 0 || no_unit) {
      complain(
          fmt::format("{}: --slow {}: \"{}\" is not a duration such as 20ms", command, text, time));
      return std::nullopt;
    }
    if (equals != std::string::npos && !is_procedure(limit.procedure)) {
      complain(fmt::format("{}: --slow {}: \"{}\" is no procedure or operation with a known name",
                           command, text, text.substr(0, equals)));
      return std::nullopt;
    }
    limit.limit_ns = *ns;
    parsed.push_back(std::move(limit));
  }
  if (parsed.size() > report::kMaxLimits) {
    complain(fmt::format("{}: --slow: at most {} limits", command, report::kMaxLimits));
    return std::nullopt;
  }
  return parsed;
}

}  // namespace rpcrdma::cli
