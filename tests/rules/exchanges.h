// Complete, correct exchanges with chunks.
#pragma once

#include "scene.h"

namespace rpcrdma::scenes {

using Segments = std::vector<wire::Segment>;

// NFSv3 WRITE of the content of the segments, in a Read chunk.
void write_by_read_chunk(Connection& c, std::uint32_t xid, const Segments& offered);
// NFSv3 READ of `bytes`, in a Write chunk.
void read_by_write_chunk(Connection& c, std::uint32_t xid, const Segments& offered,
                         std::uint32_t bytes);
// NFSv3 READDIR with a Reply of at least `bytes`, in a Reply chunk.
void readdir_by_reply_chunk(Connection& c, std::uint32_t xid, const wire::Segment& offered,
                            std::size_t bytes);

// Returns the segments as in a Reply after `bytes` were written to them.
[[nodiscard]] Segments filled(const Segments& offered, std::size_t bytes);

}  // namespace rpcrdma::scenes
