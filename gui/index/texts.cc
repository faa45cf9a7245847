#include "texts.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <rpcrdma/report/context.h>
#include <rpcrdma/report/event_text.h>

namespace rpcrdma::index {

namespace {

// The limit fits any capture seen so far; texts beyond it all get the same entry.
constexpr std::size_t kMaxTexts = 65536;

template <typename T>
void add_to_key(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::size_t mixed(std::size_t hash, std::uint32_t value) {
  return (hash ^ value) * 0x9e3779b97f4a7c15ULL;
}

// What distinguishes outcomes. The name of a status depends on the program.
bool ends_alike(const model::RpcInfo& a, const model::RpcInfo& b) {
  return a.reply_stat == b.reply_stat && a.accept_stat == b.accept_stat &&
         a.reject_stat == b.reject_stat && a.has_status == b.has_status && a.status == b.status &&
         a.wrapping == b.wrapping && a.program == b.program && a.version == b.version;
}

}  // namespace

std::uint32_t Texts::procedure_of(const model::RpcInfo& rpc) {
  if (!rpc.known) return 0;
  const std::uint32_t kept = rpc.ops.kept;
  if (kept > kOperations) return find_procedure(rpc);
  std::size_t hash = mixed(mixed(rpc.program, rpc.version), rpc.procedure);
  for (std::uint32_t i = 0; i < kept; ++i) hash = mixed(hash, rpc.ops.op[i]);
  Procedure& recent = recent_procedures_[(hash >> 32U) % kRecent];
  if (recent.number != 0 && recent.program == rpc.program && recent.version == rpc.version &&
      recent.procedure == rpc.procedure && recent.announced == rpc.ops.announced &&
      recent.minor == rpc.ops.minor && recent.kept == kept &&
      std::equal(recent.op.begin(), recent.op.begin() + kept, rpc.ops.op.begin())) {
    return recent.number;
  }
  recent = {rpc.program, rpc.version, rpc.procedure, rpc.ops.announced, rpc.ops.minor, kept, {}, 0};
  std::copy_n(rpc.ops.op.begin(), kept, recent.op.begin());
  recent.number = find_procedure(rpc);
  return recent.number;
}

std::uint32_t Texts::outcome_of(const model::RpcInfo& rpc) {
  if (!rpc.header_seen) return 0;
  const std::size_t hash = mixed(mixed(rpc.program, rpc.version), rpc.status);
  Ending& recent = recent_outcomes_[(hash >> 32U) % kRecent];
  if (recent.number == 0 || !ends_alike(recent.rpc, rpc)) {
    recent.rpc = rpc;
    recent.number = find_outcome(rpc);
  }
  return recent.number;
}

void Texts::put(std::vector<ProcedureText>& procedures, std::vector<Outcome>& outcomes) {
  std::move(new_procedures_.begin(), new_procedures_.end(), std::back_inserter(procedures));
  std::move(new_outcomes_.begin(), new_outcomes_.end(), std::back_inserter(outcomes));
  new_procedures_.clear();
  new_outcomes_.clear();
}

std::uint32_t Texts::find_procedure(const model::RpcInfo& rpc) {
  draft_.clear();
  add_to_key(draft_, rpc.program);
  add_to_key(draft_, rpc.version);
  add_to_key(draft_, rpc.procedure);
  add_to_key(draft_, rpc.ops.announced);
  add_to_key(draft_, rpc.ops.minor);
  for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) add_to_key(draft_, rpc.ops.op[i]);
  if (const auto it = procedures_.find(draft_); it != procedures_.end()) return it->second;
  if (procedures_.size() == kMaxTexts) return 0;
  const auto ref = static_cast<std::uint32_t>(procedures_.size() + 1);
  procedures_.emplace(draft_, ref);
  std::string label = report::procedure_label(rpc);
  constexpr std::string_view kNfs = "NFS v";
  const std::size_t version = label.starts_with(kNfs) ? label.find(' ', kNfs.size()) : label.npos;
  std::string brief = version != label.npos ? label.substr(version + 1) : label;
  new_procedures_.push_back({rpc, std::move(label), report::rpc_label(rpc), std::move(brief)});
  return ref;
}

std::uint32_t Texts::find_outcome(const model::RpcInfo& rpc) {
  draft_.clear();
  add_to_key(draft_, rpc.reply_stat);
  add_to_key(draft_, rpc.accept_stat);
  add_to_key(draft_, rpc.reject_stat);
  add_to_key(draft_, rpc.has_status);
  add_to_key(draft_, rpc.status);
  add_to_key(draft_, rpc.wrapping);
  // The name of a status depends on the program.
  add_to_key(draft_, rpc.program);
  add_to_key(draft_, rpc.version);
  if (const auto it = outcomes_.find(draft_); it != outcomes_.end()) return it->second;
  if (outcomes_.size() == kMaxTexts) return 0;
  const auto ref = static_cast<std::uint32_t>(outcomes_.size() + 1);
  outcomes_.emplace(draft_, ref);
  new_outcomes_.push_back({rpc, report::reply_status(rpc)});
  return ref;
}

}  // namespace rpcrdma::index
