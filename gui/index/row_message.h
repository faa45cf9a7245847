// Presents rows as messages, the form that model_fields() and filters read.
#pragma once

#include <string_view>
#include <vector>

#include <rpcrdma/filter/inputs.h>
#include <rpcrdma/index/store.h>

namespace rpcrdma::index {

class RowMessage {
 public:
  // Valid until the next call; `content` locked.
  const filter::Inputs& of(const Content& content, std::uint64_t id) {
    const MessageRow row = content.rows[id - 1];
    m_.id = id;
    m_.frame = row.frame;
    m_.first_frame = row.frame - row.first_frame;
    m_.time_ns = row.time_ns;
    m_.connection = row.connection;
    m_.sender = row.sender;
    m_.caller = row.caller;
    m_.kind = row.kind;
    m_.xid = row.xid;
    m_.version = row.version;
    m_.credit = row.credit;
    m_.proc = row.proc;
    m_.dialect = row.dialect;
    m_.header_length = row.is(MessageRow::kHeader) ? 1 : 0;
    m_.wire_length = row.length;
    m_.complete = row.is(MessageRow::kComplete);
    m_.suspect = row.is(MessageRow::kSuspect);
    m_.ce = row.is(MessageRow::kCe);
    m_.absent = row.absent();
    m_.error = static_cast<wire::RdmaErr>(row.error);
    m_.has_invalidate = row.is(MessageRow::kInvalidates);
    m_.invalidated_handle = row.handle;
    set_rpc(content, row.procedure, row.outcome);
    m_.credits = row.credits();
    m_.match_frame =
        row.match != 0 && row.match <= content.rows.size() ? content.rows[row.match - 1].frame : 0;
    m_.latency_ns = row.latency_ns;
    in_.message = &m_;
    in_.call = nullptr;
    if (row.is(MessageRow::kOfCall)) {
      call_.message.id = row.kind == model::Kind::kCall ? id : row.match;
      call_.operations_total = row.operations;
      call_.chunks.resize(1);
      call_.chunks[0].moved = row.moved;
      in_.call = &call_;
    }
    in_.connection = content.connection_id(row.connection);
    in_.reverse = content.reverse(row);
    in_.start_ns = content.first_ns;
    findings_.clear();
    if (row.worst != MessageRow::kNothingFound) {
      const auto [begin, end] = content.kinds_of.equal_range(id);
      for (auto it = begin; it != end; ++it) {
        findings_.emplace_back(content.kinds[it->second].rule->name);
      }
    }
    in_.findings = findings_;
    return in_;
  }

 private:
  // Copying all of it would take most of the time, and most messages have the procedure of the one
  // before.
  void set_rpc(const Content& content, std::uint32_t procedure, std::uint32_t outcome) {
    static const model::RpcInfo kNone;
    const model::RpcInfo& asked = procedure != 0 ? content.procedures[procedure].rpc : kNone;
    if (procedure != procedure_) m_.rpc = asked;
    procedure_ = procedure;
    const model::RpcInfo& ended = outcome != 0 ? content.outcomes[outcome].rpc : asked;
    m_.rpc.header_seen = outcome != 0;
    m_.rpc.reply_stat = ended.reply_stat;
    m_.rpc.accept_stat = ended.accept_stat;
    m_.rpc.reject_stat = ended.reject_stat;
    m_.rpc.has_status = ended.has_status;
    m_.rpc.status = ended.status;
    m_.rpc.wrapping = outcome != 0 ? ended.wrapping : decode::Wrapping::kUnknown;
  }

  model::Message m_;
  std::uint32_t procedure_ = UINT32_MAX;  // of m_.rpc
  model::Call call_;
  filter::Inputs in_;
  std::vector<std::string_view> findings_;
};

}  // namespace rpcrdma::index
