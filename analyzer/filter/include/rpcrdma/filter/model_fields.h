// What the model knows of a message, as fields of the schema: for filters, and for the tree of all
// fields.
#pragma once

#include <bitset>

#include <rpcrdma/decode/sink.h>
#include <rpcrdma/filter/inputs.h>

namespace rpcrdma::filter {

using FieldSet = std::bitset<decode::kFieldCount>;

[[nodiscard]] FieldSet field_set(std::initializer_list<decode::FieldId> ids);

// The fields that model_fields() can report. Some of them stand in the message's bytes too; the
// model's may know more, since the RPC message of an RDMA_NOMSG is not in the Send.
[[nodiscard]] const FieldSet& fields_of_model();
// Those among them that a Call has only when it is over.
[[nodiscard]] const FieldSet& fields_of_answer();

// Reports those of fields_of_model() that are in `wanted` and that the message has. Offsets and
// lengths are 0.
void model_fields(const Inputs& in, const FieldSet& wanted, decode::Sink& sink);

}  // namespace rpcrdma::filter
