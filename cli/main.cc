// The command rpcrdma.
#include "commands.h"
#include "completion.h"
#include "input.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/command_line/parse.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::cli {
namespace {

// A full disk is told, and a reader who has gone is not.
bool output_written() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  if (errno == EPIPE) return true;
  complain(fmt::format("standard output: {}",
                       errno != 0 ? std::strerror(errno) : "not all could be written"));
  return false;
}

int run_command(int argc, char** argv) {
  command_line::Command program("rpcrdma",
                                "See what RPC-over-RDMA peers really say to each other.");
  program.version(fmt::format("rpcrdma {}", version::text()));
  program.example("rpcrdma analyze nfs.pcap", "What a capture holds, and what is wrong in it.");
  program.example("rpcrdma capture -i eth0", "The messages on an interface as they come.");
  program.example("source <(rpcrdma completion bash)",
                  "Let the shell complete commands and options.");

  std::vector<std::pair<const command_line::Command*, Run>> commands;
  const auto add = [&](const char* name, const char* what, Run (*make)(command_line::Command&)) {
    command_line::Command& command = program.command(name, what);
    commands.emplace_back(&command, make(command));
  };
  add("decode", "Print every RPC-over-RDMA message of a capture, one line each", add_decode);
  add("capture", "Print the messages on an interface as they come", add_capture);
  add("analyze", "Say what a capture holds: connections, credits, chunks, latency, findings",
      add_analyze);
  add("merge", "Join the JSON reports of several captures to one report", add_merge);
  add("export", "Write what happens over time for other tools: Perfetto, qlog", add_export);
  add("ls", "List the endpoints of this user that run on this machine", add_ls);
  add("attach", "Print the messages of a running endpoint as they come, as it tells them",
      add_attach);
  add("top", "Watch running endpoints: connections, credits, chunks, latency, findings", add_top);
  add("extract", "Write the payload of chunks, or whole RPC messages, to files", add_extract);
  add("fields", "List the fields that --filter knows", add_fields);
  add("header", "Decode one header given in hexadecimal", add_header);
  add("rules", "List the rules that captures are measured by, or explain some", add_rules);
  add("serve", "Answer Calls over RPC-over-RDMA, by an RDMA device or without one", add_serve);
  add("ping", "Ask a server whether it answers, and how fast", add_ping);
  add("call", "Make one Call, and show what went over the wire for it", add_call);
  add("load", "Call a server as fast as it answers, or at a rate, and measure", add_load);
  add("nfs-probe", "Try an NFS server over RPC-over-RDMA, step by step, and say what fails",
      add_nfs_probe);
  add("selftest", "Try every kind of Call between ends of all versions, and print the matrix",
      add_selftest);
  add("doctor", "Say what this machine has for RDMA, what lacks, and what to do", add_doctor);
  add("completion", "Print the script that lets a shell complete commands and options",
      add_completion);
  add("man", "Print the manual page of a command", add_man);

  // Asked by the scripts of `completion`: what follows is a command line that is not whole yet, so
  // not for the parser.
  if (argc > 1 && std::string_view(argv[1]) == "complete") {
    const std::string lines = completion_lines(complete(program, {argv + 2, argv + argc}));
    std::fwrite(lines.data(), 1, lines.size(), stdout);
    return kOk;
  }

  const command_line::Parsed parsed = command_line::parse(program, argc, argv);
  switch (parsed.outcome) {
    case command_line::Parsed::Outcome::kShow:
      std::fwrite(parsed.text.data(), 1, parsed.text.size(), stdout);
      return kOk;
    case command_line::Parsed::Outcome::kRefused:
      complain(parsed.text);
      return kUnreadable;
    case command_line::Parsed::Outcome::kRun:
      break;
  }
  for (const auto& [command, run] : commands) {
    if (command == parsed.command) return run();
  }
  return kUnreadable;
}

}  // namespace
}  // namespace rpcrdma::cli

int main(int argc, char** argv) {
  // A file that may grow no more (ulimit -f) is an error of the write, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = rpcrdma::cli::run_command(argc, argv);
    return rpcrdma::cli::output_written() ? status : rpcrdma::cli::kUnreadable;
  } catch (const std::bad_alloc&) {
    std::fputs("rpcrdma: out of memory\n", stderr);
    return rpcrdma::cli::kUnreadable;
  } catch (const std::exception& e) {
    rpcrdma::cli::complain(e.what());
    return rpcrdma::cli::kUnreadable;
  }
}
