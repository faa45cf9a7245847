#include "file_tracker.h"

#include <optional>

#include <gtest/gtest.h>

#include <rpcrdma/decode/programs.h>
#include <rpcrdma/wire/endian.h>

namespace rpcrdma::model {
namespace {

// Arguments and results of procedures.
class XdrBytes {
 public:
  XdrBytes& word(std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<std::uint8_t>(value >> shift));
    }
    return *this;
  }
  XdrBytes& hyper(std::uint64_t value) {
    return word(static_cast<std::uint32_t>(value >> 32)).word(static_cast<std::uint32_t>(value));
  }
  XdrBytes& opaque(std::string_view text) {
    word(static_cast<std::uint32_t>(text.size()));
    bytes.insert(bytes.end(), text.begin(), text.end());
    while (bytes.size() % 4 != 0) bytes.push_back(0);
    return *this;
  }
  XdrBytes& zeros(std::size_t count) {
    bytes.insert(bytes.end(), count, 0);
    return *this;
  }
  XdrBytes& add(const XdrBytes& other) {
    bytes.insert(bytes.end(), other.bytes.begin(), other.bytes.end());
    return *this;
  }
  std::vector<std::uint8_t> bytes;
};

XdrBytes op(std::uint32_t number) {
  return XdrBytes().word(number);
}
XdrBytes putfh(std::string_view handle) {
  return op(22).opaque(handle);
}
XdrBytes named(std::uint32_t number, std::string_view name) {
  return op(number).opaque(name);
}
XdrBytes done(std::uint32_t number, std::uint32_t status = 0) {
  return op(number).word(status);
}
XdrBytes gotfh(std::string_view handle) {
  return done(10).opaque(handle);
}
XdrBytes read_op(std::uint64_t offset, std::uint32_t count) {
  return op(25).zeros(16).hyper(offset).word(count);
}
XdrBytes open_op(std::string_view name) {
  // seqid, access, deny, clientid, owner, OPEN4_NOCREATE, CLAIM_NULL
  return op(18).zeros(20).opaque("owner").word(0).word(0).opaque(name);
}
XdrBytes opened() {
  // stateid, change_info, rflags, bitmap, OPEN_DELEGATE_NONE
  return done(18).zeros(16).zeros(20).word(0).word(0).word(0);
}

struct FileTrackerTest : ::testing::Test {
  FileTracker tracker;

  static RpcInfo info(std::uint32_t program, std::uint32_t version, std::uint32_t procedure) {
    RpcInfo rpc;
    rpc.known = true;
    rpc.program = program;
    rpc.version = version;
    rpc.procedure = procedure;
    return rpc;
  }
  FileUse call(const RpcInfo& of, const XdrBytes& args) {
    RpcInfo rpc = of;
    rpc.ops =
        decode::parse_compound_call({rpc.program, rpc.version, rpc.procedure}, args.bytes, {});
    FileUse use;
    tracker.note_call(use, rpc, 1, args.bytes, {}, decode::kNotPadded);
    return use;
  }
  void answer(FileUse& use, const RpcInfo& of, const XdrBytes& results) {
    RpcInfo rpc = of;
    rpc.status = wire::load_be32(results.bytes.data());
    tracker.note_reply(use, rpc, results.bytes, {});
  }
  FileUse both(const RpcInfo& rpc, const XdrBytes& args, const XdrBytes& results) {
    FileUse use = call(rpc, args);
    answer(use, rpc, results);
    return use;
  }

  static XdrBytes compound(std::initializer_list<XdrBytes> ops) {
    XdrBytes args;
    args.opaque("").word(0).word(static_cast<std::uint32_t>(ops.size()));
    for (const XdrBytes& one : ops) args.add(one);
    return args;
  }
  static XdrBytes compounded(std::initializer_list<XdrBytes> ops, std::uint32_t status = 0) {
    XdrBytes results;
    results.word(status).opaque("").word(static_cast<std::uint32_t>(ops.size()));
    for (const XdrBytes& one : ops) results.add(one);
    return results;
  }
  FileUse four(std::initializer_list<XdrBytes> ops) { return call(kNfs4, compound(ops)); }
  FileUse four(std::initializer_list<XdrBytes> ops, std::initializer_list<XdrBytes> results,
               std::uint32_t status = 0) {
    return both(kNfs4, compound(ops), compounded(results, status));
  }
  FileUse three(std::uint32_t procedure, const XdrBytes& args) {
    return call(info(decode::kProgNfs, 3, procedure), args);
  }
  FileUse three(std::uint32_t procedure, const XdrBytes& args, const XdrBytes& results) {
    return both(info(decode::kProgNfs, 3, procedure), args, results);
  }
  // The name of a handle in version 3.
  std::string name_of(std::string_view handle) {
    return std::string(three(1, XdrBytes().opaque(handle)).name());
  }

  const RpcInfo kNfs4 = info(decode::kProgNfs, 4, 1);
};

std::uint32_t crc(std::string_view handle) {
  return decode::handle_hash({reinterpret_cast<const std::uint8_t*>(handle.data()), handle.size()});
}

TEST_F(FileTrackerTest, Version3) {
  const FileUse lookup =
      three(3, XdrBytes().opaque("D").opaque("big"), XdrBytes().word(0).opaque("B"));
  EXPECT_EQ(lookup.name(), "big");
  EXPECT_EQ(lookup.handle, crc("B"));
  const FileUse read = three(6, XdrBytes().opaque("B").hyper(65536).word(4096),
                             XdrBytes().word(0).word(0).word(100).word(0));
  EXPECT_EQ(read.name(), "big");
  EXPECT_EQ(read.access, FileUse::Access::kRead);
  EXPECT_EQ(read.offset, 65536U);
  EXPECT_EQ(read.count, 4096U);
  EXPECT_EQ(read.moved, 100U);
  const FileUse write = three(7, XdrBytes().opaque("X").hyper(8).word(3).word(0).opaque("abc"));
  EXPECT_EQ(write.name(), "");
  EXPECT_EQ(write.handle, crc("X"));
  EXPECT_EQ(write.access, FileUse::Access::kWrite);

  (void)three(8, XdrBytes().opaque("D").opaque("new"), XdrBytes().word(0).word(1).opaque("N"));
  EXPECT_EQ(name_of("N"), "new");
  (void)three(9, XdrBytes().opaque("D").opaque("sub"), XdrBytes().word(0).word(1).opaque("S"));
  (void)three(3, XdrBytes().opaque("S").opaque("x"), XdrBytes().word(0).opaque("Y"));
  EXPECT_EQ(name_of("Y"), "sub/x");
}

TEST_F(FileTrackerTest, RenameLinkAndRemove) {
  (void)three(3, XdrBytes().opaque("D").opaque("a"), XdrBytes().word(0).opaque("A"));
  (void)three(3, XdrBytes().opaque("D").opaque("to"), XdrBytes().word(0).opaque("T"));
  const FileUse rename =
      three(14, XdrBytes().opaque("D").opaque("a").opaque("T").opaque("b"), XdrBytes().word(0));
  EXPECT_EQ(rename.name(), "a");
  EXPECT_EQ(rename.handle, crc("A"));
  EXPECT_EQ(name_of("A"), "to/b");
  (void)three(14, XdrBytes().opaque("T").opaque("b").opaque("D").opaque("c"), XdrBytes().word(2));
  EXPECT_EQ(name_of("A"), "to/b") << "it failed";
  const FileUse remove = three(12, XdrBytes().opaque("T").opaque("b"), XdrBytes().word(0));
  EXPECT_EQ(remove.name(), "to/b");
  EXPECT_EQ(remove.handle, crc("A"));
  EXPECT_FALSE(three(12, XdrBytes().opaque("T").opaque("b")).handle) << "it is removed";
  const FileUse link =
      three(15, XdrBytes().opaque("L").opaque("D").opaque("hard"), XdrBytes().word(0));
  EXPECT_EQ(link.handle, crc("L"));
  EXPECT_EQ(name_of("L"), "hard");
}

TEST_F(FileTrackerTest, DirectoriesGiveNames) {
  XdrBytes entries;
  entries.word(0).word(0).hyper(0);
  entries.word(1).hyper(1).opaque("one").hyper(1).word(0).word(1).opaque("1");
  entries.word(1).hyper(2).opaque("..").hyper(2).word(0).word(1).opaque("P");
  entries.word(1).hyper(3).opaque("none").hyper(3).word(0).word(0);
  entries.word(1).hyper(4).opaque("two").hyper(4).word(0).word(1).opaque("2").word(0).word(1);
  const FileUse list =
      three(17, XdrBytes().opaque("D").hyper(0).hyper(0).word(512).word(512), entries);
  EXPECT_EQ(list.handle, crc("D"));
  EXPECT_EQ(name_of("1"), "one");
  EXPECT_EQ(name_of("2"), "two");
  EXPECT_EQ(name_of("P"), "");

  // Version 4: type, a list of access control, and the file handle.
  XdrBytes attributes;
  attributes.word(1).word(1).word(0).word(0).word(0).opaque("who").opaque("H");
  const std::string_view values(reinterpret_cast<const char*>(attributes.bytes.data()),
                                attributes.bytes.size());
  XdrBytes read;
  read.add(done(26)).hyper(0);
  read.word(1).hyper(1).opaque("four").word(1).word(1U << 1 | 1U << 12 | 1U << 19).opaque(values);
  read.word(1).hyper(2).opaque("five").word(0).opaque("");
  read.word(0).word(1);
  const XdrBytes readdir = op(26).hyper(0).zeros(8).word(512).word(512).word(0);
  const FileUse four_list = four({putfh("D4"), readdir}, {done(22), read});
  EXPECT_EQ(four_list.handle, crc("D4"));
  EXPECT_EQ(name_of("H"), "four");
}

TEST_F(FileTrackerTest, Mount) {
  const RpcInfo mnt = info(decode::kProgMount, 3, 1);
  const FileUse use = both(mnt, XdrBytes().opaque("/srv/export"), XdrBytes().word(0).opaque("R"));
  EXPECT_EQ(use.name(), "/srv/export");
  (void)three(3, XdrBytes().opaque("R").opaque("big"), XdrBytes().word(0).opaque("B"));
  EXPECT_EQ(name_of("B"), "/srv/export/big");
}

TEST_F(FileTrackerTest, TheCurrentFileOfACompound) {
  (void)four({op(24), op(10)}, {done(24), gotfh("ROOT")});
  EXPECT_EQ(name_of("ROOT"), "/");
  const FileUse walk = four({op(24), named(15, "a"), named(15, "b"), op(10)},
                            {done(24), done(15), done(15), gotfh("B")});
  EXPECT_EQ(walk.name(), "/a") << "the first LOOKUP is the principal operation";
  EXPECT_EQ(name_of("B"), "/a/b");

  FileUse open = four({putfh("ROOT"), op(32), open_op("big"), op(10), op(31), op(10)});
  EXPECT_EQ(open.name(), "/big");
  EXPECT_FALSE(open.handle) << "its Reply shows it";
  answer(open, kNfs4,
         compounded({done(22), done(32), opened(), gotfh("BIG"), done(31), gotfh("ROOT")}));
  EXPECT_EQ(open.handle, crc("BIG"));
  EXPECT_EQ(open.name(), "/big");
  EXPECT_EQ(name_of("ROOT"), "/");

  const FileUse read = four({putfh("BIG"), read_op(4096, 100)});
  EXPECT_EQ(read.name(), "/big");
  EXPECT_EQ(read.offset, 4096U);
  EXPECT_EQ(read.count, 100U);
  EXPECT_TRUE(read.stateid);
  EXPECT_TRUE(read.steps.empty()) << "its Reply names nothing";
  const FileUse attributes = four({putfh("BIG"), op(9).word(0)});
  EXPECT_EQ(attributes.handle, crc("BIG"));
}

TEST_F(FileTrackerTest, RenameAndRemoveInACompound) {
  (void)four({putfh("D"), named(15, "a"), op(10)}, {done(22), done(15), gotfh("A")});
  const XdrBytes changed = XdrBytes().zeros(20);
  const FileUse rename = four({putfh("D"), op(32), putfh("E"), op(29).opaque("a").opaque("b")},
                              {done(22), done(32), done(22), done(29).add(changed).add(changed)});
  EXPECT_EQ(rename.name(), "a");
  EXPECT_EQ(rename.handle, crc("A"));
  EXPECT_EQ(name_of("A"), "b");
  const FileUse remove = four({putfh("E"), named(28, "b")}, {done(22), done(28).add(changed)});
  EXPECT_EQ(remove.handle, crc("A"));
  EXPECT_EQ(remove.name(), "b");
  EXPECT_FALSE(four({putfh("E"), named(28, "b")}).handle);
}

TEST_F(FileTrackerTest, FailedOperationsNameNothing) {
  const FileUse lookup = four({putfh("D"), named(15, "no"), op(10)}, {done(22), done(15, 2)}, 2);
  EXPECT_EQ(lookup.name(), "no");
  EXPECT_FALSE(lookup.handle);
  (void)three(3, XdrBytes().opaque("D").opaque("a"), XdrBytes().word(2).opaque("A"));
  EXPECT_EQ(name_of("A"), "");
}

TEST_F(FileTrackerTest, OtherProgramsWithFileHandles) {
  (void)three(3, XdrBytes().opaque("D").opaque("big"), XdrBytes().word(0).opaque("B"));
  EXPECT_EQ(call(info(decode::kProgNfsAcl, 3, 1), XdrBytes().opaque("B").word(15)).name(), "big");
  const XdrBytes lock = XdrBytes()
                            .opaque("cookie")
                            .word(1)
                            .word(1)
                            .opaque("host")
                            .opaque("B")
                            .opaque("owner")
                            .word(7)
                            .hyper(10)
                            .hyper(20);
  const FileUse use = call(info(decode::kProgNlm, 4, 2), lock);
  EXPECT_EQ(use.name(), "big");
  EXPECT_EQ(use.offset, 10U);
  EXPECT_EQ(use.count, 20U);
}

TEST_F(FileTrackerTest, HostileArgumentsAreBounded) {
  XdrBytes args;
  args.opaque("").word(0).word(5000);
  for (int i = 0; i < 5000; ++i) args.add(named(15, std::string(200, 'n')));
  FileUse use = call(kNfs4, args);
  EXPECT_LE(use.values.size(), FileUse::kMaxValues);
  EXPECT_LE(use.steps.size(), FileUse::kMaxSteps);
  EXPECT_LE(use.text.size(), FileUse::kMaxText + 2 * FileTable::kMaxPath + 256);
  XdrBytes results;
  results.word(0).opaque("").word(5000);
  for (int i = 0; i < 5000; ++i) results.add(gotfh("H"));
  answer(use, kNfs4, results);
  EXPECT_LE(use.text.size(), FileUse::kMaxText + 2 * FileTable::kMaxPath + 256);

  // Every prefix of a message that names a file.
  const XdrBytes whole = compound({putfh(std::string(128, 'h')), open_op("\xff\x1b[2J"), op(10)});
  for (std::size_t n = 0; n <= whole.bytes.size(); ++n) {
    XdrBytes part;
    part.bytes.assign(whole.bytes.begin(), whole.bytes.begin() + static_cast<std::ptrdiff_t>(n));
    (void)call(kNfs4, part);
  }
  XdrBytes huge;
  huge.word(UINT32_MAX).zeros(64);
  EXPECT_FALSE(three(1, huge).any());
  EXPECT_FALSE(three(3, XdrBytes().opaque("D").add(huge)).any() &&
               three(3, XdrBytes().opaque("D").add(huge)).name_length != 0);
}

}  // namespace
}  // namespace rpcrdma::model
