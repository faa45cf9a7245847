#include "files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <rpcrdma/base/file_descriptor.h>

namespace rpcrdma::host {

base::Expected<std::string> read_file(const std::string& path, std::size_t most) {
  // A FIFO in place of the file must not block.
  const base::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) return base::fail(path + ": " + std::strerror(errno));
  std::string text;
  // procfs fills a page or so at each read, however large the buffer is.
  std::size_t room = std::min<std::size_t>(most, 4096);
  while (true) {
    const std::size_t had = text.size();
    text.resize(had + room);
    const ssize_t n = ::read(fd.get(), text.data() + had, room);
    const int why = errno;
    text.resize(had + (n > 0 ? static_cast<std::size_t>(n) : 0));
    if (n == 0) return text;
    if (n < 0 && why == EINTR) continue;
    if (n < 0) return base::fail(path + ": " + std::strerror(why));
    if (text.size() > most) return base::fail(path + ": too long");
    room = std::clamp<std::size_t>(text.size(), 4096, std::size_t{1} << 20);
  }
}

base::Expected<std::vector<std::string>> list_folder(const std::string& path, std::size_t most,
                                                     std::uint64_t& left_out) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return base::fail(path + ": " + std::strerror(errno));
  std::vector<std::string> names;
  while (const dirent* const entry = ::readdir(folder.get())) {
    if (entry->d_name[0] == '.') continue;
    if (names.size() == most) {
      ++left_out;
      continue;
    }
    names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);
  return names;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank(" \t\n\r\0", 5);
  const std::size_t first = std::min(text.find_first_not_of(kBlank), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(kBlank) + 1);
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

}  // namespace rpcrdma::host
