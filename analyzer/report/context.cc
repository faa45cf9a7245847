#include <array>
#include <ctime>

#include <fmt/format.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/model/outcome.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::report {

namespace {

// Operations that a COMPOUND needs on its way and is not about.
bool is_plumbing(std::uint32_t op, bool callback) {
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

std::string program_part(const model::RpcInfo& rpc) {
  const char* name = decode::program_name(rpc.program, rpc.version, rpc.procedure);
  return name != nullptr ? fmt::format("{} v{}", name, rpc.version)
                         : fmt::format("program {} v{}", rpc.program, rpc.version);
}

std::string procedure_part(const model::RpcInfo& rpc) {
  const char* name = decode::procedure_name(rpc.program, rpc.version, rpc.procedure);
  return name != nullptr ? std::string(name) : fmt::format("procedure {}", rpc.procedure);
}

std::string op_name(std::uint32_t op, bool callback) {
  const char* name = decode::nfs4_op_name(op, callback);
  return name != nullptr ? std::string(name) : fmt::format("op {}", op);
}

}  // namespace

filter::Inputs Context::inputs(const model::Message& m, const model::Call* call,
                               std::int64_t start_ns) const {
  const roce::Connection& c = connection(m);
  filter::Inputs in;
  in.message = &m;
  in.call = call;
  in.connection = connection_id(m.connection);
  in.sender = &c.side[sender(m)];
  in.receiver = &c.side[1 - sender(m)];
  in.reverse = model->reverse(m);
  in.thresholds = model->connection(model->canonical(m.connection)).thresholds;
  in.start_ns = start_ns;
  return in;
}

std::string rpc_label(const model::RpcInfo& rpc) {
  if (!rpc.known) return {};
  std::string label = program_part(rpc) + ' ' + procedure_part(rpc);
  const bool callback = decode::is_transient_program(rpc.program);
  for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) label += ' ' + op_name(rpc.ops.op[i], callback);
  if (rpc.ops.announced > rpc.ops.kept) label += " ...";
  return label;
}

std::uint32_t principal_operation(const model::RpcInfo& rpc) {
  if (rpc.ops.kept == 0) return UINT32_MAX;
  const bool callback = decode::is_transient_program(rpc.program);
  for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) {
    if (!is_plumbing(rpc.ops.op[i], callback)) return rpc.ops.op[i];
  }
  // What it is about stands behind the bytes that the capture has.
  if (rpc.ops.announced > rpc.ops.kept) return UINT32_MAX;
  return rpc.ops.op[rpc.ops.kept - 1];
}

std::string procedure_label(const model::RpcInfo& rpc) {
  if (!rpc.known) return "unknown";
  const std::uint32_t op = principal_operation(rpc);
  return program_part(rpc) + ' ' +
         (op == UINT32_MAX ? procedure_part(rpc)
                           : op_name(op, decode::is_transient_program(rpc.program)));
}

std::string reply_status(const model::RpcInfo& rpc) {
  if (!rpc.header_seen) return {};
  const char* name = model::outcome_name(rpc);
  return name != nullptr ? std::string(name) : fmt::format("status {}", rpc.status);
}

namespace {

std::string format_with(const char* pattern, std::int64_t time_ns) {
  std::int64_t seconds = time_ns / 1000000000;
  std::int64_t rest = time_ns % 1000000000;
  if (rest < 0) {
    --seconds;
    rest += 1000000000;
  }
  std::tm tm{};
  const std::time_t t = seconds;
  std::array<char, 64> text{};
  if (gmtime_r(&t, &tm) == nullptr || std::strftime(text.data(), text.size(), pattern, &tm) == 0) {
    return fmt::format("{}.{:09}", seconds, rest);
  }
  return rest % 1000 == 0 ? fmt::format("{}.{:06}", text.data(), rest / 1000)
                          : fmt::format("{}.{:09}", text.data(), rest);
}

}  // namespace

std::string format_time(std::int64_t time_ns) {
  return format_with("%Y-%m-%d %H:%M:%S", time_ns);
}
std::string format_clock(std::int64_t time_ns) {
  return format_with("%H:%M:%S", time_ns);
}

}  // namespace rpcrdma::report
