// Kinds of messages in the user's language.
#pragma once

#include <QString>

#include <rpcrdma/model/message.h>

namespace rpcrdma::gui {

// "call", "reverse reply".
[[nodiscard]] QString kind_text(model::Kind kind, bool reverse = false);

}  // namespace rpcrdma::gui
