#include "files.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include <rpcrdma/host/mountstats.h>

namespace rpcrdma::host {

namespace {

constexpr std::size_t kMostMountstatsBytes = std::size_t{64} << 20;
constexpr std::size_t kMostMounts = 8192;
constexpr std::size_t kMostTransports = 64;   // of a mount
constexpr std::size_t kMostOperations = 128;  // of a mount
constexpr std::size_t kMostNumbers = 64;      // of a line
// As long as a path; a server's name comes before an export.
constexpr std::size_t kMostNameBytes = 4096 + 256;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// Most words are a few digits, for which a search by the C library costs more than it saves.
std::string_view take_word(std::string_view& rest) {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  std::size_t end = begin;
  while (end < rest.size() && !is_blank(rest[end])) ++end;
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

// The next word as a number, in one pass; nothing if it is none. Returns false at the end.
bool take_number(std::string_view& rest, std::optional<std::uint64_t>& value) {
  std::size_t begin = 0;
  while (begin < rest.size() && is_blank(rest[begin])) ++begin;
  std::size_t end = begin;
  std::uint64_t number = 0;
  bool is_number = true;
  for (; end < rest.size() && !is_blank(rest[end]); ++end) {
    const auto digit = static_cast<unsigned>(rest[end]) - '0';
    is_number = is_number && digit <= 9;
    number = number * 10 + digit;
  }
  // Any number of 19 digits fits.
  const std::size_t length = end - begin;
  value = length > 19 ? whole_number(rest.substr(begin, length))
          : is_number ? std::optional(number)
                      : std::nullopt;
  rest.remove_prefix(end);
  return length != 0;
}

// Eight or nine numbers that are all 0: most operations of a mount were never called.
bool is_never_called(std::string_view numbers) {
  if (numbers == " 0 0 0 0 0 0 0 0 0") return true;
  std::size_t zeros = 0;
  bool after_blank = true;
  for (const char c : numbers) {
    if (!is_blank(c) && (c != '0' || !after_blank)) return false;
    after_blank = is_blank(c);
    zeros += after_blank ? 0 : 1;
  }
  return zeros == 8 || zeros == 9;
}

bool skip(std::string_view& text, std::string_view what) {
  if (!text.starts_with(what)) return false;
  text.remove_prefix(what.size());
  return true;
}

// The kernel writes blanks and backslashes in names as three octal digits.
std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '7'; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && text[i + 1] <= '3' && digit(i + 1) &&
        digit(i + 2) && digit(i + 3)) {
      const int code = (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// The short values of options that become labels.
std::string option_value(std::string_view text) {
  return std::string(text.substr(0, 128));
}

class Parser {
 public:
  Mounts parse(std::string_view text) {
    while (!text.empty()) line(take_until(text, '\n'));
    return std::move(all_);
  }

 private:
  void line(std::string_view l) {
    if (l.starts_with("device ") || l.starts_with("no device ")) {
      begin(l);
      return;
    }
    if (mount_ == nullptr || l.empty()) return;
    std::string_view rest = l;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (in_operations_) {
      operation(rest);
    } else if (skip(rest, "xprt:")) {
      transport(rest);
    } else if (skip(rest, "opts:")) {
      options(trimmed(rest));
    } else if (skip(rest, "age:")) {
      mount_->age_seconds = whole_number(trimmed(rest));
      if (!mount_->age_seconds) ++all_.left_out_lines;
    } else if (skip(rest, "events:")) {
      numbers(rest, mount_->events);
    } else if (skip(rest, "bytes:")) {
      numbers(rest, mount_->bytes);
    } else if (rest.starts_with("per-op statistics")) {
      in_operations_ = true;
    }
  }

  // "device DEVICE mounted on MOUNTPOINT with fstype nfs4 statvers=1.1"
  void begin(std::string_view l) {
    mount_ = nullptr;
    in_operations_ = false;
    if (!skip(l, "device ")) return;
    const std::string_view device = take_word(l);
    if (!skip(l, " mounted on ")) return;
    const std::string_view mountpoint = take_word(l);
    if (!skip(l, " with fstype ")) return;
    const std::string_view fstype = take_word(l);
    if (fstype != "nfs" && fstype != "nfs4") return;
    if (all_.mounts.size() == kMostMounts || device.size() > kMostNameBytes ||
        mountpoint.size() > kMostNameBytes) {
      ++all_.left_out_mounts;
      return;
    }
    Mount m;
    m.device = unescaped(device);
    m.mountpoint = unescaped(mountpoint);
    m.fstype = fstype;
    std::string_view statvers = take_word(l);
    if (skip(statvers, "statvers=")) m.statvers = option_value(statvers);
    // A later mount hides the one below it.
    std::string key = m.mountpoint + '\n' + m.device;
    const auto [known, is_new] = positions_.emplace(std::move(key), all_.mounts.size());
    if (is_new) {
      mount_ = &all_.mounts.emplace_back(std::move(m));
    } else {
      ++all_.left_out_mounts;
      mount_ = &all_.mounts[known->second];
      *mount_ = std::move(m);
    }
  }

  void options(std::string_view text) {
    while (!text.empty()) {
      std::string_view option = take_until(text, ',');
      const std::string_view name = take_until(option, '=');
      if (name == "proto") mount_->protocol = option_value(option);
      if (name == "vers") mount_->version = option_value(option);
      if (name == "addr") mount_->server = option_value(option);
    }
  }

  // A list ends at what is not a number: a position decides what a number means.
  void numbers(std::string_view rest, std::vector<std::uint64_t>& to) {
    to.clear();
    std::optional<std::uint64_t> value;
    while (take_number(rest, value)) {
      if (!value || to.size() == kMostNumbers) {
        ++all_.left_out_lines;
        return;
      }
      to.push_back(*value);
    }
  }

  void transport(std::string_view rest) {
    MountTransport t;
    const std::string_view protocol = take_word(rest);
    if (mount_->transports.size() == kMostTransports || !is_plain_name(protocol)) {
      ++all_.left_out_lines;
      return;
    }
    t.protocol = protocol;
    std::optional<std::uint64_t> value;
    while (take_number(rest, value)) {
      if (t.numbers.size() == kMostNumbers) {
        ++all_.left_out_lines;
        break;
      }
      t.numbers.push_back(value);
      if (!t.numbers.back()) ++all_.left_out_lines;
    }
    mount_->transports.push_back(std::move(t));
  }

  // "READ: 1 1 0 ..."
  void operation(std::string_view rest) {
    if (rest.empty()) return;
    const std::string_view name = take_until(rest, ':');
    if (is_never_called(rest)) return;
    MountOperation o;
    bool is_valid = is_plain_name(name);
    std::optional<std::uint64_t> value;
    while (is_valid && take_number(rest, value)) {
      if (o.count == o.numbers.size()) {
        // A later kernel's.
        ++all_.left_out_lines;
        break;
      }
      is_valid = value.has_value();
      if (value) o.numbers[o.count++] = *value;
    }
    auto& known = mount_->operations;
    if (!is_valid || o.count < 8 || known.size() == kMostOperations ||
        std::ranges::find(known, name, &MountOperation::name) != known.end()) {
      ++all_.left_out_lines;
      return;
    }
    o.name = name;
    known.push_back(std::move(o));
  }

  Mounts all_;
  std::unordered_map<std::string, std::size_t> positions_;
  Mount* mount_ = nullptr;  // whose lines come; null: of no NFS mount
  bool in_operations_ = false;
};

}  // namespace

bool Mount::fell_back() const {
  return protocol.starts_with("rdma") &&
         std::ranges::any_of(transports,
                             [](const MountTransport& t) { return t.protocol != "rdma"; });
}

Mounts parse_mountstats(std::string_view text) {
  return Parser().parse(text);
}

base::Expected<Mounts> read_mountstats(const std::string& proc) {
  auto text = read_file(proc + "/1/mountstats", kMostMountstatsBytes);
  if (!text) text = read_file(proc + "/self/mountstats", kMostMountstatsBytes);
  if (!text) return tl::unexpected(text.error());
  return parse_mountstats(*text);
}

}  // namespace rpcrdma::host
