// Where frames come from: capture files (pcap, pcapng; plain, gzip, zstd), pipes, interfaces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/frame.h>
#include <rpcrdma/capture/error.h>

namespace rpcrdma::capture {

using base::Frame;
using base::Interface;
using base::LinkType;

// What the source itself knows about its completeness.
struct SourceStats {
  std::uint64_t frames = 0;
  std::uint64_t bytes_read = 0;   // of the file as stored (compressed), for progress
  std::uint64_t bytes_total = 0;  // 0 when not known (pipe, interface)
  std::uint64_t dropped = 0;      // by kernel or interface: pcapng statistics blocks, live counters
  bool cut_short = false;         // the file ends within a record or block
  // Not empty: where and why reading stopped or skipped bytes; of several files, in which.
  std::string damage;
};

// A place between two frames of a file, where reading can begin again without what stands before.
struct Mark {
  std::uint64_t offset = 0;  // in the file, bytes
  std::uint64_t frames = 0;  // before it
  // What the frames behind it need from those before: a section's interfaces. Shared by all marks
  // for which it is the same; null where nothing is needed.
  struct Format;
  std::shared_ptr<const Format> format;
};

// See Source::frames_stay().
inline constexpr std::size_t kReadableBehind = std::size_t{8} << 20;

class Source {
 public:
  virtual ~Source() = default;

  // True and a frame; false at the end. A file that ends in the middle of a record, or is damaged
  // behind the first frames, ends there without an error: stats() tells it. An error is what makes
  // the rest unreadable for another reason (read error, failed decompression at the start).
  [[nodiscard]] virtual Expected<bool> next(Frame& frame) = 0;

  // Frames' bytes stay readable for a while after further calls of next(), so that another thread
  // may still look at them: of all frames behind which not more than kReadableBehind bytes (the sum
  // of Frame::room) have been given out, during the next call too.
  [[nodiscard]] virtual bool frames_stay() const { return false; }

  // Where the frame stands that next() gives next; nothing where frames cannot be read twice: of a
  // pipe, an interface, a compressed file, several files as one. As next(), for one thread at a
  // time.
  [[nodiscard]] virtual std::optional<Mark> mark() const { return std::nullopt; }

  // Not to be called while another thread is in next().
  [[nodiscard]] virtual const SourceStats& stats() const = 0;
};

// Opens a capture file, or standard input for "-". Files are read through a window of some MiB, in
// which frames stay where they are for a while; pipes and compressed files go through a buffer of
// bounded size. Errors: cannot open; not a capture file
// (the message names what was found); an unsupported version.
[[nodiscard]] Expected<std::unique_ptr<Source>> open_file(const std::string& path);

// Opens a file again to read on behind a mark that a Source of open_file() gave of it. Frames have
// the numbers, times and interfaces that they had then. What does not stand there any more, because
// the file was changed meanwhile, is damage, as in any file. Errors: those of open_file(); the file
// is another one now, or ends before the mark.
[[nodiscard]] Expected<std::unique_ptr<Source>> open_file_at(const std::string& path,
                                                             const Mark& mark);

// Several files as one capture in order of time, as mergecap would join them: always the earliest
// of the frames that come next in each file, of equal times that of the file that began first, and
// of such files that of the one named first. So files of a ring may be given in any order. Frames
// are numbered from 1 over the whole; Frame::interface is that of its own file. stats() holds the
// sums. "-" may be one of them. Files are open only from their first frame's turn to their last
// one's: files that do not overlap in time need one descriptor however many they are. Not more than
// 500 that do overlap. Errors: those of open_file(), but an empty file is damage beside others;
// more than 500 open at once.
[[nodiscard]] Expected<std::unique_ptr<Source>> open_files(const std::vector<std::string>& paths);

// The same for what comes through a socket or pipe. Errors name it `name`.
[[nodiscard]] Expected<std::unique_ptr<Source>> open_descriptor(base::FileDescriptor fd,
                                                                std::string name);

// The same for the bytes of a capture file, compressed or not, which the caller keeps alive. Errors
// name it "memory".
[[nodiscard]] Expected<std::unique_ptr<Source>> open_memory(std::span<const std::uint8_t> bytes);

struct LiveOptions {
  std::string interface;  // a network interface, "any", or an rdma device of libpcap
  std::string filter;     // pcap-filter(7) expression; empty: everything
  // With an empty filter: RoCEv2 and RoCEv1 only, with up to two VLAN tags or without. Everything
  // on devices of InfiniBand, which carry nothing else.
  bool only_roce = false;
  std::uint32_t snaplen = 0;     // bytes; 0: all
  std::uint32_t buffer_mib = 0;  // kernel buffer; 0: libpcap's default
  bool promiscuous = false;
};

// Captures from an interface. next() waits for a frame, and gives false after stop().
class LiveSource : public Source {
 public:
  enum class Polled : std::uint8_t { kFrame, kNothing, kStopped };
  // As next(), but gives kNothing when no frame came for about a tenth of a second (rdma devices of
  // libpcap wait on). Errors: those of next().
  [[nodiscard]] virtual Expected<Polled> poll(Frame& frame) = 0;

  [[nodiscard]] virtual const Interface& interface() const = 0;

  // From any thread or a signal handler. A wait on an rdma device of libpcap, which cannot be
  // broken from another thread, ends with the next frame.
  virtual void stop() = 0;
};
// Errors: no such interface, no permission, a filter that does not compile, sizes out of range, a
// build without libpcap.
[[nodiscard]] Expected<std::unique_ptr<LiveSource>> open_live(const LiveOptions& options);

struct ListedInterface {
  std::string name;
  std::string description;
};
[[nodiscard]] Expected<std::vector<ListedInterface>> list_interfaces();

}  // namespace rpcrdma::capture
