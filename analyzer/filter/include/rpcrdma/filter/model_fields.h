// Reports the model's knowledge of a message as fields of the schema: for filters, and for the tree
// of all fields.
#pragma once

#include <bitset>

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/filter/inputs.h>

namespace rpcrdma::filter {

using FieldSet = std::bitset<decode::kFieldCount>;

[[nodiscard]] FieldSet field_set(std::initializer_list<decode::FieldId> ids);

// The fields that model_fields() can report. Some are in the message's bytes too; the model may
// know more, since the RPC message of an RDMA_NOMSG is not in the Send.
[[nodiscard]] const FieldSet& fields_of_model();
// The fields that a Call has only once it has ended.
[[nodiscard]] const FieldSet& fields_of_answer();

// Reports the fields of fields_of_model() that are in `wanted` and that the message has. Offsets
// and lengths are 0.
void model_fields(const Inputs& in, const FieldSet& wanted, decode::Sink& sink);

}  // namespace rpcrdma::filter
