#include "forms.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace rpcrdma::bench {

namespace {

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kRecordHeader = 16;

using File = std::FILE*;

[[noreturn]] void give_up(const std::string& path) {
  std::perror(path.c_str());
  std::exit(1);
}

bool read_into(File from, std::vector<std::uint8_t>& bytes, std::size_t at, std::size_t more) {
  bytes.resize(at + more);
  return std::fread(bytes.data() + at, 1, more, from) == more;
}

// Reads a record with its header. Returns false at the end.
bool read_record(File from, std::vector<std::uint8_t>& record) {
  if (!read_into(from, record, 0, kRecordHeader)) return false;
  std::uint32_t captured = 0;
  std::memcpy(&captured, record.data() + 8, sizeof captured);
  return read_into(from, record, kRecordHeader, captured);
}

}  // namespace

std::vector<std::string> write_ring(const std::string& capture, const std::string& folder,
                                    unsigned files) {
  const File from = std::fopen(capture.c_str(), "rb");
  std::vector<std::uint8_t> header;
  std::vector<std::uint8_t> record;
  if (from == nullptr || !read_into(from, header, 0, kFileHeader)) give_up(capture);
  std::uint64_t packets = 0;
  while (read_record(from, record)) ++packets;
  if (std::fseek(from, kFileHeader, SEEK_SET) != 0) give_up(capture);

  std::filesystem::create_directories(folder);
  std::vector<std::string> paths;
  std::uint64_t written = 0;
  for (unsigned i = 0; i < files; ++i) {
    const std::string& path = paths.emplace_back(folder + "/ring" + std::to_string(i) + ".pcap");
    const File to = std::fopen(path.c_str(), "wb");
    if (to == nullptr) give_up(path);
    std::fwrite(header.data(), 1, header.size(), to);
    for (; written < packets * (i + 1) / files && read_record(from, record); ++written) {
      std::fwrite(record.data(), 1, record.size(), to);
    }
    if (std::ferror(to) != 0 || std::fclose(to) != 0) give_up(path);
  }
  std::fclose(from);
  return paths;
}

}  // namespace rpcrdma::bench
