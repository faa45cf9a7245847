#include "checks.h"

#include <fmt/core.h>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::rules {

namespace {

using model::Kind;
using wire::Proc;

// The decoder itself names the rule that the bytes violate.
void check_decodes(const model::Message& m, const CheckContext& context) {
  if (!m.malformed) return;
  const Rule* broken = find_rule(m.malformed->rule);
  const RuleId id = broken != nullptr ? broken->id : RuleId::kHdr06;
  note_faulty(m, context);
  context.findings.add(id, evidence(m, context.connection, m.sender), [&] {
    if (id == RuleId::kHdr03) return fmt::format("rdma_vers is {}", m.version);
    return fmt::format("malformed transport header: {}, at byte {}", m.malformed->what,
                       m.malformed->offset);
  });
}

// A receiver may take the message as any other, or end the connection.
void check_immediate(const model::Message& m, const CheckContext& context) {
  if (!m.has_immediate) return;
  context.history.note_cause(m.sender, m.id);
  context.findings.add(RuleId::kHdr11, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("message {:#010x} was sent by Send with Immediate", m.xid);
  });
}

// RFC 5531 section 11: a record mark has a bit for the last fragment, and the fragment's length.
// The bit or the length alone identifies a record mark, but if the XID looks like a msg_type, only
// the length does.
bool has_record_mark(const model::Message& m, wire::Bytes rpc) {
  if (rpc.size() < 8) return false;
  const std::uint32_t mark = wire::load_be32(rpc.data());
  if (mark == m.xid || wire::load_be32(rpc.data() + 4) != m.xid) return false;
  const bool right_length = (mark & 0x7fffffffU) == m.wire_length - m.header_length - 4;
  return right_length || (m.xid > 1 && (mark & 0x80000000U) != 0);
}

void check_record_mark(const model::Message& m, wire::Bytes rpc, const CheckContext& context) {
  note_faulty(m, context);
  context.findings.add(RuleId::kHdr08, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("a TCP record mark, {:#010x}, precedes the RPC message",
                       wire::load_be32(rpc.data()));
  });
}

void check_xid(const model::Message& m, const CheckContext& context) {
  if (!m.rpc_xid || *m.rpc_xid == m.xid) return;
  note_faulty(m, context);
  context.findings.add(RuleId::kHdr02, evidence(m, context.connection, m.sender), [&] {
    return fmt::format("rdma_xid is {:#010x}, but the XID of the RPC message is {:#010x}", m.xid,
                       *m.rpc_xid);
  });
}

// Checks that an RPC message or nothing follows the header, as rdma_proc requires.
void check_payload(const model::Message& m, const CheckContext& context) {
  const auto proc = static_cast<Proc>(m.proc);
  // error_checks.cc checks the length of an error; anything may follow an OPTIONAL.
  if (proc == Proc::kOptional || (proc == Proc::kError && m.version == 1)) return;
  const std::uint64_t length = m.wire_length - m.header_length;
  const bool wants_message = proc == Proc::kMsg || proc == Proc::kMsgp;
  const RuleId id = m.version == 2 ? RuleId::kV201 : RuleId::kHdr07;
  const auto add = [&](const auto& text) {
    note_faulty(m, context);
    context.findings.add(id, evidence(m, context.connection, m.sender), text);
  };
  const char* name = wire::proc_name(m.version, m.proc);
  if (!wants_message) {
    if (length != 0 && m.complete) {
      add([&] { return fmt::format("{} bytes follow the header of an {}", length, name); });
    }
    return;
  }
  if (length < 8) {
    if (m.complete) {
      add([&] { return fmt::format("{} bytes follow the header of an {}", length, name); });
    }
    return;
  }
  if (m.payload.size() < 8) return;
  const std::uint32_t type = wire::load_be32(m.payload.data() + 4);
  if (type > 1) {
    add([&] {
      return fmt::format("no RPC message follows the header of an {}: the msg_type is {}", name,
                         type);
    });
  }
}

}  // namespace

wire::Bytes rpc_message(const model::Message& m, const model::Call* call) {
  if (m.proc != static_cast<std::uint32_t>(Proc::kNomsg)) return m.payload;
  if (call == nullptr) return {};
  const auto list = m.kind == Kind::kCall ? model::ChunkList::kRead : model::ChunkList::kReply;
  for (const model::CallChunk& c : call->chunks) {
    if (c.list == list && c.position == 0) return c.data.head();
  }
  return {};
}

void check_header(const model::Message& m, const model::Call* call, const CheckContext& context) {
  check_immediate(m, context);
  if (m.header_length == 0) return check_decodes(m, context);
  const wire::Bytes rpc = rpc_message(m, call);
  if (has_record_mark(m, rpc)) return check_record_mark(m, rpc, context);
  check_xid(m, context);
  check_payload(m, context);
}

void check_identified_xid(const model::Call& call, const CheckContext& context) {
  check_xid(call.message, context);
}

// Called when the content of the Position Zero Read chunk could not be decoded.
void check_unidentified(const model::Call& call, const CheckContext& context) {
  const model::Message& m = call.message;
  if (call.identified || m.proc != static_cast<std::uint32_t>(Proc::kNomsg)) return;
  const wire::Bytes rpc = rpc_message(m, &call);
  if (has_record_mark(m, rpc)) return check_record_mark(m, rpc, context);
  check_xid(m, context);
}

}  // namespace rpcrdma::rules
