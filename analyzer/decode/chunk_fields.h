// Chunk lists as fields, wherever a header has them.
#pragma once

#include "field_writer.h"

#include <cstddef>
#include <optional>

#include <rpcrdma/wire/chunks.h>

namespace rpcrdma::decode {

inline constexpr std::size_t kWordBytes = 4;

// Of the list whose first marker stands at `offset`; the first two give the offset behind it.
// `count_id`: the field of how many segments it has.
std::size_t read_list(const FieldWriter& out, std::size_t offset, FieldId count_id,
                      const wire::ReadListView& reads);
std::size_t write_list(const FieldWriter& out, std::size_t offset,
                       const wire::WriteListView& writes);
void reply_chunk(const FieldWriter& out, std::size_t offset,
                 const std::optional<wire::WriteChunkView>& chunk);

}  // namespace rpcrdma::decode
