// The counter of words that the glossary replaces, on sources of a few lines.
#include "support/command.h"

#include <string>

#include <gmock/gmock.h>

namespace rpcrdma::docs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Words : public ::testing::Test {
 protected:
  // Runs the counter on one file.
  e2e::Result count(const std::string& name, const std::string& text) {
    e2e::write_file(folder_.file(name), text);
    return e2e::run("cd " + folder_.path() + " && " RPCRDMA_SOURCE_DIR "/tests/docs/words " + name);
  }

  e2e::TemporaryFolder folder_;
};

TEST_F(Words, PlainSourcesPass) {
  const e2e::Result r = count("a.cc",
                              "// Returns the teller of \"intelligence\".\n"
                              "int untold_teller = 0;  // retells\n");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, IsEmpty());
  EXPECT_THAT(r.out, StartsWith("2 comment lines; "));
}

TEST_F(Words, AWordInAComment) {
  const e2e::Result r = count("a.h", "int a;\n// It tells the peer.\n");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("a.h:2: word: // It tells the peer."));
}

TEST_F(Words, AnOpeningOfAComment) {
  const e2e::Result r =
      count("a.h", "// Of a set.\nint a;  // Those before.\n// Calls\n// Of a peer.\n");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("a.h:1: opening: // Of a set."));
  EXPECT_THAT(r.err, HasSubstr("a.h:2: opening: // Those before."));
  EXPECT_THAT(r.err, testing::Not(HasSubstr("a.h:4")));
}

TEST_F(Words, NamesOfAnyStyle) {
  for (const char* name : {"tell_peer", "was_told", "kToldAnew", "TellsAll", "told"}) {
    const e2e::Result r = count("a.cc", std::string("int ") + name + " = 0;\n");
    EXPECT_EQ(r.status, 1) << name;
    EXPECT_THAT(r.err, HasSubstr(std::string("a.cc:1: name: ") + name));
  }
}

TEST_F(Words, TextsOfProgramsAndDocuments) {
  EXPECT_THAT(count("a.cc", "const char* a = \"Do not tell\";\n").err,
              HasSubstr("a.cc:1: text: \"Do not tell\""));
  EXPECT_THAT(count("a.cc", "const char* a = R\"x(it \"told\")x\";\n").err,
              HasSubstr("a.cc:1: text"));
  EXPECT_THAT(count("a.md", "# A\n\nIt tells.\n").err, HasSubstr("a.md:3: text: It tells."));
}

TEST_F(Words, OnlySourcesAndDocumentsAreRead) {
  const e2e::Result r = count("a.pcap", "it tells");
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.out, StartsWith("0 comment lines; "));
}

}  // namespace
}  // namespace rpcrdma::docs
