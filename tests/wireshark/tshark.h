// Runs tshark with the plugin from the build tree, without installing it.
#pragma once

#include "support/command.h"

namespace rpcrdma::wireshark_tests {

using e2e::capture;
using e2e::Result;
using nlohmann::json;

// A home of its own: no preferences, and only our plugin. As root, tshark ignores both, so it runs
// as another user there, with access to nothing else.
class Tshark {
 public:
  static const Tshark& instance() {
    static const Tshark one;
    return one;
  }

  // Copies a file to a place where that user can read it.
  [[nodiscard]] std::string copy(const std::string& file) const {
    std::string to = home_.file(std::to_string(++copies_) + "-" +
                                std::filesystem::path(file).filename().string());
    std::filesystem::copy_file(file, to);
    open_to_all(to);
    return to;
  }
  // Returns a path for a file that a test creates.
  [[nodiscard]] std::string file(const std::string& name) const { return home_.file(name); }

  // Plugin folders.
  static constexpr const char* kWithPlugin = "p";
  static constexpr const char* kPlain = "none";

  // Returns the command that starts tshark with the plugins of a folder; the last word is tshark
  // itself.
  [[nodiscard]] std::vector<std::string> command(const std::string& plugins) const {
    std::vector<std::string> words;
    if (geteuid() == 0) {
      words = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"};
    }
    for (const std::string& word :
         {std::string("env"), std::string("LC_ALL=C.UTF-8"), std::string("TZ=UTC"),
          "HOME=" + home_.path(), "WIRESHARK_PLUGIN_DIR=" + home_.file(plugins),
          std::string("tshark")}) {
      words.push_back(word);
    }
    return words;
  }

  // The path of start_once.cc's library, where tshark can load it.
  [[nodiscard]] std::string start_once() const { return home_.file("start_once.so"); }

  // `shell`: a command line; TSHARK is replaced by tshark with the plugin, PLAIN by tshark without
  // it, and RPCRDMA by the command.
  [[nodiscard]] Result run(const std::string& shell) const {
    return e2e::run("TSHARK() { " + shell_command(kWithPlugin) + " \"$@\"; }; PLAIN() { " +
                    shell_command(kPlain) + " \"$@\"; }; " + shell);
  }

 private:
  Tshark() {
    const std::string plugins =
        home_.file(std::string(kWithPlugin) + "/" RPCRDMA_WIRESHARK_VERSION "/epan");
    std::filesystem::create_directories(plugins);
    std::filesystem::create_directories(home_.file(kPlain));
    std::filesystem::copy_file(RPCRDMA_PLUGIN, plugins + "/rpcrdma_scope.so");
    std::filesystem::copy_file(RPCRDMA_START_ONCE, start_once());
    open_to_all(home_.path());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home_.path())) {
      open_to_all(entry.path());
    }
  }

  static void open_to_all(const std::filesystem::path& path) {
    using std::filesystem::perms;
    std::filesystem::permissions(
        path, std::filesystem::is_directory(path)
                  ? perms::owner_all | perms::group_read | perms::group_exec | perms::others_read |
                        perms::others_exec
                  : perms::owner_all | perms::group_read | perms::others_read);
  }

  [[nodiscard]] std::string shell_command(const std::string& plugins) const {
    std::string line;
    for (const std::string& word : command(plugins)) line += word + ' ';
    return line;
  }

  e2e::TemporaryFolder home_;
  mutable int copies_ = 0;
};

inline Result tshark(const std::string& shell) {
  return Tshark::instance().run(shell);
}

// Returns all values of `name` in a tree of fields: tshark writes one as it is, and several as a
// list.
inline std::vector<json> all(const json& tree, const std::string& name) {
  const auto it = tree.find(name);
  if (it == tree.end()) return {};
  if (it->is_array()) return it->get<std::vector<json>>();
  return {*it};
}

inline const json* first(const json& tree, const std::string& name) {
  const auto it = tree.find(name);
  if (it == tree.end()) return nullptr;
  return it->is_array() ? &it->front() : &*it;
}

// Parses a number of tshark, decimal or hexadecimal.
inline json number(const json* field) {
  if (field == nullptr) return nullptr;
  return std::stoull(field->get<std::string>(), nullptr, 0);
}

}  // namespace rpcrdma::wireshark_tests
