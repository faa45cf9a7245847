#include <fmt/core.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/model/procedure_name.h>

namespace rpcrdma::model {

namespace {

std::string program_part(const RpcInfo& rpc) {
  const char* name = decode::program_name(rpc.program, rpc.version, rpc.procedure);
  return name != nullptr ? fmt::format("{} v{}", name, rpc.version)
                         : fmt::format("program {} v{}", rpc.program, rpc.version);
}

std::string procedure_part(const RpcInfo& rpc) {
  const char* name = decode::procedure_name(rpc.program, rpc.version, rpc.procedure);
  return name != nullptr ? std::string(name) : fmt::format("procedure {}", rpc.procedure);
}

std::string op_name(std::uint32_t op, bool callback) {
  const char* name = decode::nfs4_op_name(op, callback);
  return name != nullptr ? std::string(name) : fmt::format("op {}", op);
}

}  // namespace

bool is_auxiliary(std::uint32_t op, bool callback) {
  if (callback) return op == 11;  // CB_SEQUENCE
  switch (op) {
    case 9:   // GETATTR
    case 10:  // GETFH
    case 22:  // PUTFH
    case 23:  // PUTPUBFH
    case 24:  // PUTROOTFH
    case 31:  // RESTOREFH
    case 32:  // SAVEFH
    case 53:  // SEQUENCE
      return true;
    default:
      return false;
  }
}

void put_rpc_label(base::TextBuffer& out, const RpcInfo& rpc) {
  if (!rpc.known) return;
  const char* const program = decode::program_name(rpc.program, rpc.version, rpc.procedure);
  program != nullptr ? out.put(program) : out.put("program ", rpc.program);
  out.put(" v", rpc.version, ' ');
  const char* const procedure = decode::procedure_name(rpc.program, rpc.version, rpc.procedure);
  procedure != nullptr ? out.put(procedure) : out.put("procedure ", rpc.procedure);
  const bool callback = decode::is_transient_program(rpc.program);
  for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) {
    const char* const op = decode::nfs4_op_name(rpc.ops.op[i], callback);
    op != nullptr ? out.put(' ', op) : out.put(" op ", rpc.ops.op[i]);
  }
  if (rpc.ops.announced > rpc.ops.kept) out.put(" ...");
}

std::string rpc_label(const RpcInfo& rpc) {
  base::TextBuffer text;
  put_rpc_label(text, rpc);
  return std::string(text.view());
}

std::uint32_t principal_operation(const RpcInfo& rpc) {
  if (rpc.ops.kept == 0) return UINT32_MAX;
  const bool callback = decode::is_transient_program(rpc.program);
  for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) {
    if (!is_auxiliary(rpc.ops.op[i], callback)) return rpc.ops.op[i];
  }
  // Its principal operation is beyond the captured bytes.
  if (rpc.ops.announced > rpc.ops.kept) return UINT32_MAX;
  return rpc.ops.op[rpc.ops.kept - 1];
}

std::string procedure_label(const RpcInfo& rpc) {
  if (!rpc.known) return "unknown";
  const std::uint32_t op = principal_operation(rpc);
  return program_part(rpc) + ' ' +
         (op == UINT32_MAX ? procedure_part(rpc)
                           : op_name(op, decode::is_transient_program(rpc.program)));
}

}  // namespace rpcrdma::model
