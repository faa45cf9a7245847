// The command rpcrdma: parses the command line and runs one of the commands.
#include "commands.h"
#include "completion.h"
#include "habits.h"
#include "input.h"
#include "output_file.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <rpcrdma/command_line/parse.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::cli {
namespace {

// Reports a full disk, but not a reader that has exited.
bool output_written() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  const int why = stdout_error() != 0 ? stdout_error() : errno;
  if (why == EPIPE) return true;
  complain(fmt::format("standard output: {}",
                       why != 0 ? std::strerror(why) : "not all output could be written"));
  return false;
}

int run_command(int argc, char** argv) {
  command_line::Command program("rpcrdma",
                                "Analyze, watch and test RPC-over-RDMA (NFS/RDMA) traffic.");
  program.version(fmt::format("rpcrdma {}", version::text()));
  program.example("rpcrdma analyze nfs.pcap", "Summarize a capture and report its problems.");
  program.example("rpcrdma capture -i eth0", "Print the messages on an interface live.");
  program.example("source <(rpcrdma completion bash)",
                  "Enable shell completion of commands and options.");

  std::vector<std::pair<const command_line::Command*, Run>> commands;
  const auto add = [&](const char* name, const char* what, Run (*make)(command_line::Command&)) {
    command_line::Command& command = program.command(name, what);
    commands.emplace_back(&command, make(command));
  };
  add("decode", "Print every RPC-over-RDMA message in a capture, one line each", add_decode);
  add("capture", "Capture from an interface and print or record the messages", add_capture);
  add("analyze", "Analyze a capture: connections, credits, chunks, latency, findings", add_analyze);
  add("analyze-many", "Analyze many captures by many processes, restartable", add_analyze_many);
  add("compare", "Compare two captures or reports: latency, counts, findings", add_compare);
  add("merge", "Merge the JSON reports of several captures into one", add_merge);
  add("export", "Export a timeline for other tools: Perfetto, qlog", add_export);
  add("ls", "List the running endpoints of this user, for root of all users", add_ls);
  add("attach", "Stream a running endpoint's messages live", add_attach);
  add("top", "Watch running endpoints: connections, credits, chunks, latency, findings", add_top);
  add("kernel", "Trace Linux's own NFS/RDMA client and server as a live endpoint", add_kernel);
  add("extract", "Extract the payload of chunks, or whole RPC messages, to files", add_extract);
  add("fields", "List the fields that --filter accepts", add_fields);
  add("header", "Decode one header given in hexadecimal", add_header);
  add("rules", "List or explain the rules that captures are checked against", add_rules);
  add("serve", "Serve the program ECHO over RPC-over-RDMA, with or without an RDMA device",
      add_serve);
  add("ping", "Check whether a server answers, and how fast", add_ping);
  add("call", "Send one Call and show what crosses the wire for it", add_call);
  add("load", "Call a server at full speed or at a fixed rate, and measure latency", add_load);
  add("nfs-probe", "Test an NFS server over RPC-over-RDMA step by step", add_nfs_probe);
  add("selftest", "Test every kind of Call between all versions, and print a matrix", add_selftest);
  add("doctor", "Check this machine's RDMA setup and report what is missing", add_doctor);
  add("agent", "Publish this host's endpoints and findings to a fleet's bus (NATS)", add_agent);
  add("fleet", "Ask the agents of a fleet: record an endpoint of a host", add_fleet);
  add("exporter", "Serve this host's NFS/RDMA counters for Prometheus, without BPF", add_exporter);
  add("completion", "Print a shell completion script", add_completion);
  add("man", "Print the manual page of a command", add_man);

  // The scripts of `completion` call this. The words that follow are an incomplete command line, so
  // they bypass the parser.
  if (argc > 1 && std::string_view(argv[1]) == "complete") {
    const std::string lines = completion_lines(complete(program, {argv + 2, argv + argc}));
    write_stdout(lines);
    return kOk;
  }

  const std::vector<std::string> words = usual_words({argv + std::min(argc, 1), argv + argc});
  std::vector<const char*> line{argc > 0 ? argv[0] : "rpcrdma"};
  for (const std::string& word : words) line.push_back(word.c_str());
  command_line::Parsed parsed =
      command_line::parse(program, static_cast<int>(line.size()), line.data());
  switch (parsed.outcome) {
    case command_line::Parsed::Outcome::kShow:
      write_stdout(parsed.text);
      return kOk;
    case command_line::Parsed::Outcome::kRefused:
      if (!words.empty() && program.find_command(words[0]) == nullptr) {
        parsed.text.insert(std::min(parsed.text.find(" (see"), parsed.text.size()),
                           command_hint(program, words));
      }
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
  // Exceeding the file size limit (ulimit -f) is a write error, like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    const int status = rpcrdma::cli::run_command(argc, argv);
    return rpcrdma::cli::output_written() ? status : rpcrdma::cli::kUnreadable;
  } catch (const std::bad_alloc&) {
    std::fputs("rpcrdma: out of memory\n", stderr);
    return rpcrdma::cli::kUnreadable;
  } catch (const std::system_error& e) {
    // fmt::print() throws it, without a name.
    rpcrdma::cli::complain(std::ferror(stdout) != 0 ? "standard output: " + e.code().message()
                                                    : std::string(e.what()));
    return rpcrdma::cli::kUnreadable;
  } catch (const std::exception& e) {
    rpcrdma::cli::complain(e.what());
    return rpcrdma::cli::kUnreadable;
  }
}
