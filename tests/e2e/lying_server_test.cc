// ping, call, load and nfs-probe against a server that lies in its headers, in its Replies and when
// connections are set up: each ends by itself within its limits, uses as much memory as against an
// honest server, and prints nothing raw.
#include "support/lying_server.h"

#include "support/background.h"
#include "support/command.h"
#include "support/own_address.h"
#include "support/rpc_messages.h"
#include "support/traffic_count.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/header.h>

namespace rpcrdma::e2e {
namespace {

using model::testing::header;
using model::testing::message;
using model::testing::rpc_reply;
using rpcrdma::testing::ByteVector;
using rpcrdma::testing::Lie;
using rpcrdma::testing::LyingServer;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Sends = std::vector<ByteVector>;

std::uint32_t word(const ByteVector& bytes, std::size_t n) {
  return 4 * n + 4 <= bytes.size() ? wire::load_be32(bytes.data() + 4 * n) : 0;
}

ByteVector words(std::initializer_list<std::uint32_t> all) {
  ByteVector bytes;
  for (const std::uint32_t w : all) {
    bytes.resize(bytes.size() + 4);
    wire::store_be32(bytes.data() + bytes.size() - 4, w);
  }
  return bytes;
}

// A Reply of NULL that grants this much.
ByteVector reply(const ByteVector& call, std::uint32_t credits, std::uint32_t add_to_xid = 0) {
  const std::uint32_t xid = word(call, 0) + add_to_xid;
  return message(header(xid, credits), rpc_reply(xid));
}

// An RDMA_ERROR with these words after its type.
ByteVector error(const ByteVector& call, std::uint32_t version,
                 std::initializer_list<std::uint32_t> rest) {
  ByteVector bytes = words({word(call, 0), version, 32, 4});
  const ByteVector more = words(rest);
  bytes.insert(bytes.end(), more.begin(), more.end());
  return bytes;
}

// A Reply whose chunk lists are these words, in front of a right RPC message.
ByteVector with_lists(const ByteVector& call, std::initializer_list<std::uint32_t> lists,
                      std::uint32_t type = 0) {
  ByteVector bytes = words({word(call, 0), 1, 32, type});
  for (const ByteVector& more : {words(lists), rpc_reply(word(call, 0))}) {
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return bytes;
}

// RFC 8797's private data with these last four octets.
ByteVector private_data(std::uint8_t version, std::uint8_t flags, std::uint8_t send,
                        std::uint8_t receive) {
  return {0xf6, 0xab, 0x0e, 0x18, version, flags, send, receive};
}

std::vector<Lie> lies() {
  const auto honest = [](const ByteVector& m) { return Sends{reply(m, 32)}; };
  constexpr std::uint32_t kAll = UINT32_MAX;
  const std::string kEscapes = "\x1b]0;OWNED\x07\x1b[2J\r\nrpcrdma: fine\n\xff";
  return {
      {"never answers", [](const ByteVector&) { return Sends(); }},
      {"grants nothing", [](const ByteVector& m) { return Sends{reply(m, 0)}; }},
      {"grants all credits", [](const ByteVector& m) { return Sends{reply(m, kAll)}; }},
      {"hangs up after each message", honest, {}, false, true},
      {"hangs up instead of an answer", [](const ByteVector&) { return Sends(); }, {}, false, true},
      {"rejects, with control characters", honest, {kEscapes.begin(), kEscapes.end()}, true},
      {"rejects, with private data", honest, private_data(1, 1, 255, 255), true},
      {"thresholds of 256 KiB", honest, private_data(1, 1, 255, 255)},
      {"thresholds of another version", honest, private_data(255, 255, 0, 0)},
      {"cut private data", honest, {0xf6, 0xab, 0x0e}},
      {"private data of zeros", honest, ByteVector(196)},
      {"answers other XIDs",
       [](const ByteVector& m) {
         Sends all;
         for (std::uint32_t i = 1; i <= 16; ++i) all.push_back(reply(m, 32, i));
         return all;
       }},
      {"answers 16 times", [](const ByteVector& m) { return Sends(16, reply(m, 32)); }},
      {"ERR_VERS of all versions",
       [](const ByteVector& m) {
         return Sends{error(m, 1, {1, 0, kAll})};
       }},
      {"ERR_VERS of our version",
       [](const ByteVector& m) {
         return Sends{error(m, word(m, 1), {1, word(m, 1), word(m, 1)})};
       }},
      {"ERR_VERS of the other version",
       [](const ByteVector& m) {
         const std::uint32_t other = word(m, 1) == 1 ? 2 : 1;
         return Sends{error(m, word(m, 1), {1, other, other})};
       }},
      {"ERR_VERS of no version",
       [](const ByteVector& m) {
         return Sends{error(m, 1, {1, 7, 3})};
       }},
      {"ERR_CHUNK", [](const ByteVector& m) { return Sends{error(m, 1, {2})}; }},
      {"an unknown error", [](const ByteVector& m) { return Sends{error(m, 1, {kAll})}; }},
      {"16 errors for each Call", [](const ByteVector& m) { return Sends(16, error(m, 1, {2})); }},
      {"a header cut short",
       [](const ByteVector& m) {
         return Sends{words({word(m, 0), 1, 32})};
       }},
      {"an unknown type",
       [](const ByteVector& m) {
         return Sends{words({word(m, 0), 1, 32, kAll, 0, 0, 0})};
       }},
      {"an unknown version",
       [](const ByteVector& m) {
         return Sends{words({word(m, 0), kAll, 32, 0, 0, 0, 0})};
       }},
      {"a Write chunk of 2^32 - 1 segments",
       [](const ByteVector& m) {
         return Sends{with_lists(m, {0, 1, kAll, 1, 1, 0, 0})};
       }},
      {"a Write chunk of 4 GiB that was not offered",
       [](const ByteVector& m) {
         return Sends{with_lists(m, {0, 1, 1, 7, kAll, 0, 0, 0, 0})};
       }},
      {"a Reply chunk of 4 GiB that was not offered",
       [](const ByteVector& m) {
         return Sends{with_lists(m, {0, 0, 1, 1, 7, kAll, 0, 0}, 1)};
       }},
      {"a Read chunk of 4 GiB",
       [](const ByteVector& m) {
         return Sends{with_lists(m, {1, 0, 7, kAll, 0, 0, 0, 0, 0})};
       }},
      {"a Reply longer than a Receive",
       [](const ByteVector& m) {
         ByteVector bytes = reply(m, 32);
         bytes.resize(8192);
         return Sends{bytes};
       }},
      {"a verifier of 2^32 - 1 octets",
       [](const ByteVector& m) {
         return Sends{message(header(word(m, 0), 32), words({word(m, 0), 1, 0, 0, kAll, 0}))};
       }},
      {"PROG_MISMATCH of no version",
       [](const ByteVector& m) {
         return Sends{message(header(word(m, 0), 32), words({word(m, 0), 1, 0, 0, 0, 2, kAll, 0}))};
       }},
      {"an RPC message of garbage",
       [](const ByteVector& m) {
         return Sends{message(header(word(m, 0), 32), ByteVector(900, 0xff))};
       }},
      {"16 reverse Calls for each Call",
       [](const ByteVector&) {
         Sends all;
         for (std::uint32_t i = 1; i <= 16; ++i) {
           all.push_back(message(header(i, 32), model::testing::rpc_call(i, 0x40000000, 1, 0)));
         }
         return all;
       }},
  };
}

class LyingServers : public ::testing::Test {
 protected:
  LyingServers() { ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }
  ~LyingServers() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  // Kilobytes that a program of this test has used at most.
  static long peak() {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    return used.ru_maxrss;
  }
  // Runs all commands at once, each from an address of its own. `timeout`: of each Call. A command
  // ends long before it is ended.
  std::vector<Result> run_all(const std::string& timeout) const {
    std::string script = "cd " + folder_.path() + '\n';
    for (std::size_t i = 0; i < commands().size(); ++i) {
      std::string line = commands()[i];
      line.replace(line.find("SERVER"), 6, server_);
      line.replace(line.find("TIME"), 4, timeout);
      const std::string n = std::to_string(i);
      script += "(timeout 60 " RPCRDMA_COMMAND " " + line + " --from " +
                own_address(static_cast<int>(i) + 2) + " >out" + n + " 2>err" + n +
                "; echo $? >rc" + n + ") &\n";
    }
    EXPECT_EQ(run(script + "wait").status, 0);
    std::vector<Result> all;
    for (std::size_t i = 0; i < commands().size(); ++i) {
      const std::string n = std::to_string(i);
      const std::string status = read_file(folder_.file("rc" + n));
      all.push_back({status.empty() ? -1 : std::stoi(status), read_file(folder_.file("out" + n)),
                     read_file(folder_.file("err" + n))});
    }
    return all;
  }

  static const std::vector<std::string>& commands() {
    static const std::vector<std::string> all{
        "ping SERVER -c 3 -i 1ms -W TIME", "ping SERVER -c 2 -i 1ms -W TIME --rdma-version 1-2",
        "call SERVER --size 20k --timeout TIME --profile rfc5666",
        "load SERVER --count 4 --depth 2 --timeout TIME",
        "nfs-probe SERVER:/x --handle 00 --timeout TIME"};
    return all;
  }

  const std::string server_ = own_address(1);
  const std::string client_ = own_address(2);
  TemporaryFolder folder_;
};

TEST_F(LyingServers, NoClientBelievesThem) {
  const fabric::Address at = fabric::parse_address(server_).value();
  {
    const LyingServer honest(
        at, {"is honest", [](const ByteVector& m) { return Sends{reply(m, 32)}; }});
    EXPECT_EQ(run_all("20s")[0].status, 0);
    EXPECT_GE(honest.messages(), commands().size());
  }
  const long usual = peak();
  for (const Lie& lie : lies()) {
    const LyingServer server(at, lie);
    std::vector<Result> results = run_all("40ms");
    // On a machine under load none may have connected in this time.
    if (server.messages() == 0 && !lie.rejects) results = run_all("5s");
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Result& r = results[i];
      SCOPED_TRACE(lie.name + ": " + commands()[i]);
      EXPECT_THAT(r.status, AnyOf(0, 1, 2)) << r.out << r.err;
      for (const std::string& text : {r.out, r.err}) {
        EXPECT_TRUE(std::ranges::all_of(text, [](char c) {
          return (c >= ' ' && c < 0x7f) || c == '\n';
        })) << text;
        EXPECT_THAT(text, Not(HasSubstr("\nrpcrdma: fine")));
      }
      EXPECT_NE(r.out + r.err, "");
    }
    EXPECT_EQ(server.messages() == 0, lie.rejects) << lie.name;
  }
  // AddressSanitizer keeps freed memory.
  if (!report::testing::kSanitized) {
    EXPECT_LT(peak(), usual + (32L << 10));
  }
}

// NFS version 3 with one file of one octet, as far as the probe needs it; some procedures are never
// answered.
class Nfs {
 public:
  static constexpr std::uint32_t kWrite = 7, kCreate = 8, kRemove = 12;

  std::set<std::uint32_t> silent;
  std::array<std::atomic<int>, 22> calls{};

  [[nodiscard]] Lie lie() {
    return {"is an NFS server", [this](const ByteVector& m) { return answer(m); }};
  }

 private:
  Sends answer(const ByteVector& m) {
    const auto h = wire::decode_header(m);
    // Program, version and procedure are the fourth to sixth word of a Call.
    const std::uint32_t proc = h ? word(m, h->length / 4 + 5) : 0;
    if (proc >= calls.size()) return {};
    ++calls[proc];
    if (silent.contains(proc)) return {};
    return {message(header(h->xid, 32), rpc_reply(h->xid, results(proc)))};
  }
  static ByteVector results(std::uint32_t proc) {
    constexpr std::uint32_t kMost = 65536;
    switch (proc) {
      case 1:  // GETATTR, of a directory
        return words({0, 2, 0755, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
      case 6:  // READ: the probe's content
        return words({0, 0, 1, 1, 1, 0x79000000});
      case kWrite:
        return words({0, 0, 0, 1, 2, 1, 1});
      case kCreate:
        return words({0, 1, 4, 7, 0, 0, 0});
      case kRemove:
        return words({0, 0, 0});
      case 17:  // READDIRPLUS
        return words({0, 0, 0, 0, 0, 1});
      case 19:  // FSINFO
        return words({0, 0, kMost, kMost, 1, kMost, kMost, 1, 4096, 0, 0, 0, 0, 0});
      case 21:  // COMMIT
        return words({0, 0, 0, 1, 1});
      default:  // NULL
        return {};
    }
  }
};

class LeftBehind : public LyingServers {
 protected:
  [[nodiscard]] std::string probe(const std::string& options) const {
    return std::string(RPCRDMA_COMMAND " nfs-probe ") + server_ +
           ":/x --handle 00 --sizes 1 --from " + client_ + ' ' + options;
  }
  [[nodiscard]] fabric::Address at() const { return fabric::parse_address(server_).value(); }

  Nfs nfs_;
};

TEST_F(LeftBehind, NothingIfItsOutputHasNoReader) {
  const LyingServer server(at(), nfs_.lie());
  const Result all = run(probe(""));
  EXPECT_EQ(all.status, 0) << all.out << all.err;
  // The reader is gone before the file is created.
  for (const char* const reader : {" | true", " | head -c 1", " | head -n 5"}) {
    nfs_.calls[Nfs::kCreate] = nfs_.calls[Nfs::kRemove] = 0;
    EXPECT_EQ(run(probe(reader)).err, "");
    EXPECT_EQ(nfs_.calls[Nfs::kCreate], 1) << reader;
    EXPECT_EQ(nfs_.calls[Nfs::kRemove], 1) << reader;
  }
}

TEST_F(LeftBehind, NothingIfTheDiskOfItsOutputIsFull) {
  const LyingServer server(at(), nfs_.lie());
  for (const char* const options : {">/dev/full", "--json >/dev/full"}) {
    nfs_.calls[Nfs::kRemove] = 0;
    const Result r = run(probe(options));
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr("No space left on device"));
    EXPECT_EQ(nfs_.calls[Nfs::kRemove], 1) << options;
  }
}

TEST_F(LeftBehind, AFileThatCannotBeRemovedIsNamed) {
  nfs_.silent = {Nfs::kRemove};
  const LyingServer server(at(), nfs_.lie());
  const Result r = run(probe("--json --timeout 500ms"));
  EXPECT_EQ(r.status, 1) << r.out;
  const std::string file = parse_json(r.out)["left_behind"];
  EXPECT_EQ(r.err, "rpcrdma: nfs-probe: " + file +
                       " may still exist in the directory: it was not removed\n");
}

// The first signal lets it remove the file, for which it waits; the second ends it.
TEST_F(LeftBehind, AFileIsNamedWhenASecondSignalEndsTheProgram) {
  nfs_.silent = {Nfs::kWrite, Nfs::kRemove};
  const LyingServer server(at(), nfs_.lie());
  for (const int signal : {SIGINT, SIGTERM}) {
    nfs_.calls[Nfs::kWrite] = 0;
    Background program({"nfs-probe", server_ + ":/x", "--handle", "00", "--sizes", "1", "--from",
                        client_, "--timeout", "90s"});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (nfs_.calls[Nfs::kWrite] == 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    std::atomic<bool> ended{false};
    std::thread signals([&] {
      while (!ended) {
        program.signal(signal);
        ::poll(nullptr, 0, 5);
      }
    });
    EXPECT_EQ(program.wait_for("may still exist in the directory"), true) << program.out;
    ended = true;
    signals.join();
    EXPECT_EQ(program.finish(), 128 + signal);
    EXPECT_THAT(program.out, HasSubstr("nfs-probe: .rpcrdma-probe-"));
  }
}

}  // namespace
}  // namespace rpcrdma::e2e
