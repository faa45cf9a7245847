// Every option that writes a file, on a disk that is full: one line with the path and the reason,
// exit status 2, and no half file that looks whole. The list of options is compared with the help
// of all commands. And the packet log on a full disk, a slow and a closed pipe.
#include "support/background.h"

#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rpcrdma::e2e {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The state of the disk after a failure.
enum class Left {
  kSame,     // files as they are on a disk with room
  kNothing,  // no file: its contents differ from run to run
  kLines,    // files of whole lines
  kPackets,  // pcapng files that say what is missing
  kPlan,     // JSON files of analyze-many that are whole
  kAny,      // standard output: the shell made the file
};

struct Writer {
  const char* command;
  const char* option;  // as the help names it; empty: standard output
  std::string line;    // DISK: a folder on the disk, FILE: a file in it
  Left left;
  bool a_page = true;  // also with room for one page, which some outputs fit into
};

std::string in_captures(const std::string& line) {
  return std::regex_replace(line, std::regex("CAPTURE"), capture("linux-nfs41.pcap"));
}

const std::vector<Writer>& writers() {
  static const std::string load = "RPCRDMA load 127.0.0.1 --count 300 --interval 10ms ";
  static const std::string probe = "RPCRDMA nfs-probe 127.0.0.1:/x --port 20049 --handle 00 ";
  static const std::string many = "RPCRDMA analyze-many CAPTURE --out ";
  static const std::vector<Writer> all{
      {"analyze", "--html", "RPCRDMA analyze CAPTURE --html FILE", Left::kSame},
      {"analyze", "--csv", "RPCRDMA analyze CAPTURE --csv DISK/csv", Left::kSame},
      {"analyze", "", "RPCRDMA analyze CAPTURE > FILE", Left::kAny},
      {"analyze", "", "RPCRDMA analyze --json CAPTURE > FILE", Left::kAny},
      {"decode", "", "RPCRDMA decode CAPTURE > FILE", Left::kAny},
      {"analyze-many", "--out", many + "DISK/many", Left::kPlan},
      {"analyze-many", "--html", many + "$(mktemp -d -p ROOT) --html FILE", Left::kNothing},
      {"analyze-many", "--csv", many + "$(mktemp -d -p ROOT) --csv DISK/csv", Left::kSame},
      {"compare", "--html", "RPCRDMA compare REPORT REPORT --html FILE", Left::kSame},
      {"merge", "--html", "RPCRDMA merge REPORT --html FILE", Left::kSame},
      {"merge", "--csv", "RPCRDMA merge REPORT --csv DISK/csv", Left::kSame},
      {"export", "--output", "RPCRDMA export --format qlog CAPTURE -o FILE", Left::kSame},
      {"ls", "--sd", "RPCRDMA ls --sd FILE.json", Left::kSame},
      {"attach", "--write", "RPCRDMA attach serve -w FILE", Left::kPackets, false},
      {"attach", "--write", "RPCRDMA attach serve -w FILE --ring-size 1M", Left::kPackets, false},
      {"extract", "--directory", "RPCRDMA extract CAPTURE -d DISK/data", Left::kSame},
      {"serve", "--pcapng", "RPCRDMA serve --listen 127.0.0.9 --pcapng FILE", Left::kPackets,
       false},
      {"serve", "--record", "RPCRDMA serve --listen 127.0.0.9 --record FILE", Left::kPackets,
       false},
      {"serve", "--write-config", "RPCRDMA serve --listen 127.0.0.9 --write-config FILE",
       Left::kSame},
      {"ping", "--pcapng", "RPCRDMA ping 127.0.0.1 -c 20 -i 1ms --pcapng FILE", Left::kPackets},
      {"ping", "--record", "RPCRDMA ping 127.0.0.1 -c 20 -i 1ms --record FILE", Left::kPackets},
      {"call", "--pcapng", "RPCRDMA call 127.0.0.1 --size 64Ki --pcapng FILE", Left::kPackets},
      {"call", "--record", "RPCRDMA call 127.0.0.1 --size 64Ki --record FILE", Left::kPackets},
      {"load", "--pcapng", load + "--pcapng FILE", Left::kPackets},
      {"load", "--record", load + "--record FILE", Left::kPackets},
      {"load", "--json-stream", load + "--json-stream FILE", Left::kLines},
      {"load", "--hgrm", load + "--hgrm FILE", Left::kNothing},
      {"load", "--hlog", load + "--hlog FILE", Left::kLines},
      {"load", "--html", load + "--html FILE", Left::kNothing},
      {"load", "--raw", load + "--count 2000 --raw FILE", Left::kLines},
      {"nfs-probe", "--pcapng", probe + "--pcapng FILE", Left::kPackets, false},
      {"nfs-probe", "--record", probe + "--record FILE", Left::kPackets, false},
      {"selftest", "--record", "RPCRDMA selftest --record DISK/cells", Left::kPackets},
      {"man", "--directory", "RPCRDMA man -d DISK", Left::kSame},
      {"man", "", "RPCRDMA man > FILE", Left::kAny},
      {"completion", "", "RPCRDMA completion bash > FILE", Left::kAny},
      {"kernel", "--record",
       "RPCRDMA_FAKE_KERNEL=silent " RPCRDMA_FAKE_KERNEL_COMMAND
       " kernel --user root --record FILE",
       Left::kPackets, false},
#ifdef RPCRDMA_LIVE
      {"capture", "--write", "RPCRDMA capture -i lo --user root -w FILE", Left::kPackets, false},
      {"capture", "--write", "RPCRDMA capture -i lo --user root -w FILE --ring-size 1M",
       Left::kPackets, false},
#endif
  };
  return all;
}

// Options with the name of a file or folder that the table does not try, and why.
const std::map<std::string, const char*>& others() {
  static const char* const reads = "is read";
  static std::map<std::string, const char*> all{
      {"analyze-many --program", "is started"},
      {"load --agent-path", "is started"},
      {"serve --config", reads},
      {"agent --config", reads},
      {"exporter --config", reads},
      {"exporter --log-file", "the log of serve; an exporter writes only it"},
      {"exporter --proc", reads},
      {"exporter --sys", reads},
      {"top --sys", reads},
      {"serve --log-file", "FullDisk.ALogCountsItsLines"},
      {"agent --log-file", "the log of serve; an agent needs a bus"},
      {"agent --spool", "tests/agent/fleet_record_test.cc"},
      {"fleet --write", "tests/agent/fleet_record_test.cc"},
#ifndef RPCRDMA_LIVE
      {"capture --write", "not built"},
#endif
  };
  for (const char* command : {"serve", "load", "kernel", "exporter"}) {
    all[fmt::format("{} --metrics-config", command)] = reads;
  }
  for (const char* command : {"top", "agent", "fleet"}) {
    for (const char* option : {"tls-ca", "tls-cert", "tls-key", "password-file", "nkey", "creds"}) {
      all[fmt::format("{} --{}", command, option)] = reads;
    }
  }
  return all;
}

// A disk of 1 MiB and a network of its own, for all that this program starts.
class FullDisk : public ::testing::TestWithParam<Writer> {
 protected:
  static void SetUpTestSuite() {
    if (!enter_namespaces()) return;
    root_ = std::make_unique<TemporaryFolder>();
    // Also for programs that have become another user.
    ::chmod(root_->path().c_str(), 0755);
    ::setenv("XDG_RUNTIME_DIR", root_->path().c_str(), 1);
    fs::create_directory(root_->file("disk"));
    mounted_ = mount_disk();
    if (!mounted_) return;
    run("ip link set lo up");
    run("RPCRDMA analyze --json " + capture("linux-nfs41.pcap") + " > " + root_->file("report"));
    server_ = std::make_unique<Background>(
        std::vector<std::string>{"serve", "--listen", "127.0.0.1"}, root_->file("log"));
    for (int tries = 0; tries < 3000 && run("RPCRDMA ping 127.0.0.1 -c 1").status != 0; ++tries) {
    }
  }
  static void TearDownTestSuite() {
    server_.reset();
    if (mounted_) ::umount2(root_->file("disk").c_str(), MNT_DETACH);
    root_.reset();
  }
  void SetUp() override {
    if (!mounted_) GTEST_SKIP() << "this user cannot mount a file system";
    new_disk();
  }

  // An empty disk. What programs that have ended still free belongs to the one before.
  static void new_disk() {
    ::umount2(disk().c_str(), MNT_DETACH);
    ASSERT_TRUE(mount_disk());
  }
  static std::string disk() { return root_->file("disk"); }
  // Fills the disk except for so many bytes.
  static void fill(off_t room) {
    const std::string filler = disk() + "/filler";
    const int fd = ::open(filler.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const std::vector<char> page(4096);
    off_t size = 0;
    for (ssize_t n = 0; (n = ::write(fd, page.data(), page.size())) > 0;) size += n;
    ASSERT_EQ(errno, ENOSPC);
    ASSERT_EQ(::ftruncate(fd, size - room), 0);
    ::close(fd);
  }
  static std::string shell(const Writer& writer, const std::string& folder) {
    std::string line = in_captures(writer.line);
    for (const auto& [word, text] : {std::pair<const char*, std::string>("DISK", folder),
                                     {"FILE", folder + "/file"},
                                     {"REPORT", root_->file("report")},
                                     {"ROOT", root_->path()}}) {
      line = std::regex_replace(line, std::regex(fmt::format("\\b{}\\b", word)), text);
    }
    return line;
  }
  // The files below a folder, by their paths in it.
  static std::map<std::string, std::string> files(const std::string& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = fs::relative(entry.path(), folder).string();
      if (entry.is_regular_file() && name != "filler") all[name] = read_file(entry.path().string());
    }
    return all;
  }

  static inline std::unique_ptr<TemporaryFolder> root_;
  static inline std::unique_ptr<Background> server_;
  static inline bool mounted_ = false;

 private:
  static bool mount_disk() {
    return ::mount("none", disk().c_str(), "tmpfs", 0, "size=1m,mode=0777") == 0;
  }
  static bool enter_namespaces() {
    const uid_t uid = ::geteuid();
    if (::unshare(CLONE_NEWNS | CLONE_NEWNET) != 0) {
      if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0) return false;
      write_file("/proc/self/uid_map", fmt::format("0 {} 1", uid));
    }
    return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  }
};

// Checks what a failure has left.
void check_left(const Writer& writer, const std::map<std::string, std::string>& left,
                const std::string& disk, const std::map<std::string, std::string>& whole) {
  for (const auto& [name, bytes] : left) {
    EXPECT_THAT(name, Not(HasSubstr(".rpcrdma-"))) << "a temporary file";
    switch (writer.left) {
      case Left::kSame:
        EXPECT_TRUE(whole.count(name) != 0 && whole.at(name) == bytes) << name << ": a half file";
        break;
      case Left::kNothing:
        ADD_FAILURE() << name << " is left";
        break;
      case Left::kLines:
        EXPECT_TRUE(bytes.empty() || bytes.back() == '\n') << name;
        break;
      case Left::kPackets: {
        if (bytes.empty()) break;
        const Result r = run("RPCRDMA analyze --json " + disk + "/" + name);
        const json report = try_parse_json(r.out);
        ASSERT_TRUE(report.is_object()) << name << ": " << r.err;
        EXPECT_TRUE(report["capture"]["damage"].is_null()) << report["capture"];
        EXPECT_GT(report["capture"]["dropped"], 0) << name;
        EXPECT_NE(report["verdict"]["kind"], "healthy") << report["verdict"];
        break;
      }
      case Left::kPlan:
        if (name.ends_with(".json")) {
          EXPECT_TRUE(try_parse_json(bytes).is_object()) << name;
        }
        break;
      case Left::kAny:
        break;
    }
  }
}

TEST_P(FullDisk, IsReported) {
  const Writer& writer = GetParam();
  std::map<std::string, std::string> whole;
  if (writer.left == Left::kSame) {
    const TemporaryFolder roomy;
    const Result r = run(shell(writer, roomy.path()));
    EXPECT_EQ(r.status, 0) << r.err;
    whole = files(roomy.path());
    EXPECT_FALSE(whole.empty());
  }
  for (const off_t room : {0, 4096}) {
    if (room != 0 && !writer.a_page) continue;
    SCOPED_TRACE(fmt::format("{} bytes of room", room));
    ASSERT_NO_FATAL_FAILURE(new_disk());
    ASSERT_NO_FATAL_FAILURE(fill(room));
    const Result r = run(shell(writer, disk()));
    if (room != 0 && r.status == 0) {
      EXPECT_THAT(r.err, Not(HasSubstr("No space"))) << r.err;
      continue;
    }
    EXPECT_EQ(r.status, 2) << r.err;
    const std::string path =
        std::string_view(writer.option).empty() ? "standard output" : disk() + "/";
    EXPECT_THAT(r.err,
                ContainsRegex("rpcrdma[a-z-]*: [^\n]*" + path + "[^\n]*: No space left on device"));
    const std::size_t once = r.err.find("No space left");
    EXPECT_EQ(r.err.find("No space left", once + 1), std::string::npos) << r.err;
    check_left(writer, files(disk()), disk(), whole);
  }
}

std::string name_of(const ::testing::TestParamInfo<Writer>& info) {
  std::string name = fmt::format("{}_{}_{}", info.index, info.param.command, info.param.option);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Options, FullDisk, ::testing::ValuesIn(writers()), name_of);

// An option that names a file belongs either into writers() or, with the reason, into others().
TEST(FullDiskList, HasEveryOptionThatNamesAFile) {
  std::set<std::string> listed;
  for (const Writer& w : writers()) {
    if (*w.option != '\0') listed.insert(fmt::format("{} {}", w.command, w.option));
  }
  for (const auto& other : others()) listed.insert(other.first);
  std::set<std::string> found;
  const std::string help = run("RPCRDMA --help").out;
  const std::regex command("\n  ([a-z-]+) {2,}");
  const std::regex option("\n  (?:-\\S,)?(--[a-z0-9-]+) (?:FILE|DIR|FOLDER|PATH)\\b");
  const std::string commands = help.substr(help.find("Subcommands:"));
  for (std::sregex_iterator c(commands.begin(), commands.end(), command), end; c != end; ++c) {
    const std::string name = (*c)[1];
    const std::string text = run("RPCRDMA " + name + " --help").out;
    for (std::sregex_iterator o(text.begin(), text.end(), option); o != end; ++o) {
      found.insert(fmt::format("{} {}", name, (*o)[1].str()));
    }
  }
  EXPECT_GT(found.size(), 40U);
  for (const std::string& one : found) {
    EXPECT_EQ(listed.count(one), 1U)
        << one << ": add it to writers() in this file, or to others() with the reason";
  }
  for (const std::string& one : listed) {
    EXPECT_EQ(found.count(one), 1U) << one << ": the help does not have it";
  }
}

TEST_F(FullDisk, ALogCountsItsLines) {
  fill(0);
  const std::string file = disk() + "/log";
  Background server({"serve", "--listen", "127.0.0.9", "--log-file", file});
  EXPECT_TRUE(server.wait_for("rpcrdma: --log-file " + file + ": No space left on device"));
  server.signal(SIGINT);
  EXPECT_EQ(server.finish(), 2);
  EXPECT_THAT(server.out, ContainsRegex("--log-file " + file + ": [0-9]+ lines were not written"));
  EXPECT_EQ(read_file(file), "");
}

// --- Packet logs

json analyzed(const std::string& file) {
  const Result r = run("RPCRDMA analyze --json " + file);
  const json report = try_parse_json(r.out);
  EXPECT_TRUE(report.is_object()) << r.err;
  return report;
}

void expect_incomplete(const std::string& file) {
  const json report = analyzed(file);
  EXPECT_GT(report["capture"]["dropped"], 0);
  EXPECT_TRUE(report["capture"]["damage"].is_null()) << report["capture"];
  EXPECT_EQ(report["verdict"]["kind"], "not judged") << report["verdict"];
  const Result text = run("RPCRDMA analyze " + file);
  EXPECT_THAT(text.out, ContainsRegex("^The capture lost [0-9]+ of [0-9]+ packets; missing"));
  EXPECT_THAT(text.out, HasSubstr("packets were dropped while capturing"));
}

std::vector<std::string> load_to(const std::string& file, const std::string& limit = {}) {
  return {"load",
          "127.0.0.1",
          limit.empty() ? "--duration" : "--count",
          limit.empty() ? "90s" : limit,
          "--procedure",
          "echo",
          "--size",
          "16Ki",
          "--pcapng",
          file};
}

TEST_F(FullDisk, APacketLogSaysWhatIsMissing) {
  const std::string file = disk() + "/packets";
  // Many times what the disk has room for.
  Background load(load_to(file, "2000"));
  ASSERT_TRUE(load.wait_for("--pcapng: " + file + ": cannot write: No space left on device\n"))
      << load.out;
  EXPECT_EQ(load.finish(), 2);
  EXPECT_THAT(load.out,
              ContainsRegex("--pcapng: [0-9]+ of [0-9]+ packets were not written to " + file));
  expect_incomplete(file);
}

// The reader of a pipe: it reads nothing until it is asked to.
class Pipe {
 public:
  explicit Pipe(const std::string& path) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    fd_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ::fcntl(fd_, F_SETFL, 0);
  }
  ~Pipe() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  [[nodiscard]] std::string rest() const {
    std::string bytes;
    std::vector<char> part(1U << 16);
    for (ssize_t n = 0; (n = ::read(fd_, part.data(), part.size())) > 0;) {
      bytes.append(part.data(), static_cast<std::size_t>(n));
    }
    return bytes;
  }

 private:
  int fd_ = -1;
};

TEST_F(FullDisk, ASlowDiskIsReportedAtOnceAndAtTheEnd) {
  const std::string file = root_->file("slow");
  const Pipe pipe(file);
  Background load(load_to(file));
  ASSERT_TRUE(load.wait_for("--pcapng: " + file + " is slower than the packets")) << load.out;
  load.signal(SIGINT);
  const std::string bytes = pipe.rest();
  EXPECT_EQ(load.finish(), 2);
  EXPECT_THAT(load.out,
              ContainsRegex("--pcapng: [0-9]+ of [0-9]+ packets were not written to " + file));
  write_file(root_->file("collected"), bytes);
  // How many were lost before the load ended is left to chance.
  const json report = analyzed(root_->file("collected"));
  EXPECT_GT(report["capture"]["dropped"], 0);
  EXPECT_TRUE(report["capture"]["damage"].is_null()) << report["capture"];
  EXPECT_THAT(report["verdict"]["kind"], ::testing::AnyOf("warnings", "not judged"));
}

TEST_F(FullDisk, AClosedPipeIsReportedAtOnceAndAtTheEnd) {
  const std::string file = root_->file("closed");
  Pipe pipe(file);
  Background load(load_to(file));
  ASSERT_TRUE(load.wait_for("is slower than the packets")) << load.out;
  pipe.close();
  EXPECT_TRUE(load.wait_for("--pcapng: " + file + ": cannot write: Broken pipe\n")) << load.out;
  load.signal(SIGINT);
  EXPECT_EQ(load.finish(), 2);
  EXPECT_THAT(load.out,
              ContainsRegex("--pcapng: [0-9]+ of [0-9]+ packets were not written to " + file));
}

}  // namespace
}  // namespace rpcrdma::e2e
