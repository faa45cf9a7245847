// Preloaded into tshark, so that it starts once for many command lines: registering its dissectors
// takes ten times as long as reading a test capture. After registration, tshark waits here. Each
// line of standard input is a command line, its arguments separated by kSeparator; a child process
// continues with it as if tshark had been started with it, and its exit status is written to the
// pipe kStatus.
#include "start_once.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace rpcrdma::wireshark_tests::start_once;

std::vector<std::string> words;  // the command line, with tshark's name first
std::vector<char*> arguments;

template <class Function>
Function* next(const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

// Returns false at the end of the input.
bool read_line(std::string& line) {
  line.clear();
  char c = 0;
  while (::read(STDIN_FILENO, &c, 1) == 1) {
    if (c == '\n') return true;
    line += c;
  }
  return false;
}

void become(const std::string& line) {
  ::dup2(kOutput, STDOUT_FILENO);
  ::dup2(kErrors, STDERR_FILENO);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  for (const int fd : {kOutput, kErrors, kStatus}) ::close(fd);
  words = {"tshark"};
  for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
    end = line.find(kSeparator, at);
    words.push_back(line.substr(at, end - at));
  }
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
}

// Returns only in a child, with a command line.
void serve() {
  for (std::string line; read_line(line);) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) return become(line);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) std::abort();
    if (::write(kStatus, &status, sizeof status) != sizeof status) std::abort();
  }
  ::_exit(0);
}

}  // namespace

// tshark calls this after it has registered its dissectors, and before it reads its arguments.
extern "C" [[gnu::visibility("default")]] void* epan_load_settings() {
  void* const settings = next<void*()>("epan_load_settings")();
  serve();
  return settings;
}

extern "C" [[gnu::visibility("default")]] int ws_getopt_long(int count, char* const* values,
                                                             const char* options,
                                                             const void* long_options, int* index) {
  static auto* const parse =
      next<int(int, char* const*, const char*, const void*, int*)>("ws_getopt_long");
  if (!arguments.empty()) {
    count = static_cast<int>(words.size());
    values = arguments.data();
  }
  return parse(count, values, options, long_options, index);
}

// tshark calls this at its end, after all output. Freeing the memory of all dissectors takes longer
// than reading a capture.
extern "C" [[gnu::visibility("default")]] void epan_cleanup() {}
