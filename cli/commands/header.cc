// rpcrdma header: decodes one header from hexadecimal.
#include "commands.h"
#include "input.h"
#include "output_file.h"
#include "parse.h"

#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <rpcrdma/decode/decoder.h>
#include <rpcrdma/decode/json_sink.h>
#include <rpcrdma/decode/text_sink.h>
#include <rpcrdma/wire/dialect.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::cli {

namespace {

struct HeaderOptions {
  std::vector<std::string> hex;
  std::string kind = "message";
  bool json = false;
  std::optional<wire::Dialect> dialect;
};

std::string read_stdin() {
  std::string text;
  std::array<char, 65536> buffer;
  std::size_t n = 0;
  constexpr std::size_t kMaxInput = 16U << 20;
  while (text.size() < kMaxInput && (n = std::fread(buffer.data(), 1, buffer.size(), stdin)) != 0) {
    text.append(buffer.data(), n);
  }
  return text;
}

// Forwards every field and notes whether something was malformed. A transport header was asked for
// on its own, so a missing RPC message after it is not an error.
template <typename Base>
class Watching : public Base {
 public:
  template <typename... Args>
  explicit Watching(bool header_only, Args&&... args)
      : Base(std::forward<Args>(args)...), header_only_(header_only) {}

  void error(const wire::DecodeError& e) override {
    if (header_only_) return;
    malformed_ = true;
    Base::error(e);
  }
  [[nodiscard]] bool malformed() const { return malformed_; }

 private:
  bool header_only_;
  bool malformed_ = false;
};

bool is_header_only(const std::string& kind, wire::Bytes bytes, wire::Dialect dialect) {
  if (kind != "message") return false;
  if (dialect != wire::Dialect::kDraft02) {
    const auto header = wire::decode_later_header(dialect, bytes);
    return header && header->length == bytes.size();
  }
  const auto header = wire::decode_header(bytes);
  return header && header->length == bytes.size();
}

void decode_as(const std::string& kind, wire::Bytes bytes, wire::Dialect dialect,
               decode::Sink& sink) {
  if (kind == "rpc") {
    decode::decode_rpc_message(bytes, sink);
  } else if (kind == "private-data") {
    decode::decode_private_data(bytes, sink);
  } else if (kind == "cm") {
    decode::decode_cm(bytes, sink);
  } else {
    decode::decode_message(bytes, sink, nullptr, dialect);
  }
}

int header(const HeaderOptions& options) {
  std::string text;
  if (options.hex.size() == 1 && options.hex[0] == "-") {
    text = read_stdin();
  } else {
    for (const std::string& part : options.hex) text += part + ' ';
  }
  const auto bytes = parse_hex(text);
  if (!bytes || bytes->empty()) {
    complain("header: not hexadecimal; give an even number of digits, such as 0000000100000001...");
    return kUnreadable;
  }
  const auto detected = wire::detect_dialect(*bytes);
  const wire::Dialect dialect =
      options.dialect.value_or(detected ? detected->dialect : wire::Dialect::kDraft02);
  const bool header_only = is_header_only(options.kind, *bytes, dialect);
  if (options.json) {
    Watching<decode::JsonSink> sink(header_only);
    decode_as(options.kind, *bytes, dialect, sink);
    fmt::print("{}\n", sink.take().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return sink.malformed() ? kFindings : kOk;
  }
  std::string out;
  Watching<decode::TextSink> sink(header_only, out);
  decode_as(options.kind, *bytes, dialect, sink);
  write_stdout(out);
  return sink.malformed() ? kFindings : kOk;
}

}  // namespace

Run add_header(command_line::Command& command) {
  auto options = std::make_shared<HeaderOptions>();
  command.argument("HEX", options->hex, "Hexadecimal digits or a hex dump; - for standard input")
      .required();
  command
      .option("--as", options->kind,
              "Type of the bytes: message (transport header and what follows), rpc, private-data, "
              "cm (a MAD)")
      .one_of({"message", "rpc", "private-data", "cm"})
      .show_default();
  add_dialect(command, options->dialect);
  command.flag("--json", options->json, "Print one JSON object");
  command.footer("Exit status: 0 well-formed, 1 malformed, 2 not hexadecimal.");
  command.example("rpcrdma header 00000001 00000001 00000020 00000004 00000002",
                  "Decode an RDMA_ERROR.");
  return [options] { return header(*options); };
}

}  // namespace rpcrdma::cli
