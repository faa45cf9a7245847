// Bytes that a helper program writes: it converts a file that this library does not read itself.
#pragma once

#include "byte_stream.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::capture {

// Starts `program` with --name `name`. Its standard input is a file's descriptor, or what a stream
// yields. The stream ends with an error if the program fails: with the reason that it prints, or
// because it was killed. A program that succeeds may print a remark, which becomes the damage().
[[nodiscard]] Expected<std::unique_ptr<ByteStream>> run_helper(
    std::string_view program, const std::string& name,
    std::variant<base::FileDescriptor, std::unique_ptr<ByteStream>> input);

}  // namespace rpcrdma::capture
