// Reports the session IDs, slots and client IDs of NFSv4 operations as fields.
#pragma once

#include "field_writer.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <rpcrdma/decode/nfs_operations.h>

namespace rpcrdma::decode {

class SessionFields final : public NfsOperationSink {
 public:
  // `stream`: arguments up to the first data in a Read chunk, or results.
  static SessionFields of_call(const ProcedureId& id, wire::Bytes stream);
  static SessionFields of_reply(const ProcedureId& id, wire::Bytes stream,
                                std::span<const std::uint64_t> chunk_lengths);

  // Reports those of operations before `end` that were not reported yet.
  void report(const FieldWriter& out, std::uint32_t end);

  bool operation(const NfsOperation& o) override;

 private:
  struct Item {
    std::uint32_t operation = 0;
    FieldId field{};
    std::size_t offset = 0;  // in the stream
    std::size_t length = 0;  // bytes
  };
  struct Part {
    FieldId field{};
    std::size_t offset = 0;  // in the operation
    std::size_t length = 0;
  };

  SessionFields(wire::Bytes stream, bool results, bool callback)
      : stream_(stream), results_(results), callback_(callback) {}
  void add(const NfsOperation& o, std::span<const Part> parts);

  wire::Bytes stream_;
  bool results_;
  bool callback_;
  std::vector<Item> list_;
  std::size_t next_ = 0;
};

}  // namespace rpcrdma::decode
