#include "pcapng_reader.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/pcapng/block_file.h>
#include <rpcrdma/base/pcapng/blocks.h>
#include <rpcrdma/base/whole_file.h>
#include <rpcrdma/base/write_all.h>
#include <rpcrdma/capture/frame_file.h>

namespace rpcrdma::capture {
struct FrameFile::Impl {
  struct Known {
    std::uint32_t file;
    std::uint32_t interface;
    LinkType link;
  };

  base::FileDescriptor fd;               // of a temporary file
  std::optional<base::WholeFile> whole;  // else
  std::string name;                      // for errors
  std::string path;
  base::PcapngBlocks blocks;
  std::uint64_t written = 0;  // bytes
  std::uint64_t frames = 0;
  std::vector<Known> interfaces;
  std::size_t latest = 0;  // latest interface used
  mutable std::shared_ptr<const Mark::Format> format;

  std::uint32_t interface_of(const Frame& frame) {
    const auto is = [&](const Known& k) {
      return k.file == frame.file && k.interface == frame.interface && k.link == frame.link;
    };
    if (latest < interfaces.size() && is(interfaces[latest])) {
      return static_cast<std::uint32_t>(latest);
    }
    for (latest = 0; latest < interfaces.size(); ++latest) {
      if (is(interfaces[latest])) return static_cast<std::uint32_t>(latest);
    }
    interfaces.push_back({frame.file, frame.interface, frame.link});
    Interface description;
    description.name = std::to_string(latest);
    description.link = frame.link;
    blocks.interface(description);
    format.reset();
    return static_cast<std::uint32_t>(latest);
  }
};

FrameFile::FrameFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FrameFile::~FrameFile() = default;

Expected<std::unique_ptr<FrameFile>> FrameFile::temporary(const std::string& folder) {
  auto impl = std::make_unique<Impl>();
  impl->name = "a file in " + folder;
  impl->fd =
      base::FileDescriptor(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, base::kFileMode));
  if (impl->fd.get() < 0) {  // the file system has no unnamed files
    std::string path = folder + "/rpcrdma.XXXXXX";
    impl->fd = base::FileDescriptor(::mkostemp(path.data(), O_CLOEXEC));
    if (impl->fd.get() < 0) return fail(impl->name + ": " + std::strerror(errno));
    ::unlink(path.c_str());
  }
  impl->path = "/proc/self/fd/" + std::to_string(impl->fd.get());
  impl->blocks.section();
  return std::unique_ptr<FrameFile>(new FrameFile(std::move(impl)));
}

Expected<std::unique_ptr<FrameFile>> FrameFile::create(const std::string& path) {
  auto impl = std::make_unique<Impl>();
  impl->name = impl->path = path;
  auto whole = base::WholeFile::create(path, {.mode = base::kFileMode});
  if (!whole) return tl::unexpected(whole.error());
  impl->whole.emplace(std::move(*whole));
  impl->blocks.section();
  return std::unique_ptr<FrameFile>(new FrameFile(std::move(impl)));
}

Expected<void> FrameFile::write(const Frame& frame, const std::string& comment) {
  Impl& s = *impl_;
  const std::uint32_t interface = s.interface_of(frame);
  if (comment.empty()) {
    s.blocks.packet(frame, interface);
  } else {
    s.blocks.packet(frame, interface, comment);
  }
  ++s.frames;
  return s.blocks.bytes().size() >= base::kFlushBytes ? flush() : Expected<void>{};
}

Expected<void> FrameFile::flush() {
  Impl& s = *impl_;
  const std::vector<std::uint8_t>& bytes = s.blocks.bytes();
  if (s.whole) {
    s.whole->write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (s.whole->failed()) return s.whole->finish();
  } else if (const int error = base::write_all(s.fd.get(), bytes).error; error != 0) {
    return fail(s.name + ": " + std::strerror(error));
  }
  s.written += bytes.size();
  s.blocks.clear();
  return {};
}

Expected<void> FrameFile::finish() {
  if (auto flushed = flush(); !flushed || !impl_->whole) return flushed;
  return impl_->whole->finish();
}

Expected<void> FrameFile::discard(std::uint64_t from, std::uint64_t to) {
  if (from >= to) return {};
  const int done = ::fallocate(impl_->fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               static_cast<off_t>(from), static_cast<off_t>(to - from));
  if (done != 0) return fail(impl_->name + ": " + std::strerror(errno));
  return {};
}

const std::string& FrameFile::path() const {
  return impl_->path;
}
std::uint64_t FrameFile::frames() const {
  return impl_->frames;
}

Mark FrameFile::mark() const {
  const Impl& s = *impl_;
  if (s.format == nullptr) {
    auto format = std::make_shared<Mark::Format>();
    for (const Impl::Known& known : s.interfaces) {
      format->interfaces.push_back(
          {.link = known.link, .snaplen = 0, .time = TimeScale(base::PcapngBlocks::kTsresol, 0)});
    }
    s.format = std::move(format);
  }
  return {s.written + s.blocks.bytes().size(), s.frames, s.format};
}

}  // namespace rpcrdma::capture
