// Sources of frames: capture files (pcap, pcapng, ERF, snoop; plain or compressed), pipes,
// interfaces.
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

// Counters, and everything that a source knows about its own completeness.
struct SourceStats {
  std::uint64_t frames = 0;
  std::uint64_t bytes_read = 0;   // of the stored (compressed) file, for progress
  std::uint64_t bytes_total = 0;  // 0 when not known (pipe, interface)
  std::uint64_t dropped = 0;      // by kernel or interface: pcapng statistics blocks, live counters
  bool cut_short = false;         // the file ends within a record or block
  // Where and why reading stopped or skipped bytes, with the file's name if there are several;
  // empty if undamaged.
  std::string damage;
  // How the file was read where its header is wrong; empty if it is right.
  std::string note;
};

// A place between two frames of a file from which reading can resume without the bytes before it.
struct Mark {
  std::uint64_t offset = 0;  // in the file, bytes
  std::uint64_t frames = 0;  // before it
  // Format state that the frames after the mark need from before it: a section's interfaces, a
  // pcap file's resolution of time. Marks with the same state share it; null if nothing is needed.
  struct Format;
  std::shared_ptr<const Format> format;
};

// See Source::frames_stay().
inline constexpr std::size_t kReadableBehind = std::size_t{8} << 20;

// One of several merged files, by Frame::file.
struct MergedFile {
  std::string path;
  bool recording = false;     // it begins with a trace event
  std::int64_t shift_ns = 0;  // added to the times of its frames, since its clock differs
  // Its frames come this much later in the merged order, but keep their times.
  std::int64_t order_ns = 0;
  // Files with the same number show the same traffic; 0: unknown.
  std::uint32_t run = 0;
};

class Source {
 public:
  virtual ~Source() = default;

  // The files that are merged; empty if there is only one.
  [[nodiscard]] virtual std::span<const MergedFile> files() const { return {}; }

  // Returns true and a frame, or false at the end. A file that ends within a record, or is damaged
  // after its first frames, ends there without an error; stats() describes it. An error means that
  // the rest cannot be read (read error, failed decompression at the start).
  [[nodiscard]] virtual Expected<bool> next(Frame& frame) = 0;

  // Whether frames' bytes stay readable after further calls of next(), so that another thread can
  // still read them: those of each frame after which at most kReadableBehind bytes (the sum of
  // Frame::room) have been returned, also during the next call.
  [[nodiscard]] virtual bool frames_stay() const { return false; }

  // The place of the frame that next() returns next; nothing if frames cannot be read twice, as
  // from a pipe, an interface, a compressed file or several merged files. Like next(), it is for
  // one thread at a time.
  [[nodiscard]] virtual std::optional<Mark> mark() const { return std::nullopt; }

  // Must not be called while another thread is in next().
  [[nodiscard]] virtual const SourceStats& stats() const = 0;
};

// Opens a capture file, or standard input for "-". Files, compressed or not, are read through
// a window of some MiB, in which frames keep their addresses for some time; pipes go through a
// buffer of bounded size. A compressed file is decompressed ahead, in a thread of its own. Errors:
// cannot open; not a capture file (the message names what was found); an unsupported version.
[[nodiscard]] Expected<std::unique_ptr<Source>> open_file(const std::string& path);

// Opens a file again to resume after a mark that a Source of open_file() returned for it. Frames
// keep the numbers, times and interfaces that they had. If the file has changed since, unreadable
// bytes are damage, as in any file. Errors: those of open_file(); the file has been replaced, or
// ends before the mark.
[[nodiscard]] Expected<std::unique_ptr<Source>> open_file_at(const std::string& path,
                                                             const Mark& mark);

// Merges several files into one capture in time order, as mergecap does: the earliest of the files'
// next frames comes first; ties go to the file that began first, then to the file named first. So
// the files of a ring may be given in any order. Frames are numbered from 1 over all files;
// Frame::interface is that of its own file. stats() holds the sums. "-" may be one of the paths. A
// file is open only from the turn of its first frame to that of its last: files that do not overlap
// in time need one descriptor in total. At most 500 may overlap. Errors: those of open_file(), but
// an empty file among others is damage; more than 500 open at once.
//
// `clocks`: what is known of the files' clocks; for files that are not in it, nothing.
struct FileClock {
  std::string path;
  std::int64_t shift_ns = 0;  // these three as in MergedFile
  std::int64_t order_ns = 0;
  std::uint32_t run = 0;
};
[[nodiscard]] Expected<std::unique_ptr<Source>> open_files(
    const std::vector<std::string>& paths, const std::vector<FileClock>& clocks = {});

// The same, also for one file of several that other processes read: it has a name in
// Source::files() and in the texts of stats(), as if all were read together.
[[nodiscard]] Expected<std::unique_ptr<Source>> open_merged(
    const std::vector<std::string>& paths, const std::vector<FileClock>& clocks = {});

// The same as open_file() for a socket or pipe. Errors call it `name`.
[[nodiscard]] Expected<std::unique_ptr<Source>> open_descriptor(base::FileDescriptor fd,
                                                                std::string name);

// The same for the bytes of a capture file, compressed or not, which the caller keeps alive. Errors
// call it "memory".
[[nodiscard]] Expected<std::unique_ptr<Source>> open_memory(std::span<const std::uint8_t> bytes);

struct LiveOptions {
  std::string interface;  // a network interface, "any", or an rdma device of libpcap
  std::string filter;     // pcap-filter(7) expression; empty: everything
  // With an empty filter: only RoCEv2 and RoCEv1, with up to two VLAN tags. InfiniBand devices
  // carry nothing else and are not filtered.
  bool only_roce = false;
  // With only_roce: also everything that may carry RoCE, namely the tunnels that dissect_link()
  // reads, and IP fragments.
  bool tunnels = false;
  std::uint32_t snaplen = 0;  // bytes; 0: all
  // Keeps messages whole, but of the data of RDMA Writes and Reads only the headers and the front,
  // 256 bytes a packet.
  bool headers = false;
  // Kernel buffer. A loopback interface fills that of libpcap, 2 MiB, within milliseconds.
  std::uint32_t buffer_mib = 64;
  bool promiscuous = false;
};

// Captures from an interface. next() waits for a frame. After stop() it returns the frames that
// came before, and then false.
class LiveSource : public Source {
 public:
  enum class Polled : std::uint8_t { kFrame, kNothing, kStopped };
  // Like next(), but returns kNothing when no frame came for about a tenth of a second (rdma
  // devices of libpcap keep waiting). Errors: those of next().
  [[nodiscard]] virtual Expected<Polled> poll(Frame& frame) = 0;

  [[nodiscard]] virtual const Interface& interface() const = 0;

  // May be called from any thread or a signal handler. The frames that came before are delivered
  // within about a tenth of a second. A wait on an rdma device of libpcap cannot be interrupted
  // from another thread and ends with the next frame; frames that libpcap holds are lost.
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
