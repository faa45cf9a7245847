#include "rpc_program.h"

#include "parse.h"

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/service/echo.h>

namespace rpcrdma::cli {

std::optional<RpcProgram> parse_program(std::string_view text) {
  if (text == "echo") return RpcProgram{service::echo::kProgram, service::echo::kVersion};
  if (text == "nfs") return RpcProgram{decode::kProgNfs, 4};
  if (text == "rdmaconfig") return RpcProgram{decode::kProgRdmaConfig, 1};
  const auto number = parse_u32(text);
  if (!number) return std::nullopt;
  return RpcProgram{*number, 1};
}

}  // namespace rpcrdma::cli
