// rpcrdma decode: prints the messages of a capture.
#include "commands.h"
#include "input.h"
#include "message_printer.h"

#include <memory>

namespace rpcrdma::cli {

namespace {

struct DecodeOptions {
  std::vector<std::string> paths;
  unsigned jobs = 0;
  PrintOptions print;
};

int decode(DecodeOptions& options) {
  // In JSON output every line is one message, so findings that belong to no message are left to
  // `analyze`.
  options.print.own_findings = !options.print.json;
  options.print.wait_for_findings = true;
  const auto printer = make_printer(options.print, "decode");
  if (!printer) return kUnreadable;
  const auto source = open_input(options.paths);
  if (!source) return kUnreadable;
  session::Pipeline& pipeline = printer->pipeline();
  const bool done = run_pipeline(pipeline, *source, options.paths, options.jobs);
  printer->finish(pipeline.dropped(source->stats()));
  return done ? kOk : kUnreadable;
}

}  // namespace

Run add_decode(command_line::Command& command) {
  auto options = std::make_shared<DecodeOptions>();
  add_files(command, options->paths).required();
  add_print_options(command, options->print);
  add_jobs(command, options->jobs);
  command.example("rpcrdma decode client.pcap server.pcap",
                  "Merge the captures of both ends by time.");
  command.example("rpcrdma decode -v --type error,malformed nfs.pcap.zst",
                  "Print all fields of RDMA_ERRORs and of malformed messages.");
  command.example("tcpdump -i eth0 -w - udp port 4791 | rpcrdma decode -",
                  "Decode what another program captures.");
  command.example("rpcrdma decode --events --xid 0x1234 server.pcapng",
                  "Print every event of one Call in an endpoint's recording.");
  command.example("rpcrdma decode -Y 'rpcrdma.latency > 5ms && nfs.op == READ' nfs.pcap",
                  "Print slow NFSv4 READs and their Replies.");
  return [options] { return decode(*options); };
}

}  // namespace rpcrdma::cli
