#include <fmt/core.h>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/model/content.h>

namespace rpcrdma::model {

namespace {

using decode::FieldId;

// Passes the fields of an encoded header that are known. What it was encoded with in place of an
// unknown value, and whatever concerns its bytes, is left out.
class KnownFields final : public decode::Sink {
 public:
  KnownFields(const Message& m, decode::Sink& to) : m_(m), to_(to) {}

  void open(FieldId id, std::size_t /*offset*/, std::size_t /*length*/,
            std::string_view summary) override {
    if (id != FieldId::kTransport) return to_.open(id, 0, 0, summary);
    std::string own =
        fmt::format("version {}, {}, XID {:#010x}", m_.version, type_name(m_), m_.xid);
    if (!is_absent(m_, roce::kAbsentCredit)) own += fmt::format(", credit {}", m_.credit);
    to_.open(id, 0, 0, own);
  }
  void close() override { to_.close(); }
  void number(FieldId id, std::size_t /*offset*/, std::size_t /*length*/, std::uint64_t value,
              const char* name) override {
    if (is_known(id)) to_.number(id, 0, 0, value, name);
  }
  void bytes(FieldId /*id*/, std::size_t /*offset*/, std::size_t /*length*/,
             wire::Bytes /*value*/) override {}
  void text(FieldId id, std::size_t /*offset*/, std::size_t /*length*/,
            std::string_view value) override {
    to_.text(id, 0, 0, value);
  }
  void error(const wire::DecodeError& /*error*/) override {}

 private:
  [[nodiscard]] bool is_known(FieldId id) const {
    switch (id) {
      case FieldId::kCredit:
        return !is_absent(m_, roce::kAbsentCredit);
      case FieldId::kReadCount:
      case FieldId::kWriteCount:
      case FieldId::kWriteSegments:
      case FieldId::kReplyPresent:
      case FieldId::kReplyCount:
        return !is_absent(m_, roce::kAbsentChunks);
      default:
        return true;
    }
  }

  const Message& m_;
  decode::Sink& to_;
};

// The first words of the RPC message. In a Reply the procedure is that of its Call.
void report_rpc(const Message& m, decode::Sink& sink) {
  const RpcInfo& rpc = m.rpc;
  const bool call = m.kind == Kind::kCall;
  if (m.kind != Kind::kReply && !call) return;
  const decode::ProcedureId id = procedure_of(rpc);
  const char* const program = decode::program_name(rpc.program, rpc.version, rpc.procedure);
  const char* const procedure = decode::procedure_name(id.program, id.version, id.procedure);
  std::string summary = call ? "Call" : "Reply";
  if (rpc.known) {
    summary += fmt::format(", {} version {} {}",
                           program != nullptr ? program : std::to_string(rpc.program), rpc.version,
                           procedure != nullptr ? procedure : std::to_string(rpc.procedure));
  }
  sink.open(FieldId::kRpc, 0, 0, summary);
  sink.number(FieldId::kRpcMsgType, 0, 0, call ? 0 : 1, nullptr);
  if (rpc.known) {
    sink.number(FieldId::kRpcProgram, 0, 0, rpc.program, program);
    sink.number(FieldId::kRpcProgramVersion, 0, 0, rpc.version, nullptr);
    sink.number(FieldId::kRpcProcedure, 0, 0, rpc.procedure, procedure);
  }
  sink.close();
}

}  // namespace

void decode_content(const Message& m, decode::Sink& sink) {
  if (is_absent(m, roce::kAbsentBytes)) {
    if (m.header_length == 0 || m.header_length > m.encoded.size()) return;
    KnownFields known(m, sink);
    decode::decode_message(wire::Bytes(m.encoded).first(m.header_length), known, nullptr,
                           m.dialect);
    return report_rpc(m, sink);
  }
  const decode::ProcedureId id = procedure_of(m.rpc);
  decode::decode_message(m.bytes, sink, m.kind == Kind::kReply && m.rpc.known ? &id : nullptr,
                         m.dialect);
}

}  // namespace rpcrdma::model
