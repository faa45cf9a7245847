#include "recordings.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

namespace rpcrdma::agent {

namespace {

// A process may have thousands of sockets.
constexpr std::size_t kMostLooked = 4096;

// "flags:\t0100001" in /proc/PID/fdinfo/N, octal.
bool writes(const std::string& info) {
  std::ifstream in(info);
  std::string word;
  while (in >> word) {
    if (word != "flags:") continue;
    unsigned flags = 0;
    in >> std::oct >> flags;
    return (flags & O_ACCMODE) != O_RDONLY;
  }
  return false;
}

}  // namespace

std::vector<fleet::RecordingSummary> recordings_of(std::uint32_t process) {
  std::vector<fleet::RecordingSummary> all;
  const std::string folder = fmt::format("/proc/{}/fd", process);
  std::error_code error;
  std::size_t looked = 0;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (++looked > kMostLooked || all.size() == fleet::kMostRecordings) break;
    const std::filesystem::path& link = at->path();
    std::error_code gone;
    const std::string file = std::filesystem::read_symlink(link, gone).string();
    if (gone || !file.ends_with(".pcapng")) continue;
    if (!writes(fmt::format("/proc/{}/fdinfo/{}", process, link.filename().string()))) continue;
    struct stat status {};
    if (::stat(link.c_str(), &status) != 0) continue;
    all.push_back({file, static_cast<std::uint64_t>(status.st_size), false});
  }
  return all;
}

}  // namespace rpcrdma::agent
