// Differences between Wireshark's versions. Continuous integration has one of them; code for the
// others is in wireshark-plugin/wireshark.h, and in no other file of the plugin.
#include "tshark.h"

#include <regex>

#include <gmock/gmock.h>

namespace rpcrdma::wireshark_tests {
namespace {

using ::testing::ContainsRegex;

// Versions from 4.4 on query the plugin, and list one that does not answer as "unknown".
TEST(WiresharkVersions, ThePluginIsListedAsADissector) {
  EXPECT_THAT(Tshark::instance().run("TSHARK -G plugins").out,
              ContainsRegex("rpcrdma_scope\\.so[ \t]+[^ \t]+[ \t]+dissector[ \t]"));
}

// Parts of the headers that 4.0 has, and that 4.6 deprecates or declares with another type.
TEST(WiresharkVersions, NothingIsUsedThatLaterOnesDeprecate) {
  const std::regex later(
      "\\b(tvb_(get|find|skip)_gu?int[0-9]+|tvb_(child_)?uncompress|tvb_get_const_stringz"
      "|tvb_ws_mempbrk_pattern_guint8|tvb_get_bits|dissector_try_(string|payload|uint_new)"
      "|dissector_handle_get_short_name|register_conversation_filter|gu?int[0-9]+_to_(str_buf|hex)"
      "|gboolean)\\b");
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(RPCRDMA_PLUGIN_SOURCES)) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
    ++files;
    const std::string source = e2e::read_file(entry.path());
    std::smatch found;
    const bool uses = std::regex_search(source, found, later);
    EXPECT_EQ(uses, name == "wireshark.h") << name << ": " << found.str();
  }
  EXPECT_GT(files, 10);
}

}  // namespace
}  // namespace rpcrdma::wireshark_tests
