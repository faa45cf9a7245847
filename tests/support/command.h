// Runs the command rpcrdma in a shell.
#pragma once

#include "json.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdma::e2e {

struct Result {
  int status = -1;
  std::string out;  // standard output
  std::string err;  // standard error
};

// A folder that is deleted at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rpcrdma-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// `shell`: a command line; RPCRDMA is replaced by the program.
inline Result run(const std::string& shell) {
  const TemporaryFolder folder;
  const std::string line = "RPCRDMA() { " RPCRDMA_COMMAND " \"$@\"; }; " + shell;
  write_file(folder.file("script"), line);
  const std::string command = "bash " + folder.file("script") + " >" + folder.file("out") + " 2>" +
                              folder.file("err") + " </dev/null";
  const int status = std::system(command.c_str());
  Result r;
  r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  r.out = read_file(folder.file("out"));
  r.err = read_file(folder.file("err"));
  return r;
}

inline std::string capture(const std::string& name) {
  return std::string(RPCRDMA_TEST_CAPTURES) + "/" + name;
}

}  // namespace rpcrdma::e2e
