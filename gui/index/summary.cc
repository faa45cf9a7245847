// A message in one line. It begins with what the RPC is about, since tables are cut at the right,
// and leaves out what has a column of its own.
#include <fmt/core.h>

#include <rpcrdma/base/quantity.h>
#include <rpcrdma/index/store.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::index {

namespace {

// Returns the parts of a message that its names depend on.
model::Message named(const MessageRow& row) {
  model::Message m;
  m.kind = row.kind;
  m.version = row.version;
  m.proc = row.proc;
  m.dialect = row.dialect;
  m.error = static_cast<wire::RdmaErr>(row.error);
  return m;
}

std::string amount(std::uint32_t bytes, std::uint32_t parts, const char* unit) {
  std::string text = bytes == UINT32_MAX ? "4 GiB or more" : base::format_bytes(bytes);
  if (parts > 1) text += fmt::format(" in {} {}", parts, unit);
  return text;
}

// Exact, unlike format_bytes(): "1 MiB", "69632 B".
std::string place(std::uint64_t offset) {
  constexpr const char* kUnits[] = {"", " KiB", " MiB", " GiB", " TiB"};
  if (offset == 0) return "0";
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && offset % 1024 == 0) {
    offset /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", offset, kUnits[unit]);
}

// "4 RDMA Writes"
std::string operations(const MessageRow& call) {
  const bool reads = call.read_segments != 0;
  const bool writes = call.write_chunks != 0 || call.is(MessageRow::kReplyChunk);
  const char* const name = reads == writes ? "RDMA operation" : reads ? "RDMA Read" : "RDMA Write";
  return fmt::format("{} {}{}", call.operations, name, call.operations == 1 ? "" : "s");
}

class Line {
 public:
  explicit Line(std::string head) : text_(std::move(head)) {}
  void add(std::string_view part) {
    if (part.empty()) return;
    if (!text_.empty()) text_ += any_ ? ", " : ": ";
    text_ += part;
    any_ = true;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool any_ = false;
};

}  // namespace

std::optional<MessageRow> Content::call_of(const MessageRow& row) const {
  if (row.kind == model::Kind::kCall) return row;
  if (row.match == 0 || row.match > rows.size()) return std::nullopt;
  const MessageRow other = rows[row.match - 1];
  return other.kind == model::Kind::kCall ? std::optional(other) : std::nullopt;
}

std::string Content::request(const MessageRow& call) const {
  std::string text = procedures[call.procedure].brief;
  const CallDetail* const d = detail(call);
  if (d == nullptr) return text;
  if (d->count != CallDetail::kNoCount) text += " " + base::format_bytes(d->count);
  if (d->offset != CallDetail::kNoOffset) text += " at " + place(d->offset);
  if (d->file == 0 || d->file >= files.size()) return text;
  text += d->offset != CallDetail::kNoOffset ? " of " : " ";
  return text + files[d->file];
}

std::string Content::summary(const MessageRow& row) const {
  const model::Message m = named(row);
  const std::optional<MessageRow> call = call_of(row);
  std::string head = call ? request(*call) : procedures[row.procedure].brief;
  const bool rpc = row.kind == model::Kind::kCall || row.kind == model::Kind::kReply;
  if (!rpc) {
    std::string name(model::type_name(m));
    if (row.kind == model::Kind::kError) name += fmt::format(" {}", model::error_name(m));
    head = head.empty() ? name : name + " to " + head;
  } else if (head.empty()) {
    head = model::type_name(m);
  }
  Line line(std::move(head));
  if (rpc && row.proc != 0) line.add(model::type_name(m));
  if (row.version > 1) line.add(fmt::format("version {}", row.version));
  if (row.outcome != 0 && !outcomes[row.outcome].ok()) line.add(outcomes[row.outcome].text);
  if (row.kind == model::Kind::kCall) {
    if (row.read_segments != 0) {
      line.add("Read list " + amount(row.read_bytes, row.read_segments, "segments"));
    }
    if (row.write_chunks != 0) {
      line.add("Write list " + amount(row.write_bytes, row.write_chunks, "chunks"));
    }
    if (row.is(MessageRow::kReplyChunk)) line.add("Reply chunk " + amount(row.reply_bytes, 1, ""));
    if (row.is(MessageRow::kOver) && row.match == 0) line.add("no Reply");
  } else if (row.read_segments != 0) {
    line.add("Read list " + amount(row.read_bytes, row.read_segments, "segments"));
  }
  if (call && call->operations != 0) line.add(operations(*call));
  if (call && call->latency_ns >= 0) line.add(base::format_duration(call->latency_ns));
  if (row.is(MessageRow::kInvalidates)) line.add("invalidates a handle");
  if (row.is(MessageRow::kFieldsOnly)) {
    line.add("tracepoints");
  } else if (!row.is(MessageRow::kComplete)) {
    line.add("incomplete");
  }
  if (row.is(MessageRow::kSuspect)) line.add("bad ICRC");
  if (row.kind == model::Kind::kReply && row.match == 0) line.add("its Call was not seen");
  return line.take();
}

}  // namespace rpcrdma::index
