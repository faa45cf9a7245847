// The columns of the message table.
#pragma once

#include "time_text.h"

#include <QString>
#include <QStringList>
#include <cstdint>
#include <span>

#include <rpcrdma/index/store.h>

namespace rpcrdma::gui {

enum class Column : std::uint8_t {
  kFrame,
  kTime,
  kConnection,
  kSource,
  kDestination,
  kKind,
  kXid,
  kType,
  kCredit,
  kRequested,
  kGranted,
  kInUse,
  kLength,
  kReadBytes,
  kWriteBytes,
  kReplyBytes,
  kMoved,
  kOperations,
  kLatency,
  kProcedure,
  kStatus,
  kFinding,
  kInfo,
};

struct ColumnSpec {
  Column column;
  const char* title;
  const char* help;
  int characters;  // initial width
  bool right;      // right-aligned, for numbers
  bool shown;      // initially visible
};
// In the order of Column.
[[nodiscard]] std::span<const ColumnSpec> columns();

// `origin_ns`: for relative times. `before`: the message in the row above; null: there is none.
[[nodiscard]] QString cell(const index::Content& content, std::uint64_t id, Column column,
                           TimeFormat time, std::int64_t origin_ns,
                           const index::MessageRow* before);

}  // namespace rpcrdma::gui
