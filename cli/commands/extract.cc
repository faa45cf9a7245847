// rpcrdma extract: writes chunk data or whole RPC messages to files.
#include "commands.h"
#include "filter_option.h"
#include "input.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include <rpcrdma/base/parse.h>
#include <rpcrdma/model/rebuild.h>
#include <rpcrdma/report/context.h>

namespace rpcrdma::cli {

namespace {

struct ExtractOptions {
  std::optional<wire::Dialect> dialect;
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
        session_({.model = {.keep_chunks = true, .keep_bytes = true, .dialect = options.dialect}},
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
      if (replied) whole_message(*answer, "reply", model::rebuild_reply(call, *answer), call);
      return;
    }
    const bool reads = options_.kind.empty() || options_.kind == "read";
    if (replied && reads && !answer->reads.empty()) ++reply_reads_;
    for (const model::CallChunk& chunk : call.chunks) {
      const char* kind = model::chunk_list_name(chunk.list);
      if (!options_.kind.empty() && options_.kind != kind) continue;
      if (chunk.list == model::ChunkList::kRead) {
        if (chunk.moved == 0 && !replied) continue;
        payload(call.message, kind, call, chunk, model::read_payload_length(call, chunk));
      } else if (replied) {
        const std::uint64_t length = model::result_payload_length(call, chunk, *answer);
        if (length != 0) payload(*answer, kind, call, chunk, length);
      }
    }
  }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::uint64_t files() const { return files_; }
  [[nodiscard]] std::uint64_t incomplete() const { return incomplete_; }
  // Returns how many messages have a source without bytes.
  [[nodiscard]] std::uint64_t without_bytes() const { return without_bytes_; }
  // Returns how many Replies had Read chunks, whose data is not extracted.
  [[nodiscard]] std::uint64_t reply_reads() const { return reply_reads_; }

 private:
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
    const auto reduced = model::reduced_arguments(call);
    const decode::FileRange range = decode::file_range({rpc.program, rpc.version, rpc.procedure},
                                                       reduced.arguments, reduced.removed);
    return range.valid ? fmt::format(", file offset {}", range.offset) : std::string();
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
    const std::string name =
        fmt::format("{:08}-{:#010x}-{}-{}.bin", m.frame, m.xid, kind, chunk.index);
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
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const bool written =
        file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    const int error = errno;
    const bool closed = file != nullptr && std::fclose(file) == 0;
    if (!written || !closed) {
      complain(fmt::format("{}: {}", path, std::strerror(written ? errno : error)));
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
  bool failed_ = false;
  std::uint64_t files_ = 0;
  std::uint64_t incomplete_ = 0;
  std::uint64_t reply_reads_ = 0;
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
  const auto source = open_input(options.paths);
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
  } else if (extractor.files() == 0 && extractor.reply_reads() == 0) {
    complain("extract: nothing matches");
  }
  if (extractor.incomplete() != 0) {
    complain(fmt::format("extract: warning: {} of {} files are incomplete; see the reasons above",
                         extractor.incomplete(), extractor.files()));
  }
  if (extractor.reply_reads() != 0) {
    const std::string replies = extractor.reply_reads() == 1
                                    ? "1 Reply has"
                                    : fmt::format("{} Replies have", extractor.reply_reads());
    complain(fmt::format(
        "extract: warning: {} Read chunks (RFC 5666), and their data is not extracted", replies));
  }
  return extractor.without_bytes() == 0 ? kOk : kUnreadable;
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
  add_jobs(command, options->jobs);
  command.footer(
      "Writes one file per chunk: FRAME-XID-KIND-INDEX.bin. FRAME is the frame of the Call for "
      "Read chunks, and of the Reply for Write chunks and Reply chunks.");
  command.example("rpcrdma extract -d data --kind write nfs.pcap",
                  "Write the data that servers wrote into Write chunks, one file each.");
  return [options] { return extract(*options); };
}

}  // namespace rpcrdma::cli
