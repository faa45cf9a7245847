// Reports parts of transport headers as fields.
#pragma once

#include "field_writer.h"

#include <cstddef>
#include <optional>

#include <rpcrdma/wire/chunks.h>
#include <rpcrdma/wire/dialect.h>

namespace rpcrdma::decode {

inline constexpr std::size_t kWordBytes = 4;

// chunk_fields.cc: chunk lists, for any header that has them. A list's first marker is at `offset`;
// the first two functions return the offset after the list.
// `count_id` is the field for the number of its segments.
std::size_t read_list(const FieldWriter& out, std::size_t offset, FieldId count_id,
                      const wire::ReadListView& reads);
std::size_t write_list(const FieldWriter& out, std::size_t offset,
                       const wire::WriteListView& writes);
void reply_chunk(const FieldWriter& out, std::size_t offset,
                 const std::optional<wire::WriteChunkView>& chunk);

// later_header.cc: headers of version 2's later dialects. Reports the fields after the four fixed
// words, which the caller has reported.
void later_fields(const FieldWriter& out, const wire::LaterHeader& header);

}  // namespace rpcrdma::decode
