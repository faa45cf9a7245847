// What tshark makes of captures with the plugin, beside the fields of messages.
#include "tshark.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace rpcrdma::wireshark_tests {
namespace {

std::string copy_of(const std::string& name) {
  static std::map<std::string, std::string> copies;
  std::string& path = copies[name];
  if (path.empty()) path = Tshark::instance().copy(capture(name));
  return path;
}

// Lines of columns: -T fields of `fields`, separated by tabs.
std::vector<std::vector<std::string>> rows(const std::string& file, const std::string& fields,
                                           const std::string& more = {},
                                           const std::string& program = "TSHARK") {
  std::string shell = program + " -r " + file + " -T fields " + more;
  std::istringstream names(fields);
  for (std::string name; names >> name;) shell += " -e " + name;
  const Result r = tshark(shell);
  EXPECT_EQ(r.status, 0) << r.err;
  std::vector<std::vector<std::string>> all_rows;
  std::istringstream in(r.out);
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string>& row = all_rows.emplace_back(1);
    for (const char c : line) {
      if (c == '\t') {
        row.emplace_back();
      } else {
        row.back() += c;
      }
    }
  }
  return all_rows;
}

std::string md5_of(const std::string& bytes) {
  const e2e::TemporaryFolder folder;
  e2e::write_file(folder.file("bytes"), bytes);
  return e2e::run("md5sum <" + folder.file("bytes")).out.substr(0, 32);
}

class RealCapture : public ::testing::TestWithParam<const char*> {};

TEST_P(RealCapture, HasNothingMalformedReadOnceOrTwice) {
  for (const char* passes : {"-Y _ws.malformed", "-2 -Y _ws.malformed"}) {
    const auto found = rows(copy_of(GetParam()), "frame.number frame.protocols", passes);
    for (const auto& row : found) {
      ADD_FAILURE() << GetParam() << " " << passes << ": frame " << row[0] << " " << row[1];
    }
  }
}

TEST_P(RealCapture, IsNeverShownByBothDissectors) {
  for (const char* options :
       {"", "-o rpcrdma.precedence:FALSE", "--enable-heuristic rpcrdma_infiniband"}) {
    const auto found = rows(copy_of(GetParam()), "frame.number frame.protocols", options);
    EXPECT_FALSE(found.empty());
    for (const auto& row : found) {
      const bool ours = row[1].find(":rpcrdma") != std::string::npos;
      const bool theirs = row[1].find(":rpcordma") != std::string::npos;
      EXPECT_FALSE(ours && theirs)
          << GetParam() << " " << options << " frame " << row[0] << " " << row[1];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Linux, RealCapture,
                         ::testing::Values("linux-nfs41.pcap", "linux-nfs3.pcap",
                                           "linux-deleg.pcap", "linux-non-rpc.pcap",
                                           "roce-icrc-oracle.pcap"),
                         [](const auto& instance) {
                           std::string name = std::filesystem::path(instance.param).stem();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Dissection, IsAsItWasWithoutThePluginWhereItIsSwitchedOff) {
  // The built-in dissector is asked again when the user says so.
  const std::string file = copy_of("linux-nfs3.pcap");
  const auto off = rows(file, "frame.number frame.protocols",
                        "--disable-protocol rpcrdma --disable-heuristic rpcrdma_infiniband");
  const auto plain =
      rows(file, "frame.number frame.protocols", "--disable-heuristic rpcrdma_infiniband", "PLAIN");
  EXPECT_EQ(off, plain);
}

TEST(Dissection, RdmaThatIsNoRpcIsLeftAlone) {
  for (const char* passes : {"-Y 'rpcrdma || rpcordma'", "-2 -Y 'rpcrdma || rpcordma'"}) {
    EXPECT_TRUE(rows(copy_of("linux-non-rpc.pcap"), "frame.number", passes).empty()) << passes;
  }
}

TEST(Dissection, BuiltInHasItBackWithoutPrecedence) {
  const auto back =
      rows(copy_of("linux-nfs3.pcap"), "frame.number", "-o rpcrdma.precedence:FALSE -Y rpcordma");
  const auto plain = rows(copy_of("linux-nfs3.pcap"), "frame.number", "-Y rpcordma", "PLAIN");
  EXPECT_FALSE(plain.empty());
  EXPECT_EQ(back, plain);
}

TEST(Dissection, DecodeAsDoesNotUndoWhatIsRecognised) {
  const std::string file = copy_of("linux-nfs3.pcap");
  EXPECT_EQ(rows(file, "frame.number rpcrdma.xid", "-d infiniband,rpcrdma -Y rpcrdma.kind"),
            rows(file, "frame.number rpcrdma.xid", "-Y rpcrdma.kind"));
}

// Data of all READ replies of NFSv3 in a single pass, by offset, against the sum that the guest
// printed (tests/captures/README.md).
TEST(Dissection, DataOfNfs3ReadsIsWhatTheGuestHad) {
  std::map<std::uint64_t, std::string> pieces;
  for (const auto& row : rows(copy_of("linux-nfs3.pcap"), "rpc.xid nfs.count3 nfs.data",
                              "-Y 'nfs.procedure_v3 == 6 && rpc.msgtyp == 1'")) {
    ASSERT_EQ(row.size(), 3U);
    EXPECT_FALSE(row[2].empty()) << "XID " << row[0];
    EXPECT_EQ(row[2].size(), 2 * std::stoull(row[1])) << "XID " << row[0];
  }
}

TEST(Dissection, ExchangeSelectsCallReplyAndTheirOperations) {
  const std::string file = copy_of("linux-nfs3.pcap");
  const Result r = tshark("RPCRDMA decode --json " + file);
  std::size_t checked = 0;
  for (const json& m : e2e::json_lines(r.out)) {
    if (m["kind"] != "reply" || m["operations"].empty() || ++checked > 3) continue;
    const std::string frame = m["frame"].dump();
    const auto number = rows(file, "rpcrdma.exchange", "-Y 'frame.number == " + frame + "'");
    ASSERT_EQ(number.size(), 1U);
    std::set<std::uint64_t> selected;
    for (const auto& row :
         rows(file, "frame.number", "-Y 'rpcrdma.exchange == " + number[0][0] + "'")) {
      selected.insert(std::stoull(row[0]));
    }
    std::set<std::uint64_t> ends{m["frame"], m["match"]};
    for (const json& o : m["operations"]) ends.insert({o["first_frame"], o["last_frame"]});
    EXPECT_TRUE(std::includes(selected.begin(), selected.end(), ends.begin(), ends.end()))
        << "frame " << frame;
  }
  EXPECT_GT(checked, 0U);
}

TEST(Dissection, FieldsAreThoseOfTheCommand) {
  // -G fields: F, label, name, type, protocol, ...
  std::map<std::string, std::string> types;
  std::istringstream shown(tshark("TSHARK -G fields").out);
  for (std::string line; std::getline(shown, line);) {
    std::vector<std::string> columns;
    std::istringstream in(line);
    for (std::string column; std::getline(in, column, '\t');) columns.push_back(column);
    if (columns.size() > 3 && columns[0] == "F") types[columns[2]] = columns[3];
  }
  const std::map<std::string, std::string> same{
      {"uint8", "FT_UINT8"},        {"uint16", "FT_UINT16"},  {"uint24", "FT_UINT24"},
      {"uint32", "FT_UINT32"},      {"uint64", "FT_UINT64"},  {"int64", "FT_INT64"},
      {"bool", "FT_BOOLEAN"},       {"bytes", "FT_BYTES"},    {"string", "FT_STRING"},
      {"subtree", "FT_NONE"},       {"frame", "FT_FRAMENUM"}, {"duration", "FT_RELATIVE_TIME"},
      {"time", "FT_ABSOLUTE_TIME"}, {"ipv4", "FT_IPv4"},      {"ipv6", "FT_IPv6"},
      {"address", "FT_STRING"}};
  std::size_t checked = 0;
  std::istringstream told(tshark("RPCRDMA fields").out);
  for (std::string line; std::getline(told, line);) {
    std::istringstream words(line);
    std::string name, type;
    words >> name >> type;
    if (!name.starts_with("rpcrdma.")) continue;
    ++checked;
    ASSERT_TRUE(same.contains(type)) << line;
    EXPECT_EQ(types[name], same.at(type)) << line;
  }
  EXPECT_GT(checked, 100U);
}

// From the middle of a connection on, as it is there: no set-up, no Calls before.
TEST(Dissection, CaptureThatBeginsWithinAConnection) {
  const std::string file = copy_of("linux-nfs3.pcap");
  const e2e::TemporaryFolder folder;
  const Result cut = tshark("editcap -F pcap " + file + " " + folder.file("cut.pcap") + " 1-800");
  ASSERT_EQ(cut.status, 0) << cut.err;
  const std::string rest = Tshark::instance().copy(folder.file("cut.pcap"));
  const char* const reads = "-Y 'nfs.procedure_v3 == 6 && rpc.msgtyp == 1'";
  std::map<std::string, std::string> whole;
  for (const auto& row : rows(file, "rpc.xid nfs.data", reads)) whole[row[0]] = row[1];
  const auto found = rows(rest, "rpc.xid nfs.data", reads);
  EXPECT_FALSE(found.empty());
  for (const auto& row : found) {
    EXPECT_EQ(md5_of(row[1]), md5_of(whole[row[0]])) << "XID " << row[0];
  }
  EXPECT_TRUE(rows(rest, "frame.number", "-Y _ws.malformed").empty());
}

}  // namespace
}  // namespace rpcrdma::wireshark_tests
