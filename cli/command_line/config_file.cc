// Reads configuration files with CLI11's parser, one line at a time, so that errors name the line;
// and writes them.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>

#include <rpcrdma/command_line/config_file.h>

namespace rpcrdma::command_line {

namespace {

tl::unexpected<base::Error> at(const std::string& path, std::size_t line, const std::string& what) {
  return base::fail(path + ':' + std::to_string(line) + ": " + what);
}

base::Expected<std::string> read_all(const std::string& path) {
  errno = 0;
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  std::string text;
  std::array<char, 4096> buffer;
  while (file && text.size() <= kMostConfigBytes) {
    const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), file.get());
    if (n == 0) break;
    text.append(buffer.data(), n);
  }
  if (!file || std::ferror(file.get()) != 0) return base::fail(path + ": " + std::strerror(errno));
  if (text.size() > kMostConfigBytes) return base::fail(path + ": longer than 1 MiB");
  return text;
}

// Returns the line without its comment and surrounding blanks. CLI11 sees comments in quotes, too.
std::string stripped(const std::string& line) {
  char quote = '\0';
  std::size_t end = line.size();
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      end = i;
      break;
    }
  }
  std::string text = line.substr(0, end);
  return CLI::detail::trim(text);
}

// Returns the list without blanks outside of quotes, which CLI11 takes for values.
std::string compact(const std::string& list) {
  std::string out;
  char quote = '\0';
  for (const char c : list) {
    if (quote == '\0' && (c == ' ' || c == '\t')) continue;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    }
    out += c;
  }
  return out;
}

// What CLI11 finds in the line.
std::vector<CLI::ConfigItem> items_in(const std::string& line) {
  CLI::ConfigTOML parser;
  parser.comment('\x01');
  std::istringstream stream(line);
  return parser.from_config(stream);
}

bool is_set_by_a_file(const Option& option) {
  const OptionSpec& spec = option.spec();
  return (spec.kind == OptionKind::kFlag || spec.kind == OptionKind::kOption) && !spec.meta;
}

// Which line of the text is read next.
struct Lines {
  std::istringstream stream;
  std::size_t number = 0;

  bool next(std::string& line) {
    ++number;
    return static_cast<bool>(std::getline(stream, line));
  }
};

struct Values {
  const Option& option;

  std::vector<std::string> operator()(const bool* flag) const { return {*flag ? "true" : "false"}; }
  std::vector<std::string> operator()(const std::string* text) const {
    return text->empty() ? std::vector<std::string>() : std::vector{*text};
  }
  std::vector<std::string> operator()(const std::uint32_t* n) const { return {std::to_string(*n)}; }
  std::vector<std::string> operator()(const std::uint64_t* n) const { return {std::to_string(*n)}; }
  std::vector<std::string> operator()(const double* n) const { return {number(*n)}; }
  std::vector<std::string> operator()(const std::optional<std::uint32_t>* n) const {
    return *n ? std::vector{std::to_string(**n)} : std::vector<std::string>();
  }
  std::vector<std::string> operator()(const std::optional<double>* n) const {
    return *n ? std::vector{number(**n)} : std::vector<std::string>();
  }
  std::vector<std::string> operator()(const std::vector<std::string>* list) const { return *list; }
  std::vector<std::string> operator()(const std::vector<std::uint32_t>* list) const {
    std::vector<std::string> texts;
    for (const std::uint32_t n : *list) texts.push_back(std::to_string(n));
    return texts;
  }
  // The function has kept its value itself.
  std::vector<std::string> operator()(const Target::Function& /*take*/) const {
    return option.words();
  }

  static std::string number(double n) {
    std::ostringstream out;
    out << n;
    return out.str();
  }
};

// TOML's literal strings have no escapes.
std::string quoted(const std::string& value) {
  const char quote = value.find('\'') == std::string::npos ? '\'' : '"';
  return quote + value + quote;
}

bool is_number(const Target& target) {
  const Target::Variable& v = target.variable();
  return std::holds_alternative<bool*>(v) || std::holds_alternative<std::uint32_t*>(v) ||
         std::holds_alternative<std::uint64_t*>(v) || std::holds_alternative<double*>(v) ||
         std::holds_alternative<std::optional<std::uint32_t>*>(v) ||
         std::holds_alternative<std::optional<double>*>(v);
}

std::string value_text(const EffectiveValue& value) {
  const Option& option = *value.option;
  if (is_number(option.target()) && !value.values.empty()) return value.values.front();
  if (!option.spec().list) return quoted(value.values.empty() ? "" : value.values.front());
  std::string list;
  for (const std::string& one : value.values) list += (list.empty() ? "" : ", ") + quoted(one);
  return '[' + list + ']';
}

// Wraps the text between words, as comments.
void add_comment(std::string& out, const std::string& text) {
  constexpr std::size_t kWidth = 98;
  std::string line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > kWidth) {
      out += "# " + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) out += "# " + line + '\n';
}

}  // namespace

base::Expected<std::vector<ConfigEntry>> read_config(const std::string& path,
                                                     const Command& command) {
  auto text = read_all(path);
  if (!text) return tl::unexpected(text.error());
  std::vector<ConfigEntry> entries;
  Lines lines{std::istringstream(std::move(*text))};
  for (std::string raw; lines.next(raw);) {
    const std::size_t number = lines.number;
    std::string line = stripped(raw);
    if (line.empty()) continue;
    if (line.front() == '[') {
      if (line == '[' + command.name() + ']') continue;
      return at(path, number, line + ": the only section is [" + command.name() + "]");
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) return at(path, number, "not NAME = VALUE: " + line);
    std::string name = line.substr(0, equals);
    CLI::detail::remove_quotes(CLI::detail::trim(name));
    const Option* const option = name.size() > 1 ? command.find_option("--" + name) : nullptr;
    if (option == nullptr || !is_set_by_a_file(*option)) {
      return at(path, number, name + ": no such option of " + command.name());
    }
    // A list may take several lines.
    std::string value = line.substr(equals + 1);
    CLI::detail::trim(value);
    while (value.starts_with('[') && !value.ends_with(']') && lines.next(raw)) {
      value += ' ' + stripped(raw);
    }
    if (value.starts_with('[')) {
      if (!value.ends_with(']')) return at(path, number, name + ": the list has no end");
      value = compact(value);
    }
    ConfigEntry entry{number, option, {}};
    if (value == "''" || value == "\"\"") {
      entry.values = {""};
    } else {
      // The shortest line that CLI11 reads has three characters.
      for (CLI::ConfigItem& item : items_in(name + " = " + value)) {
        entry.values.insert(entry.values.end(), item.inputs.begin(), item.inputs.end());
      }
    }
    if (value == "[]") entry.values.clear();
    if (value.empty()) return at(path, number, name + ": no value");
    if (!option->spec().list && entry.values.size() != 1) {
      return at(path, number,
                name + ": one value is expected; quote a value with blanks or commas");
    }
    if (!option->takes_value() && entry.values.front() != "true" &&
        entry.values.front() != "false") {
      return at(path, number, name + ": give true or false");
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<EffectiveValue> effective_values(const Command& command) {
  std::vector<EffectiveValue> values;
  for (const auto& option : command.options()) {
    if (!is_set_by_a_file(*option) || option->spec().long_names.empty()) continue;
    values.push_back({option.get(), std::visit(Values{*option}, option->target().variable())});
  }
  return values;
}

std::string config_text(const Command& command) {
  std::string out;
  add_comment(out, "Configuration of `" +
                       (command.parent() != nullptr ? command.parent()->name() + ' ' : "") +
                       command.name() +
                       " --config FILE`. The command line has precedence. Lines that begin with # "
                       "are comments.");
  for (const EffectiveValue& value : effective_values(command)) {
    const OptionSpec& spec = value.option->spec();
    out += '\n';
    add_comment(out, spec.help);
    if (value.values.empty()) out += '#';
    out += spec.long_names.front() + " = " + value_text(value) + '\n';
  }
  return out;
}

}  // namespace rpcrdma::command_line
