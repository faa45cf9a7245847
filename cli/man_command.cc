// rpcrdma man
#include "commands.h"
#include "input.h"
#include "man.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include <fmt/format.h>

namespace rpcrdma::cli {

namespace {

struct Options {
  std::string command;
  std::string directory;
};

bool write_page(const CLI::App& app, const std::string& directory) {
  const std::string path = fmt::format("{}/{}.1", directory, man_name(app));
  const std::string page = man_page(app);
  std::FILE* file = std::fopen(path.c_str(), "w");
  bool written = file != nullptr && std::fwrite(page.data(), 1, page.size(), file) == page.size();
  written = file != nullptr && std::fclose(file) == 0 && written;
  if (!written) complain(fmt::format("{}: {}", path, std::strerror(errno)));
  return written;
}

int man(const CLI::App& root, const Options& options) {
  if (!options.directory.empty()) {
    bool written = write_page(root, options.directory);
    for (const CLI::App* command : root.get_subcommands({})) {
      written = written && write_page(*command, options.directory);
    }
    return written ? kOk : kUnreadable;
  }
  if (options.command.empty()) {
    fmt::print("{}", man_page(root));
    return kOk;
  }
  const auto found = root.get_subcommands(
      [&](const CLI::App* command) { return command->get_name() == options.command; });
  if (found.empty()) {
    complain(fmt::format("man: {}: no such command (see `rpcrdma --help`)", options.command));
    return kUnreadable;
  }
  fmt::print("{}", man_page(*found.front()));
  return kOk;
}

}  // namespace

Run add_man(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_option("COMMAND", options->command, "The command; none: the program");
  app.add_option("-d,--directory", options->directory, "Write all pages to files in this folder")
      ->type_name("DIR")
      ->excludes(command);
  app.footer("To read a page: rpcrdma man decode | man -l -");
  return [&app, options] { return man(*app.get_parent(), *options); };
}

}  // namespace rpcrdma::cli
