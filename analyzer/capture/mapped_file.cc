#include "mapped_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <sys/stat.h>

#include <rpcrdma/capture/source.h>

namespace rpcrdma::capture {
namespace {

// Large enough to make the calls per step cheap, small enough for what they touch to stay in a
// cache; more was measured to be slower.
constexpr std::size_t kStepBytes = std::size_t{1} << 20;

// Each time pages are given back, every other processor at work here is interrupted; once more if
// that parts a huge page.
constexpr std::size_t kReleaseBytes = 8 * kStepBytes;
constexpr std::size_t kHugePage = 2 * kStepBytes;

std::size_t page_floor(std::size_t offset) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return offset & ~(page - 1);
}

}  // namespace

std::unique_ptr<MappedFile> MappedFile::map(FileDescriptor& fd, std::uint64_t size) {
  void* const map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (map == MAP_FAILED) return nullptr;
  ::madvise(map, size, MADV_SEQUENTIAL);
  return std::unique_ptr<MappedFile>(
      new MappedFile(std::move(fd), static_cast<std::uint8_t*>(map), size));
}

MappedFile::MappedFile(FileDescriptor fd, std::uint8_t* map, std::size_t size)
    : fd_(std::move(fd)), map_(map), mapped_(size), size_(size) {
  begin_ = cursor_ = end_ = map;
}

MappedFile::~MappedFile() {
  ::munmap(map_, mapped_);
}

bool MappedFile::begin_at(std::uint64_t offset) {
  if (offset > size_ || offset < Feed::offset()) return false;
  cursor_ = end_ = map_ + offset;
  released_ = page_floor(static_cast<std::size_t>(offset));
  return true;
}

// False when the file has become shorter than it was.
bool MappedFile::check_size() {
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) return true;
  const auto now = static_cast<std::uint64_t>(status.st_size);
  if (now >= size_) return true;
  size_ = static_cast<std::size_t>(now);
  cut_short_ = true;
  damage_ = "the file became shorter while it was read";
  return false;
}

bool MappedFile::refill(std::size_t n) {
  const auto at = static_cast<std::size_t>(cursor_ - map_);
  const auto ready = static_cast<std::size_t>(end_ - map_);
  check_size();
  release_behind(at);
  if (size_ < ready || n > size_ - at) {
    end_ = map_ + std::max(at, size_);
    return false;
  }
  const std::size_t target = std::min(size_, std::max(at + n, ready + kStepBytes));
  if (!populate(ready, target)) {
    end_ = map_ + std::max(at, std::min(ready, size_));
    return false;
  }
  end_ = map_ + target;
  return true;
}

bool MappedFile::populate(std::size_t from, std::size_t to) {
#ifdef MADV_POPULATE_READ
  const std::size_t start = page_floor(from);
  while (can_populate_ && ::madvise(map_ + start, to - start, MADV_POPULATE_READ) != 0) {
    if (errno == EINTR) continue;
    if (errno != EFAULT && errno != EHWPOISON && errno != EIO) {
      can_populate_ = false;  // a kernel before 5.14: pages come one by one as they are touched
      break;
    }
    if (check_size()) {
      std::uint8_t probe;
      const bool readable = ::pread(fd_.get(), &probe, 1, static_cast<off_t>(from)) == 1;
      failure_ = std::string("cannot read: ") + std::strerror(readable ? EIO : errno);
    }
    return false;
  }
#endif
  return true;
}

void MappedFile::release_behind(std::size_t offset) {
  if (offset < released_ + kReadableBehind + kReleaseBytes) return;
  const std::size_t passed = offset - kReadableBehind;
  const std::size_t keep = passed - (reinterpret_cast<std::uintptr_t>(map_) + passed) % kHugePage;
  ::madvise(map_ + released_, keep - released_, MADV_DONTNEED);
  released_ = keep;
}

}  // namespace rpcrdma::capture
