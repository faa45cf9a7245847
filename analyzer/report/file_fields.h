// Lists the JSON fields of a report's files, for both writer and reader.
#pragma once

#include "field_reader.h"
#include "field_writer.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <rpcrdma/report/files.h>

namespace rpcrdma::report {

template <typename Archive>
void file_fields(Archive& a, Of<Archive, FileKey>& key, Of<Archive, FileStats>& f) {
  a.nullable("name", f.name);
  a.optional("below", f.below);
  a("server", key.server);
  a("handle", key.handle);
  a("reads", f.reads);
  a("writes", f.writes);
  a("other", f.other);
  a("errors", f.errors);
  a("unmatched", f.unmatched);
  a("read_bytes", f.read_bytes);
  a("written_bytes", f.written_bytes);
  const std::string pattern = pattern_of(f);
  a.derived("pattern", pattern.empty() ? std::nullopt : std::optional(pattern));
  a("compared", f.compared);
  a("sequential", f.sequential);
  struct Size {
    std::uint64_t bytes = 0, count = 0;
  };
  std::vector<Size> sizes;
  if constexpr (!Archive::kReads) {
    for (const auto& [bytes, count] : f.sizes) sizes.push_back({bytes, count});
  }
  a.rows("sizes", sizes,
         {.columns = 2, .otherwise = "expected two integers", .most = kMaxFileSizes},
         [](auto& row, auto& size) {
           row(size.bytes);
           row(size.count);
         });
  if constexpr (Archive::kReads) {
    for (const Size& size : sizes) f.note_size(size.bytes, size.count);
  }
  a("other_sizes", f.other_sizes);
  a("first_time_ns", f.first_ns);
  a("last_time_ns", f.last_ns);
  a.object_of("latency_us", f.latency);
}

// Called with each file that is read from `node`.
inline void insert_entry(const JsonNode& node, std::map<FileKey, FileStats>& to,
                         std::map<FileKey, FileStats>::node_type&& entry) {
  if (to.size() >= kMaxFiles) return node.fail("too many files");
  if (!to.insert(std::move(entry)).inserted) node.fail("duplicate of an earlier entry");
}

template <typename Archive>
void fields(Archive& a, Of<Archive, Files>& files) {
  a.entries("list", files.list,
            [](auto& in, auto& key, auto& file) { file_fields(in, key, file); });
  a.object("others", [&](auto& in) {
    in("calls", files.others.calls);
    in("read_bytes", files.others.read_bytes);
    in("written_bytes", files.others.written_bytes);
  });
}

}  // namespace rpcrdma::report
