#include "rpc_program.h"

#include <string>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/rpcbind/rpcbind.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::cli {

std::optional<RpcProgram> parse_program(std::string_view text) {
  if (text == "echo") return RpcProgram{service::echo::kProgram, service::echo::kVersion};
  if (text == "nfs") return RpcProgram{decode::kProgNfs, 4};
  if (text == "rdmaconfig") return RpcProgram{decode::kProgRdmaConfig, 1};
  if (const auto number = base::parse_u32(text)) return RpcProgram{*number, 1};
  if (const auto named = rpcbind::program_by_name(std::string(text))) return RpcProgram{*named, 1};
  return std::nullopt;
}

}  // namespace rpcrdma::cli
