// Reports chunk lists as fields, for any header that has them.
#pragma once

#include "field_writer.h"

#include <cstddef>
#include <optional>

#include <rpcrdma/wire/chunks.h>

namespace rpcrdma::decode {

inline constexpr std::size_t kWordBytes = 4;

// The list's first marker is at `offset`; the first two functions return the offset after the list.
// `count_id` is the field for the number of its segments.
std::size_t read_list(const FieldWriter& out, std::size_t offset, FieldId count_id,
                      const wire::ReadListView& reads);
std::size_t write_list(const FieldWriter& out, std::size_t offset,
                       const wire::WriteListView& writes);
void reply_chunk(const FieldWriter& out, std::size_t offset,
                 const std::optional<wire::WriteChunkView>& chunk);

}  // namespace rpcrdma::decode
