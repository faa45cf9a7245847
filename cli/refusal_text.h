// Why a Call of ECHO got no right answer, and which option of which end may cause it.
#pragma once

#include <string>

#include <rpcrdma/service/echo.h>

namespace rpcrdma::cli {

// One clause. `verdict`: what `call` found in the outcome; not kRight.
[[nodiscard]] std::string refusal_text(service::echo::Verdict verdict,
                                       const service::echo::EchoCall& call,
                                       const protocol::CallOutcome& outcome);

}  // namespace rpcrdma::cli
