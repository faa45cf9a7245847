// Tests of opening files: every format, compression, pipes, and files that are not captures.
#include "compress_for_tests.h"

#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <rpcrdma/capture/link.h>

namespace rpcrdma::capture {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

void expect_same(const Walk& a, const Walk& b) {
  ASSERT_EQ(a.frames.size(), b.frames.size()) << a.error << a.stats.damage;
  for (std::size_t i = 0; i < a.frames.size(); ++i) {
    EXPECT_EQ(a.frames[i].data, b.frames[i].data);
    EXPECT_EQ(a.frames[i].frame.time_ns, b.frames[i].frame.time_ns);
    EXPECT_EQ(a.frames[i].frame.number, b.frames[i].frame.number);
  }
}

struct Known {
  const char* name;
  std::size_t frames;
  std::size_t roce;  // UDP destination port 4791, as counted by tshark
};

void PrintTo(const Known& k, std::ostream* out) {
  *out << k.name;
}

class RealCapture : public ::testing::TestWithParam<Known> {};

TEST_P(RealCapture, FramesAndRocePackets) {
  const Walk w = walk(open_file(real_capture(GetParam().name)));
  EXPECT_THAT(w.error, IsEmpty());
  EXPECT_THAT(w.stats.damage, IsEmpty());
  EXPECT_EQ(w.frames.size(), GetParam().frames);
  EXPECT_EQ(w.stats.bytes_read, w.stats.bytes_total);
  std::size_t roce = 0;
  for (const Taken& taken : w.frames) {
    Frame frame = taken.frame;
    frame.data = taken.data;
    TransportPacket packet;
    if (dissect_link(frame, packet) == LinkResult::kRoce && packet.complete()) ++roce;
  }
  EXPECT_EQ(roce, GetParam().roce);
}

INSTANTIATE_TEST_SUITE_P(
    Files, RealCapture,
    ::testing::Values(Known{"linux-nfs41.pcap", 881, 824}, Known{"linux-nfs3.pcap", 1438, 1331},
                      Known{"linux-deleg.pcap", 511, 404}, Known{"linux-non-rpc.pcap", 541, 479},
                      Known{"roce-icrc-oracle.pcap", 123, 105}),
    [](const auto& instance) {
      std::string name = instance.param.name;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
      return name;
    });

TEST(OpenFile, GzipIsTheSame) {
  TempFolder folder;
  const ByteVector plain = read_all(real_capture("linux-nfs41.pcap"));
  const ByteVector packed = gzip(plain);
  const Walk w = walk(open_file(folder.file("a.gz", packed)));
  expect_same(w, walk_memory(plain));
  EXPECT_EQ(w.stats.bytes_read, packed.size());
  EXPECT_EQ(w.stats.bytes_total, packed.size());
}

TEST(OpenFile, ZstdIsTheSame) {
  TempFolder folder;
  const ByteVector plain = read_all(real_capture("linux-nfs41.pcap"));
  const ByteVector packed = zstd(plain);
  const Walk w = walk(open_file(folder.file("a.zst", packed)));
  expect_same(w, walk_memory(plain));
  EXPECT_EQ(w.stats.bytes_total, packed.size());
}

TEST(OpenFile, OtherCompressionsAreTheSame) {
  const ByteVector plain = read_all(real_capture("linux-nfs41.pcap"));
  for (const auto compress : {xz, bzip2, lz4}) {
    TempFolder folder;
    const ByteVector packed = compress(plain);
    const Walk w = walk(open_file(folder.file("a", packed)));
    expect_same(w, walk_memory(plain));
    EXPECT_EQ(w.stats.bytes_read, packed.size());
    expect_same(walk_memory(packed), walk_memory(plain));
  }
}

TEST(OpenFile, CutCompressedFileKeepsTheFramesBefore) {
  TempFolder folder;
  const ByteVector plain = read_all(real_capture("linux-nfs41.pcap"));
  ByteVector packed = gzip(plain);
  packed.resize(packed.size() / 2);
  const Walk w = walk(open_file(folder.file("a.gz", packed)));
  EXPECT_THAT(w.error, IsEmpty());
  EXPECT_GT(w.frames.size(), 100u);
  EXPECT_TRUE(w.stats.cut_short);
  EXPECT_THAT(w.stats.damage, HasSubstr("gzip data ends too early"));
}

Walk walk_fifo(const ByteVector& bytes) {
  TempFolder folder;
  const std::string path = folder.path("fifo");
  EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { write_all(path, bytes); });
  const Walk w = walk(open_file(path));
  writer.join();
  return w;
}

TEST(OpenFile, NamedPipe) {
  const ByteVector plain = read_all(real_capture("linux-nfs3.pcap"));
  const Walk w = walk_fifo(plain);
  expect_same(w, walk_memory(plain));
  EXPECT_EQ(w.stats.bytes_total, 0u);
  EXPECT_EQ(w.stats.bytes_read, plain.size());
}

TEST(OpenFile, CompressionIsFoundOnAPipeToo) {
  const ByteVector plain = read_all(real_capture("linux-nfs3.pcap"));
  expect_same(walk_fifo(zstd(plain)), walk_memory(plain));
  expect_same(walk_fifo(gzip(plain)), walk_memory(plain));
}

TEST(OpenFile, PcapngOverAPipe) {
  const Writer le;
  ByteVector bytes = le.section() + le.interface();
  for (std::uint32_t i = 0; i < 1000; ++i) {
    bytes = bytes + le.packet(0, i, ByteVector(i, static_cast<std::uint8_t>(i)));
  }
  expect_same(walk_fifo(bytes), walk_memory(bytes));
}

TEST(OpenFile, FramesOfAPipeDoNotWaitForMore) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const ByteVector bytes = Writer{}.pcap_header() + Writer{}.record(1, 2, {42});
  ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  // The writing end stays open: a read beyond the available bytes would block forever.
  auto source = open_file("/dev/fd/" + std::to_string(ends[0]));
  ASSERT_TRUE(source) << source.error().message;
  Frame frame;
  ASSERT_TRUE((*source)->next(frame).value());
  EXPECT_EQ(frame.data[0], 42);
  ::close(ends[1]);
  ::close(ends[0]);
}

TEST(OpenFile, WhatComesThroughASocket) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Writer le;
  const ByteVector bytes = le.section() + le.interface() + le.packet(0, 5, {42});
  ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  auto source = open_descriptor(base::FileDescriptor(ends[0]), "peer");
  ASSERT_TRUE(source) << source.error().message;
  Frame frame;
  ASSERT_TRUE((*source)->next(frame).value());
  EXPECT_EQ(frame.data[0], 42);
  ASSERT_EQ(::write(ends[1], bytes.data(), 10), 10);
  ::close(ends[1]);
  EXPECT_FALSE((*source)->next(frame).value());
  EXPECT_TRUE((*source)->stats().cut_short);

  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  ::close(ends[1]);
  EXPECT_THAT(open_descriptor(base::FileDescriptor(ends[0]), "peer").error().message,
              StartsWith("peer: "));
}

TEST(OpenFile, DashIsStandardInput) {
  const int saved = ::dup(STDIN_FILENO);
  const int file = ::open(real_capture("linux-deleg.pcap").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  ASSERT_EQ(::dup2(file, STDIN_FILENO), STDIN_FILENO);
  const Walk w = walk(open_file("-"));
  if (saved >= 0) {
    ::dup2(saved, STDIN_FILENO);
    ::close(saved);
  }
  ::close(file);
  EXPECT_EQ(w.frames.size(), 511u) << w.error;
}

TEST(OpenFile, StandardInputIsNamedInErrors) {
  const int saved = ::dup(STDIN_FILENO);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::dup2(null, STDIN_FILENO), STDIN_FILENO);
  const Walk w = walk(open_file("-"));
  if (saved >= 0) {
    ::dup2(saved, STDIN_FILENO);
    ::close(saved);
  }
  ::close(null);
  EXPECT_EQ(w.error, "standard input: the file is empty");
}

// Every frame that is whole before the cut comes out, and nothing else.
TEST(OpenMemory, CutAtEveryByte) {
  const ByteVector whole = read_all(real_capture("linux-nfs41.pcap"));
  const Walk all = walk_memory(whole);
  std::size_t end = 24;  // of the records so far
  std::size_t records = 0;
  for (std::size_t size = 0; size <= 3000; ++size) {
    if (size == end + 16 + all.frames[records].data.size()) {
      end = size;
      ++records;
    }
    const Walk w = walk_memory({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    if (size < 24) {
      EXPECT_FALSE(w.error.empty());
      continue;
    }
    EXPECT_THAT(w.error, IsEmpty());
    ASSERT_EQ(w.frames.size(), records) << size;
    EXPECT_EQ(w.stats.cut_short, size != end) << size;
    for (std::size_t i = 0; i < records; ++i) EXPECT_EQ(w.frames[i].data, all.frames[i].data);
  }
  EXPECT_GT(records, 10u);
}

TEST(OpenMemory, PcapngCutAtEveryByte) {
  const Writer be{.big = true};
  const ByteVector head = be.section() + be.interface(1, be.option(9, {9}));
  ByteVector bytes = head;
  for (std::uint32_t i = 0; i < 20; ++i) bytes = bytes + be.packet(0, i, ByteVector(20, 7));
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const Walk w = walk_memory({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
    const std::size_t expected = size < head.size() ? 0 : (size - head.size()) / 52;
    EXPECT_EQ(w.frames.size(), expected) << size;
    EXPECT_EQ(w.error.empty(), size >= 28) << size;
  }
}

std::string error_of(const ByteVector& bytes) {
  TempFolder folder;
  return walk(open_file(folder.file("file", bytes))).error;
}

ByteVector bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

TEST(OpenErrors, SayWhatTheFileLooksLike) {
  EXPECT_THAT(error_of({}), EndsWith("/file: the file is empty"));
  EXPECT_THAT(error_of(bytes_of("No. Time Source\n")),
              EndsWith("not a capture file: it looks like plain text"));
  EXPECT_THAT(error_of(ByteVector(5000, 0)), EndsWith("it looks like a file of zeros"));
  EXPECT_THAT(error_of(bytes_of("\x7f"
                                "ELF\x02\x01")),
              HasSubstr("an ELF program"));
  EXPECT_THAT(error_of(bytes_of("TRSNIFF data    \x1a")),
              EndsWith("a Sniffer capture: convert it with editcap"));
  EXPECT_THAT(error_of(from_hex("0102030405060708ff")),
              EndsWith("a file that begins 01 02 03 04 05 06 07 08"));
  EXPECT_THAT(error_of({0xd4}), EndsWith("a file that begins d4"));
}

// A tar archive with one empty file, as tar(1) writes it.
ByteVector tar_of(const std::string& member, bool ustar) {
  ByteVector block(512);
  std::copy(member.begin(), member.end(), block.begin());
  const auto put = [&](std::size_t at, const std::string& text) {
    std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(100, "0000644");
  put(124, "00000000000");
  if (ustar) put(257, "ustar");
  unsigned sum = 8 * ' ';
  for (const std::uint8_t b : block) sum += b;
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  put(148, text);
  block[155] = ' ';
  return block + ByteVector(1024);
}

TEST(OpenErrors, ArchivesHaveToBeExtracted) {
  const auto hint = EndsWith("it looks like a tar archive: extract it first");
  EXPECT_THAT(error_of(tar_of("a.pcap", true)), hint);
  EXPECT_THAT(error_of(tar_of("a.pcap", false)), hint);
  EXPECT_THAT(error_of(gzip(tar_of("a.pcap", true))), hint);
  EXPECT_THAT(error_of(xz(tar_of("a.pcap", true))), hint);
  ByteVector damaged = tar_of("a.pcap", true);
  damaged[3] ^= 1;
  EXPECT_THAT(error_of(damaged), Not(HasSubstr("tar")));
  EXPECT_THAT(error_of(bytes_of("PK\x03\x04")), EndsWith("a zip archive: extract it first"));
}

TEST(OpenErrors, WindowsTracesHaveToBeConverted) {
  // A buffer of 64 KiB whose first event is the 64-bit header of a log file.
  ByteVector bytes =
      from_hex("00000100") + ByteVector(68, 1) + from_hex("020002c0") + ByteVector(400, 7);
  const auto hint = HasSubstr("a Windows event trace (netsh trace, pktmon): convert it with");
  EXPECT_THAT(error_of(bytes), hint);
  bytes[75] = 0;
  EXPECT_THAT(error_of(bytes), Not(hint));
  TempFolder folder;
  EXPECT_THAT(walk(open_file(folder.file("NetTrace.ETL", bytes))).error, hint);
}

TEST(OpenErrors, LookInsideCompressedFiles) {
  EXPECT_THAT(error_of(gzip(bytes_of("hello, world"))), EndsWith("it looks like plain text"));
  EXPECT_THAT(error_of(zstd({})), EndsWith("the file is empty"));
}

TEST(OpenErrors, DecompressionThatFailsAtTheStart) {
  EXPECT_THAT(error_of(from_hex("1f8b08000000000000ff ffffffffffff")),
              HasSubstr("the gzip data is damaged"));
  EXPECT_THAT(error_of(from_hex("28b52ffd 08000000000000")), HasSubstr("the zstd data is damaged"));
  EXPECT_THAT(error_of(from_hex("fd377a585a00 0004 00000000")),
              HasSubstr("the xz data is damaged"));
  EXPECT_THAT(error_of(from_hex("425a6839 000000000000")), HasSubstr("the bzip2 data is damaged"));
  EXPECT_THAT(error_of(from_hex("04224d18 ffffffffffffff")), HasSubstr("the lz4 data is damaged"));
}

TEST(OpenErrors, SystemErrors) {
  EXPECT_EQ(walk(open_file("/nonexistent/file.pcap")).error,
            "/nonexistent/file.pcap: No such file or directory");
  EXPECT_EQ(walk(open_file("/")).error, "/: Is a directory");
}

}  // namespace
}  // namespace rpcrdma::capture
