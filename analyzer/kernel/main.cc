// rpcrdma-trace-dat: converts a trace of the kernel's tracepoints (trace.dat, or text) to the
// pcapng stream of trace events. A process of its own, with limits: whatever a hostile file does to
// it, the analyzer that started it only reports the failure.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rpcrdma/base/confinement.h>
#include <rpcrdma/plot/escape.h>
#include <rpcrdma/trace_dat/convert.h>

namespace {

constexpr rlim_t kMemory = rlim_t{3} << 30;

void limit(int resource, rlim_t value) {
  const rlimit to{value, value};
  (void)::setrlimit(static_cast<__rlimit_resource_t>(resource), &to);
}

bool is_regular(int fd, rlim_t& size) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  size = static_cast<rlim_t>(status.st_size);
  return true;
}

// A regular file has an end: its size bounds the memory that maps it, and the time.
void limit_process(int input, int output) {
  rlim_t size = 0;
  constexpr rlim_t kBytesPerSecond = rlim_t{2} << 20;
  constexpr rlim_t kSeconds = 60;
  if (is_regular(input, size)) limit(RLIMIT_CPU, kSeconds + size / kBytesPerSecond);
  limit(RLIMIT_CORE, 0);
#ifndef RPCRDMA_SANITIZED  // a sanitizer reserves terabytes
  limit(RLIMIT_AS, kMemory + size);
#endif
  rlim_t ignored = 0;
  if (!is_regular(output, ignored) && !is_regular(STDERR_FILENO, ignored)) limit(RLIMIT_FSIZE, 0);
}

// On a terminal nothing is raw. A program that started this one knows the file's name, and escapes
// what it shows.
void complain(const std::string& file, const std::string& what) {
  const std::string line = file + ": " + what;
  const std::string shown =
      ::isatty(STDERR_FILENO) != 0 ? rpcrdma::plot::escape_terminal(line) : line;
  std::fprintf(stderr, "%s\n", shown.c_str());
}

int usage() {
  std::fputs(
      "usage: rpcrdma-trace-dat [--name NAME] [FILE]\n"
      "Writes the events of FILE, a trace.dat of trace-cmd or the text of trace-cmd report\n"
      "or trace_pipe, to standard output as pcapng. Without FILE it reads standard input.\n"
      "rpcrdma and rpcrdma-gui start it to open such files.\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  std::string name, path;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--name" && i + 1 < argc) {
      name = argv[++i];
    } else if (argument != "-" && argument.starts_with('-')) {
      return usage();
    } else if (!path.empty()) {
      return usage();
    } else {
      path = argument;
    }
  }
  ::signal(SIGPIPE, SIG_IGN);
  int input = STDIN_FILENO;
  if (!path.empty() && path != "-") {
    input = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (input < 0) {
      complain(path, std::strerror(errno));
      return 1;
    }
  }
  if (name.empty()) name = path.empty() || path == "-" ? "standard input" : path;
  limit_process(input, STDOUT_FILENO);
  const std::size_t slash = name.rfind('/');
  constexpr std::size_t kLongestName = 255;
  const std::string base = name.substr(slash == std::string::npos ? 0 : slash + 1, kLongestName);
  rpcrdma::base::confine(
      {.processes = rpcrdma::base::Processes::kNone, .files = true, .read = {}, .written = {}});
  const auto converted = rpcrdma::trace_dat::convert(input, STDOUT_FILENO, base);
  if (!converted) {
    complain(name, converted.error().message);
    return 1;
  }
  if (!converted->empty()) complain(name, *converted);
  return 0;
}
