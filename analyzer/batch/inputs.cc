#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <glob.h>
#include <sys/stat.h>

#include <rpcrdma/batch/inputs.h>

namespace rpcrdma::batch {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 11> kCaptureEndings{".pcap",  ".pcapng", ".cap",   ".ntar",
                                                           ".dmp",   ".erf",    ".snoop", ".snp",
                                                           ".trace", ".dat",    ".ntrace"};
constexpr std::array<std::string_view, 6> kCompressedEndings{".gz",  ".zst", ".xz",
                                                             ".bz2", ".lz4", ".zstd"};

bool has_ending(std::string_view name, std::string_view ending) {
  return name.size() > ending.size() && name.ends_with(ending);
}

// A list begins with the name of something that exists.
bool is_list(const std::string& path) {
  if (is_capture_name(path)) return false;
  std::ifstream in(path, std::ios::binary);
  std::array<char, 4096> start{};
  in.read(start.data(), start.size());
  std::string_view text(start.data(), static_cast<std::size_t>(in.gcount()));
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  text = text.substr(0, text.find_first_of("\r\n"));
  if (text.empty() || text.find('\0') != std::string_view::npos) return false;
  struct stat status {};
  return ::stat(std::string(text).c_str(), &status) == 0;
}

class Finder {
 public:
  explicit Finder(const std::string& without) {
    std::error_code error;
    without_ = fs::weakly_canonical(without, error);
  }

  base::Expected<void> word(const std::string& word) {
    if (word.starts_with("@")) return list(word.substr(1));
    struct stat status {};
    if (::stat(word.c_str(), &status) != 0) {
      const int error = errno;
      if (word.find_first_of("*?[") != std::string::npos) return matches(word);
      return base::fail(fmt::format("{}: {}", word, std::strerror(error)));
    }
    if (S_ISDIR(status.st_mode)) return directory(word);
    if (S_ISREG(status.st_mode) && is_list(word)) return list(word);
    if (!S_ISREG(status.st_mode)) {
      return base::fail(
          fmt::format("{}: is not a regular file: it could not be read again after a crash", word));
    }
    add(word, status, false);
    return {};
  }

  std::vector<Input> take() { return std::move(inputs_); }

 private:
  // A line of a list cannot name another list, so lists cannot name each other.
  base::Expected<void> list(const std::string& path) {
    if (in_list_) return base::fail(fmt::format("{}: a list names a list", path));
    in_list_ = true;
    std::ifstream file;
    if (path != "-") {
      file.open(path, std::ios::binary);
      if (!file) return base::fail(fmt::format("{}: {}", path, std::strerror(errno)));
    }
    std::istream& in = path == "-" ? std::cin : file;
    for (std::string line; std::getline(in, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.empty()) continue;
      if (line.size() > 4096 || line.find('\0') != std::string::npos) {
        return base::fail(fmt::format("{}: is not a list of files", path));
      }
      if (auto done = word(line); !done) return done;
    }
    in_list_ = false;
    if (in.bad()) return base::fail(fmt::format("{}: {}", path, std::strerror(errno)));
    return {};
  }

  base::Expected<void> matches(const std::string& pattern) {
    glob_t found{};
    const int error = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
    ::globfree(&found);
    if (error == GLOB_NOMATCH) return base::fail(fmt::format("{}: no file matches", pattern));
    if (error != 0) return base::fail(fmt::format("{}: {}", pattern, std::strerror(errno)));
    for (const std::string& path : paths) {
      struct stat status {};
      if (::stat(path.c_str(), &status) != 0) continue;  // a link to nothing
      if (S_ISDIR(status.st_mode)) {
        if (auto done = directory(path); !done) return done;
      } else if (S_ISREG(status.st_mode)) {
        add(path, status, false);
      }
    }
    return {};
  }

  base::Expected<void> directory(const std::string& path) {
    std::error_code error;
    fs::recursive_directory_iterator at(path, error);
    std::vector<std::string> paths;
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      if (at->is_directory(error) && fs::weakly_canonical(at->path(), error) == without_) {
        at.disable_recursion_pending();
      } else if (at->is_regular_file(error)) {
        paths.push_back(at->path().string());
      }
    }
    if (error) return base::fail(fmt::format("{}: {}", path, error.message()));
    std::sort(paths.begin(), paths.end());
    for (const std::string& file : paths) {
      struct stat status {};
      if (::stat(file.c_str(), &status) == 0) add(file, status, true);
    }
    return {};
  }

  void add(const std::string& path, const struct stat& status, bool found) {
    if (!seen_.emplace(status.st_dev, status.st_ino).second) return;
    constexpr std::int64_t kSecond = 1'000'000'000;
    inputs_.push_back({path, static_cast<std::uint64_t>(status.st_size),
                       status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec, found});
  }

  fs::path without_;
  bool in_list_ = false;
  std::set<std::pair<dev_t, ino_t>> seen_;
  std::vector<Input> inputs_;
};

}  // namespace

bool is_capture_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  for (const std::string_view ending : kCompressedEndings) {
    if (has_ending(name, ending)) name.resize(name.size() - ending.size());
  }
  // tcpdump numbers the files of a ring behind the ending.
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.pop_back();
  return std::any_of(kCaptureEndings.begin(), kCaptureEndings.end(),
                     [&](std::string_view ending) { return has_ending(name, ending); });
}

base::Expected<std::vector<Input>> find_inputs(const std::vector<std::string>& words,
                                               const std::string& without) {
  Finder finder(without);
  for (const std::string& word : words) {
    if (auto done = finder.word(word); !done) return tl::unexpected(done.error());
  }
  return finder.take();
}

}  // namespace rpcrdma::batch
