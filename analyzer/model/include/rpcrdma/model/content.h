// Decodes the content of a kept message to fields.
#pragma once

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/model/message.h>

namespace rpcrdma::model {

// Reports the fields of Message::bytes. If the source has no bytes (roce::kAbsentBytes), reports
// those that are known: each without a place, because it is in no bytes. Needs
// ModelOptions::keep_bytes.
void decode_content(const Message& m, decode::Sink& sink);

// "fields of tracepoints": what is known of a message without bytes.
inline constexpr const char* kFieldsOnly = "fields of tracepoints";

}  // namespace rpcrdma::model
