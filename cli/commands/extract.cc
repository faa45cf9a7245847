// rpcrdma extract: writes chunk data or whole RPC messages to files.
#include "commands.h"
#include "confined_input.h"
#include "file_names.h"
#include "filter_option.h"
#include "input.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/base/pcapng/block_file.h>
#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/report/file_text.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::cli {

namespace {

struct ExtractOptions {
  std::optional<wire::Dialect> dialect;
  bool no_icrc = false;
  std::vector<std::string> paths;
  unsigned jobs = 0;
  std::string directory = ".";
  std::string xid;
  std::string kind;
  std::string filter;
  bool messages = false;
};

class Extractor final : private model::Observer {
 public:
  Extractor(const ExtractOptions& options, std::optional<std::uint32_t> xid,
            std::optional<filter::Filter> filter)
      : options_(options),
        xid_(xid),
        filter_(std::move(filter)),
        session_({.model = {.keep_chunks = true,
                            .keep_bytes = true,
                            .dialect = options.dialect,
                            .check_icrc = !options.no_icrc}},
                 {.after_rules = {this}}),
        context_(session_.context()) {}

  // Returns the pipeline that reads the capture.
  [[nodiscard]] session::Pipeline& pipeline() { return session_.pipeline(); }

  void on_call_end(const model::CallEnded& event) override {
    const model::Call& call = event.call;
    const model::Message* const answer = event.answer;
    if (failed_ || (xid_ && call.message.xid != *xid_) || !matches(call, answer)) return;
    const bool replied = answer != nullptr && answer->kind == model::Kind::kReply;
    if (options_.messages) {
      for (const model::Message* m : {&call.message, answer}) {
        if (m != nullptr && model::is_absent(*m, roce::kAbsentBytes)) ++without_bytes_;
      }
      if (model::is_absent(call.message, roce::kAbsentBytes)) return;
      whole_message(call.message, "call", model::rebuild_call(call), call);
      if (replied && !is_read_later(*answer)) {
        whole_message(*answer, "reply", model::rebuild_reply(call, *answer), call);
      }
      return;
    }
    for (const model::CallChunk& chunk : call.chunks) {
      if (chunk.list != model::ChunkList::kRead || !is_wanted(chunk)) continue;
      if (chunk.moved == 0 && !replied) continue;
      payload(call.message, "read", call, chunk, model::read_payload_length(call, chunk));
    }
    if (replied && !is_read_later(*answer)) results(call, *answer);
  }

  void on_reply_read(const model::ReplyRead& event) override {
    const model::Call& call = event.call;
    if (failed_ || (xid_ && call.message.xid != *xid_) || !matches(call, &event.reply)) return;
    if (!options_.messages) return results(call, event.reply);
    if (model::is_absent(event.reply, roce::kAbsentBytes)) return;
    whole_message(event.reply, "reply", model::rebuild_reply(call, event.reply), call);
  }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::uint64_t files() const { return files_; }
  [[nodiscard]] std::uint64_t incomplete() const { return incomplete_; }
  // Returns how many messages have a source without bytes.
  [[nodiscard]] std::uint64_t without_bytes() const { return without_bytes_; }

 private:
  // Its Read chunks are read after it was seen: see on_reply_read().
  static bool is_read_later(const model::Message& reply) { return !reply.reads.empty(); }

  [[nodiscard]] bool is_wanted(const model::CallChunk& chunk) const {
    return options_.kind.empty() || options_.kind == model::chunk_list_name(chunk.list);
  }

  void results(const model::Call& call, const model::Message& reply) {
    for (const model::CallChunk& chunk : call.chunks) {
      if (chunk.list == model::ChunkList::kRead || !is_wanted(chunk)) continue;
      const std::uint64_t length = model::result_payload_length(call, chunk, reply);
      const char* const kind = model::chunk_list_name(chunk.list);
      if (length != 0) payload(reply, kind, call, chunk, length);
    }
  }

  // An RPC is selected if its Call or its Reply matches.
  bool matches(const model::Call& call, const model::Message* answer) {
    if (!filter_) return true;
    const std::int64_t start = session_.pipeline().frames().first_ns;
    return filter_->matches(context_.inputs(call.message, &call, start)) ||
           (answer != nullptr && filter_->matches(context_.inputs(*answer, &call, start)));
  }

  // Chunks of the file that is read or written are distinguished by their offset in it.
  static std::string file_place(const model::Call& call) {
    const model::RpcInfo& rpc = call.message.rpc;
    if (!rpc.known) return {};
    const model::FileUse* const use = call.file_use();
    const std::string name = use != nullptr ? report::file_label(*use) : std::string();
    const std::string file = name.empty() ? name : fmt::format(", {}", name);
    const auto reduced = model::reduced_arguments(call);
    const decode::FileRange range = decode::file_range({rpc.program, rpc.version, rpc.procedure},
                                                       reduced.arguments, reduced.removed);
    return range.valid ? fmt::format("{}, file offset {}", file, range.offset) : file;
  }

  // "big-read-000000000065536-" for the data of a READ or WRITE: names in the order of the file.
  // Empty for other chunks, and for data beyond the first operation of a COMPOUND.
  std::string file_prefix(const model::Call& call, const model::CallChunk& chunk) {
    using Access = model::FileUse::Access;
    const model::FileUse* const use = call.file_use();
    if (use == nullptr || !use->is_file() || !use->offset || chunk.index != 0) return {};
    const bool read = use->access == Access::kRead && chunk.list == model::ChunkList::kWrite;
    const bool written = use->access == Access::kWrite && chunk.list == model::ChunkList::kRead &&
                         chunk.position != 0;
    if (!read && !written) return {};
    return fmt::format("{}-{}-{:015}-", file_names_.of(*use), read ? "read" : "write",
                       *use->offset);
  }

  // Recordings of endpoints hold only the first bytes of the data moved.
  [[nodiscard]] const char* place(const model::Message& m, const model::CallChunk& chunk,
                                  std::uint64_t length) const {
    const roce::Connection& c = context_.connection(m);
    if (c.recorded) return "in the recording";
    return chunk.moved < length && model::losses(c) == 0 ? "moved" : "in the capture";
  }

  void payload(const model::Message& m, const char* kind, const model::Call& call,
               const model::CallChunk& chunk, std::uint64_t length) {
    const bool complete = chunk.data.covers(length);
    const std::string name = fmt::format("{}{:08}-{:#010x}-{}-{}.bin", file_prefix(call, chunk),
                                         m.frame, m.xid, kind, chunk.index);
    if (!write(name, chunk.data.head().first(static_cast<std::size_t>(
                         std::min<std::uint64_t>(length, chunk.data.head().size()))))) {
      return;
    }
    if (!complete) ++incomplete_;
    fmt::print(
        "{} {} bytes{}, {}{}\n", name, length,
        complete ? ""
                 : fmt::format(" (only {} {})", chunk.data.head().size(), place(m, chunk, length)),
        report::rpc_label(call.message.rpc), file_place(call));
  }

  void whole_message(const model::Message& m, const char* kind, const model::Rebuilt& rebuilt,
                     const model::Call& call) {
    const std::string name = fmt::format("{:08}-{:#010x}-{}-0.bin", m.frame, m.xid, kind);
    if (!write(name, rebuilt.bytes)) return;
    const char* const why = model::incomplete_reason(rebuilt.incomplete, &context_.connection(m));
    if (why != nullptr) ++incomplete_;
    fmt::print("{} {} bytes{}{}, {}\n", name, rebuilt.bytes.size(),
               why != nullptr ? fmt::format(" ({})", why) : "",
               rebuilt.guessed ? " (place of the Write chunk inferred)" : "",
               report::rpc_label(call.message.rpc));
  }

  bool write(const std::string& name, std::span<const std::uint8_t> bytes) {
    const std::string path = (std::filesystem::path(options_.directory) / name).string();
    // The payload is users' data. The name comes from the capture: what stands there, such as a
    // symbolic link, is replaced and not written to.
    constexpr base::WholeFileOptions kPayload{.existing = base::Existing::kReplaceName,
                                              .mode = base::kFileMode};
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto written = base::write_whole(
        path, [&](const base::Write& to) { to(text); }, kPayload);
    if (!written) {
      complain(written.error().message);
      failed_ = true;
      return false;
    }
    ++files_;
    return true;
  }

  const ExtractOptions& options_;
  std::optional<std::uint32_t> xid_;
  std::optional<filter::Filter> filter_;
  session::Session session_;
  const report::Context& context_;
  FileNames file_names_;
  bool failed_ = false;
  std::uint64_t files_ = 0;
  std::uint64_t incomplete_ = 0;
  std::uint64_t without_bytes_ = 0;
};

int extract(const ExtractOptions& options) {
  std::optional<std::uint32_t> xid;
  if (!options.xid.empty()) {
    xid = base::parse_u32(options.xid);
    if (!xid) {
      complain(fmt::format("extract: --xid {}: not a 32-bit number", options.xid));
      return kUnreadable;
    }
  }
  std::optional<filter::Filter> filter;
  if (!read_filter(options.filter, "extract", filter)) return kUnreadable;
  if (filter && filter->needs_findings()) {
    complain(
        "extract: --filter: rpcrdma.finding: extract does not check rules; find the XIDs with "
        "decode --filter and select them with --xid");
    return kUnreadable;
  }
  const auto source = open_confined_input(options.paths, {options.directory});
  if (!source) return kUnreadable;
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error) {
    complain(fmt::format("{}: {}", options.directory, error.message()));
    return kUnreadable;
  }
  Extractor extractor(options, xid, std::move(filter));
  if (!run_pipeline(extractor.pipeline(), *source, options.paths, options.jobs) ||
      extractor.failed())
    return kUnreadable;
  if (const std::uint64_t n = extractor.without_bytes(); n != 0) {
    complain(fmt::format(
        "extract: {} {} no bytes: the source, records of kernel tracepoints, has fields only", n,
        n == 1 ? "message has" : "messages have"));
  } else if (extractor.files() == 0) {
    complain("extract: nothing matches");
  }
  if (extractor.incomplete() != 0) {
    complain(fmt::format("extract: warning: {} of {} files are incomplete; see the reasons above",
                         extractor.incomplete(), extractor.files()));
  }
  if (extractor.without_bytes() != 0) return kUnreadable;
  return extractor.incomplete() == 0 ? kOk : kFindings;
}

}  // namespace

Run add_extract(command_line::Command& command) {
  auto options = std::make_shared<ExtractOptions>();
  add_files(command, options->paths).required();
  command.option("-d,--directory", options->directory, "Directory for the files")
      .value("DIR")
      .show_default();
  command.option("--xid", options->xid, "Extract only this XID (decimal, or 0x...)").value("XID");
  add_filter(command, options->filter, "Extract only Calls and their Replies");
  command_line::Option& kind =
      command.option("--kind", options->kind, "Extract only this kind of chunk: read, write, reply")
          .one_of({"read", "write", "reply"});
  command
      .flag("--message", options->messages,
            "Extract whole RPC messages with their chunks back in place")
      .excludes(kind);
  add_dialect(command, options->dialect);
  add_icrc(command, options->no_icrc);
  add_jobs(command, options->jobs);
  add_vxlan_ports(command);
  command.footer(
      "Writes one file per chunk: FRAME-XID-KIND-INDEX.bin. FRAME is the frame of the message "
      "whose "
      "list has the chunk: the Call for Read chunks (by RFC 5666 also a Reply), and the Reply for "
      "Write chunks and Reply chunks. Data of an NFS READ or WRITE has FILE-read-OFFSET- or "
      "FILE-write-OFFSET- in front: the shell lists the parts of a file in order.");
  command.example("cat data/big-read-*.bin > big",
                  "Join the parts of the file big that were read.");
  command.example("rpcrdma extract -d data --kind write nfs.pcap",
                  "Write the data that servers wrote into Write chunks, one file each.");
  return [options] { return extract(*options); };
}

}  // namespace rpcrdma::cli
