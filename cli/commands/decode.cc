// rpcrdma decode
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
  // Of a file every line of JSON is a message; `analyze` has what belongs to none.
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
                  "The captures of both ends, in order of time.");
  command.example("rpcrdma decode -v --type error,malformed nfs.pcap.zst",
                  "All fields of the RDMA_ERRORs and of what is malformed.");
  command.example("tcpdump -i eth0 -w - udp port 4791 | rpcrdma decode -",
                  "What another program captures.");
  command.example("rpcrdma decode --events --xid 0x1234 server.pcapng",
                  "Of an endpoint's recording, all that it tells of one Call.");
  command.example("rpcrdma decode -Y 'rpcrdma.latency > 5ms && nfs.op == READ' nfs.pcap",
                  "READs of NFSv4 that took long, and their answers.");
  return [options] { return decode(*options); };
}

}  // namespace rpcrdma::cli
