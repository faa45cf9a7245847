// rpcrdma decode: prints the messages of a capture.
#include "commands.h"
#include "confined_input.h"
#include "decode_both.h"
#include "input.h"
#include "message_printer.h"
#include "output_file.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include <fmt/core.h>
#include <unistd.h>

#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/filter/filter.h>

namespace rpcrdma::cli {

namespace {

struct DecodeOptions {
  std::vector<std::string> paths;
  unsigned jobs = 0;
  PrintOptions print;
  std::string format = "text";
  std::vector<std::string> fields;
  std::vector<std::string> settings;
  std::string last;
  bool both = false;
};

// Ends the capture when the printer has printed all that was asked for.
class Until final : public capture::Source {
 public:
  Until(capture::Source& source, const MessagePrinter& printer)
      : source_(source), printer_(printer) {}

  [[nodiscard]] std::span<const capture::MergedFile> files() const override {
    return source_.files();
  }
  [[nodiscard]] capture::Expected<bool> next(capture::Frame& frame) override {
    if (printer_.done()) return false;
    return source_.next(frame);
  }
  [[nodiscard]] const capture::SourceStats& stats() const override { return source_.stats(); }

 private:
  capture::Source& source_;
  const MessagePrinter& printer_;
};

// Returns the time of the latest frame; nothing after an error, which is reported on stderr.
std::optional<std::int64_t> last_time(const std::vector<std::string>& paths) {
  const auto source = open_input(paths);
  if (!source) return std::nullopt;
  std::int64_t latest = INT64_MIN;
  capture::Frame frame;
  for (;;) {
    const auto more = source->next(frame);
    if (!more) {
      complain(more.error().message);
      return std::nullopt;
    }
    if (!*more) return latest;
    latest = std::max(latest, frame.time_ns);
  }
}

// Reads the options that are of `decode` alone.
bool prepare(DecodeOptions& options, FieldOutput& columns) {
  if (options.format == "json") options.print.json = true;
  if (options.format == "fields" || !options.fields.empty()) {
    if (!read_field_output(options.fields, options.settings, "decode", columns)) return false;
    options.print.fields = &columns;
  }
  if (options.last.empty()) return true;
  const auto ns = filter::parse_span(options.last);
  if (!ns) {
    complain(fmt::format("decode: --last {}: not a time; write 10s, 500ms, 5m",
                         decode::escape_text(options.last)));
    return false;
  }
  if (std::find(options.paths.begin(), options.paths.end(), "-") != options.paths.end()) {
    complain("decode: --last: standard input cannot be read twice; give a file");
    return false;
  }
  confine_opening();
  const auto end = last_time(options.paths);
  if (!end) return false;
  options.print.since_ns = *end < INT64_MIN + *ns ? INT64_MIN : *end - *ns;
  return true;
}

// Otherwise messages come slowly, and are printed soon after they come.
bool all_are_files(const std::vector<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(), [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored);
  });
}

// Silence would leave open whether the capture or the selection is empty.
std::string nothing_printed(const MessagePrinter& printer) {
  if (printer.decoded() == 0) {
    return "decode: no RPC-over-RDMA message; `rpcrdma analyze` says what the capture holds";
  }
  return fmt::format("decode: none of {} messages was selected", printer.decoded());
}

int decode(DecodeOptions& options) {
  // In JSON output every line is one message, so findings that belong to no message are left to
  // `analyze`.
  options.print.own_findings = !options.print.json;
  options.print.wait_for_findings = true;
  FieldOutput columns;
  if (!prepare(options, columns)) return kUnreadable;
  if (options.both) return decode_both(options.paths, options.print, options.jobs);
  if (isatty(STDOUT_FILENO) == 0 && all_are_files(options.paths)) {
    static_cast<void>(buffered_stdout());
  }
  const auto printer = make_printer(options.print, "decode");
  if (!printer) return kUnreadable;
  const auto source = open_confined_input(options.paths, {});
  if (!source) return kUnreadable;
  session::Pipeline& pipeline = printer->pipeline();
  if (columns.header && options.print.fields != nullptr) {
    fmt::print("{}", field_header(columns));
  }
  Until until(*source, *printer);
  const bool done = run_pipeline(pipeline, options.print.most != 0 ? until : *source, options.paths,
                                 options.jobs);
  printer->finish(pipeline.dropped(source->stats()));
  if (done && printer->printed() == 0) complain(nothing_printed(*printer));
  if (const std::uint64_t n = pipeline.views().messages_of_other_views(); n != 0)
    complain(fmt::format("{} messages are in several of the files; each is printed once", n));
  return done ? kOk : kUnreadable;
}

}  // namespace

Run add_decode(command_line::Command& command) {
  auto options = std::make_shared<DecodeOptions>();
  add_files(command, options->paths).required();
  command
      .option("-T,--format", options->format,
              "Print lines (text), one JSON object per line (json), or the fields of -e (fields)")
      .one_of({"text", "json", "fields"})
      .value("FORMAT");
  command.option("-e,--field", options->fields, "Print this field of each message, in a column")
      .value("FIELD")
      .one_word();
  command
      .option("-E,--columns", options->settings,
              "How -e prints: header=y, separator=/t|/s|C, aggregator=/s|C, quote=d|s|n, "
              "occurrence=f|l|a (first, last or all values)")
      .value("SETTING")
      .one_word();
  command.option("-c,--count", options->print.most, "Stop after this many messages")
      .value("N")
      .whole_number();
  command
      .option("--last", options->last, "Print only the last part of the capture, such as 10s or 5m")
      .value("TIME");
  command.flag(
      "--both", options->both,
      "List the messages that both ends and captures between them saw, each once, with its "
      "time at every point, and the stages of each Call (docs/ends.md)");
  add_print_options(command, options->print);
  add_icrc(command, options->print.no_icrc);
  add_jobs(command, options->jobs);
  add_vxlan_ports(command);
  command.example("rpcrdma decode client.pcap server.pcap",
                  "Merge the captures of both ends by time.");
  command.example("rpcrdma decode --both client.dat server.dat wire.pcap",
                  "Follow each message from client to server, by one clock.");
  command.example("rpcrdma decode -v --type error,malformed nfs.pcap.zst",
                  "Print all fields of RDMA_ERRORs and of malformed messages.");
  command.example("tcpdump -i eth0 -w - udp port 4791 | rpcrdma decode -",
                  "Decode what another program captures.");
  command.example("rpcrdma decode --events --xid 0x1234 server.pcapng",
                  "Print every event of one Call in an endpoint's recording.");
  command.example("rpcrdma decode -Y 'rpcrdma.latency > 5ms && nfs.op == READ' nfs.pcap",
                  "Print slow READs and their Replies.");
  command.example("rpcrdma decode -T fields -e frame.number -e rpc.time -E header=y nfs.pcap",
                  "Print the number and the latency of each message as columns.");
  return [options] { return decode(*options); };
}

}  // namespace rpcrdma::cli
