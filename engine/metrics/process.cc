// Reads /proc/self, whose fields proc(5) describes.
#include "process.h"

#include "families.h"
#include "names.h"

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include <dirent.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <rpcrdma/version/version.h>

namespace rpcrdma::metrics {

namespace {

std::string read_file(const char* path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "re"), std::fclose);
  std::string text;
  if (!file) return text;
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), file.get())) != 0;) {
    text.append(buffer.data(), n);
  }
  return text;
}

// Boot time in seconds since the epoch.
std::optional<double> boot_time() {
  const std::string text = read_file("/proc/stat");
  const std::size_t at = text.find("\nbtime ");
  unsigned long long seconds = 0;
  if (at == std::string::npos || std::sscanf(text.c_str() + at + 1, "btime %llu", &seconds) != 1) {
    return std::nullopt;
  }
  return static_cast<double>(seconds);
}

std::optional<std::uint64_t> open_files() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
  if (!folder) return std::nullopt;
  std::uint64_t n = 0;
  while (const dirent* const entry = ::readdir(folder.get())) n += entry->d_name[0] != '.' ? 1 : 0;
  return n != 0 ? n - 1 : 0;  // without that of the folder
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

ProcessFigures read_process() {
  ProcessFigures f;
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    f.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) f.most_files = limit.rlim_cur;
  f.open_files = open_files();
  const std::string stat = read_file("/proc/self/stat");
  // The second field is the program's name in parentheses, which may hold blanks.
  const std::size_t name_end = stat.rfind(')');
  unsigned long long threads = 0, start = 0, bytes = 0, pages = 0;
  if (name_end == std::string::npos ||
      std::sscanf(stat.c_str() + name_end + 1,
                  " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %*s "
                  "%llu %llu %llu",
                  &threads, &start, &bytes, &pages) != 4) {
    return f;
  }
  f.threads = threads;
  f.virtual_bytes = bytes;
  f.resident_bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (const auto boot = boot_time()) {
    f.started = *boot + static_cast<double>(start) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return f;
}

void add(Families& f, const ProcessFigures& p) {
  f.set(kBuildInfo, {{"version", std::string(version::text())}}, 1);
  const auto set = [&](const Metric& metric, const auto& value) {
    if (value) f.set(metric, {}, static_cast<double>(*value));
  };
  set(kStartTime, p.started);
  set(kCpu, p.cpu_seconds);
  set(kResident, p.resident_bytes);
  set(kVirtual, p.virtual_bytes);
  set(kOpenFiles, p.open_files);
  set(kMostFiles, p.most_files);
  set(kThreads, p.threads);
}

}  // namespace rpcrdma::metrics
