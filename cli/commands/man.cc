// rpcrdma man: prints manual pages.
#include "man.h"

#include "commands.h"
#include "input.h"
#include "output_file.h"

#include <memory>
#include <string>

#include <fmt/core.h>

namespace rpcrdma::cli {

namespace {

struct ManOptions {
  std::string command;
  std::string directory;
};

bool write_page(const command_line::Command& command, const std::string& directory) {
  const std::string path = fmt::format("{}/{}.1", directory, man_name(command));
  return write_file(path, [&](const Write& write) { write(man_page(command)); });
}

int man(const command_line::Command& program, const ManOptions& options) {
  if (!options.directory.empty()) {
    bool written = write_page(program, options.directory);
    for (const auto& command : program.commands()) {
      written = written && write_page(*command, options.directory);
    }
    return written ? kOk : kUnreadable;
  }
  if (options.command.empty()) {
    fmt::print("{}", man_page(program));
    return kOk;
  }
  const command_line::Command* const command = program.find_command(options.command);
  if (command == nullptr) {
    complain(fmt::format("man: {}: no such command (see `rpcrdma --help`)", options.command));
    return kUnreadable;
  }
  fmt::print("{}", man_page(*command));
  return kOk;
}

}  // namespace

Run add_man(command_line::Command& command) {
  auto options = std::make_shared<ManOptions>();
  command_line::Option& about = command.argument("COMMAND", options->command,
                                                 "Command to print the page of; none: the program");
  command.option("-d,--directory", options->directory, "Write all pages to files in this directory")
      .value("DIR")
      .excludes(about);
  command.footer("To read a page: rpcrdma man decode | man -l -");
  return [&command, options] { return man(*command.parent(), *options); };
}

}  // namespace rpcrdma::cli
