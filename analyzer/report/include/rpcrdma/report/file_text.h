// Names of files and ranges in them, for people.
#pragma once

#include <cstdint>
#include <string>

#include <rpcrdma/base/text_buffer.h>
#include <rpcrdma/model/file_use.h>

namespace rpcrdma::report {

// "dir/big", or "fh:1a2b3c4d" for a file without a known name; empty if no file is known. Bytes
// that a terminal should not get are escaped. A name longer than `most` bytes
// keeps its end.
[[nodiscard]] std::string file_label(const model::FileUse& use, std::size_t most = SIZE_MAX);
// The same with the range of a READ, WRITE or COMMIT, "big 65536+4096"; for a Reply, with the bytes
// that it states.
[[nodiscard]] std::string file_text(const model::FileUse& use, bool reply,
                                    std::size_t most = SIZE_MAX);
void put_file_text(base::TextBuffer& out, const model::FileUse& use, bool reply, std::size_t most);

}  // namespace rpcrdma::report
