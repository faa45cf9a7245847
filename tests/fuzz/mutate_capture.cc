#include "mutate_capture.h"

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include <rpcrdma/wire/endian.h>
#include <rpcrdma/wire/icrc.h>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace rpcrdma::fuzz {

namespace {

using Record = std::vector<std::uint8_t>;

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kRecordHeader = 16;
// Offsets in a record: its header, Ethernet, IPv4 without options, UDP.
constexpr std::size_t kIp = kRecordHeader + 14;
constexpr std::size_t kUdp = kIp + 20;
constexpr std::size_t kBth = kUdp + 8;
constexpr std::size_t kPsn = kBth + 8;  // with the AckReq byte in front of it
constexpr std::size_t kLongestRecord = 8192;

std::uint32_t load_le32(const std::uint8_t* p) {
  return p[0] | std::uint32_t{p[1]} << 8 | std::uint32_t{p[2]} << 16 | std::uint32_t{p[3]} << 24;
}
void store_le32(std::uint8_t* p, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<std::uint8_t>(v >> (8 * i));
}

bool split(const std::uint8_t* data, std::size_t size, std::vector<Record>& records) {
  if (size < kFileHeader || load_le32(data) != 0xa1b2c3d4) return false;
  std::size_t at = kFileHeader;
  while (size - at >= kRecordHeader) {
    const std::size_t length = load_le32(data + at + 8);
    if (length > size - at - kRecordHeader) break;
    records.emplace_back(data + at, data + at + kRecordHeader + length);
    at += kRecordHeader + length;
  }
  return !records.empty();
}

bool is_roce(const Record& r) {
  return r.size() >= kBth + 12 + 4 && r[kIp - 2] == 8 && r[kIp - 1] == 0 && r[kIp] == 0x45 &&
         wire::load_be16(&r[kUdp + 2]) == 4791;
}

void mend_lengths(Record& r) {
  store_le32(&r[8], static_cast<std::uint32_t>(r.size() - kRecordHeader));
  store_le32(&r[12], static_cast<std::uint32_t>(r.size() - kRecordHeader));
  wire::store_be16(&r[kIp + 2], static_cast<std::uint16_t>(r.size() - kIp));
  wire::store_be16(&r[kUdp + 4], static_cast<std::uint16_t>(r.size() - kUdp));
}

void mend_icrc(Record& r) {
  const wire::Bytes covered = wire::Bytes(r).subspan(kIp, r.size() - kIp - 4);
  wire::store_icrc(&r[r.size() - 4], wire::icrc(wire::IcrcKind::kRoceV2Ipv4, covered, kBth - kIp));
}

void mutate_behind_bth(Record& r) {
  Record part(r.begin() + kBth, r.end() - 4);
  const std::size_t length = part.size();
  part.resize(std::min(length + 64, kLongestRecord));
  part.resize(LLVMFuzzerMutate(part.data(), length, part.size()));
  part.resize(std::max<std::size_t>(part.size(), 12));
  part.resize(part.size() + 4);
  r.resize(kBth);
  r.insert(r.end(), part.begin(), part.end());
}

// Copies a word of one packet into another: XIDs, handles, lengths and addresses match by chance.
void copy_word(Record& to, const Record& from, std::mt19937& random) {
  const auto word = [&](const Record& r) {
    return kBth + random() % ((r.size() - kBth - 4) / 4) * 4;
  };
  std::memcpy(&to[word(to)], &from[word(from)], 4);
}

void shift_psn(Record& r, std::mt19937& random) {
  constexpr std::uint32_t kSteps[] = {1, 2, 16, 1024, 65535, 1U << 22, 0xffffff, 0xfffffe};
  const std::uint32_t word = wire::load_be32(&r[kPsn]);
  wire::store_be32(&r[kPsn], (word & 0xff000000) | ((word + kSteps[random() % 8]) & 0xffffff));
}

}  // namespace

std::size_t mutate_capture(std::uint8_t* data, std::size_t size, std::size_t max_size,
                           unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Record> records;
  if (random() % 16 == 0 || !split(data, size, records)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (unsigned left = 1 + random() % 3; left != 0; --left) {
    const std::size_t i = random() % records.size();
    const std::size_t j = random() % records.size();
    const auto at = [&](std::size_t n) { return records.begin() + static_cast<std::ptrdiff_t>(n); };
    switch (random() % 8) {
      case 0:
        records.insert(at(j), Record(records[i]));
        break;
      case 1:
        if (records.size() > 1) records.erase(at(i));
        break;
      case 2:
        std::swap(records[i], records[j]);
        break;
      default: {
        Record& r = records[i];
        if (!is_roce(r)) break;
        const unsigned how = random() % 4;
        if (how == 0 && is_roce(records[j])) {
          copy_word(r, records[j], random);
        } else if (how == 1) {
          shift_psn(r, random);
        } else {
          mutate_behind_bth(r);
        }
        mend_lengths(r);
        if (random() % 16 != 0) mend_icrc(r);
      }
    }
  }
  std::size_t end = kFileHeader;
  for (const Record& r : records) {
    if (r.size() > max_size - std::min(end, max_size)) break;
    std::memcpy(data + end, r.data(), r.size());
    end += r.size();
  }
  return std::min(end, max_size);
}

}  // namespace rpcrdma::fuzz
