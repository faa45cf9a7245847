// What stands between the rings that an endpoint's threads tell their events in and those who read
// them: one Hub a process. It hands out Tracers, and has a thread of its own that takes events out
// of all rings and gives them to the readers of a live socket and to recordings.
//
// An endpoint never waits for it. Tracers listen only while somebody reads; until then a hub looks
// five times a second for connections that came and went. While somebody reads it looks every 0.2
// to 2 ms, more often the fuller it finds the rings, so what is told is with its readers about 2 ms
// later; a ring has to hold what is told meanwhile. Writers do not wake it.
//
// Each reader gets first an Endpoint event, then the connections that are up (`replayed`) and
// their credits as far as they are known, then all events, those of several rings merged by time as
// far as one look sees them. What does not reach it, because a ring or what may wait for that
// reader was full, is told to it by Loss events: see trace::Loss for what they promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <rpcrdma/base/error.h>
#include <rpcrdma/base/pcapng/recorder.h>
#include <rpcrdma/trace/tracer.h>

namespace rpcrdma::trace {

struct HubOptions {
  std::string name = {};  // of the endpoint, for people; also in the name of its socket
  std::string role = {};  // what it does, for people: "server on 10.0.0.1"
  std::size_t ring_bytes = std::size_t{4} << 20;  // of each Tracer; made a power of two
  // That may wait for one reader of the socket, for one recording: an endpoint at its fastest makes
  // half a gigabyte of it a second, and they may have to wait for a processor for tens of
  // milliseconds. 256 KiB and 1 MiB at least.
  std::size_t reader_bytes = std::size_t{16} << 20;
  std::size_t recording_bytes = std::size_t{16} << 20;
  // The same of packets: the ring of each Tracer's provider, once somebody reads, and what may wait
  // for one reader; 128 KiB and 256 KiB at least.
  std::size_t packet_ring_bytes = std::size_t{8} << 20;
  std::size_t packet_reader_bytes = std::size_t{16} << 20;
  // As soon as nothing more can be recorded, by the thread that writes: the error. Empty: nobody is
  // told.
  std::function<void(const std::string& error)> recording_failed = {};
};

struct RecordCounters {
  std::string file;  // the newest of a ring
  std::uint64_t events = 0;
  std::uint64_t lost = 0;  // as its Loss events tell
  // Of those that the rings gave out, those that did not fit into what may wait for the disk. Known
  // at once; they are in `lost` once what waits is written.
  std::uint64_t not_taken = 0;
  std::string error;  // why nothing more is recorded; empty while all is well
};

// All members may be called from any thread, but not at the same time as stop() or destruction.
class Hub {
 public:
  static constexpr std::size_t kMostTracers = 255;

  // Error: the system has no thread or descriptor left.
  [[nodiscard]] static base::Expected<std::unique_ptr<Hub>> start(HubOptions options);
  ~Hub();
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // A Tracer for one thread of the endpoint, which lives as long as the hub. Null, which
  // trace::on() takes, when there are kMostTracers.
  [[nodiscard]] Tracer* add();

  // Readers may connect: to a Unix stream socket NAME.PID.sock of mode 0600 in the user's runtime
  // folder (endpoints.h), which goes when the hub stops. Only the same user and root are let in, 16
  // at a time. They get a pcapng stream (upper_pdu.h). Errors: the folder cannot be made or is not
  // to be trusted, the socket cannot be made; there is one already.
  [[nodiscard]] base::Expected<void> open_socket();
  [[nodiscard]] std::string socket_path() const;  // empty without one
  // Events that did not fit into what may wait for a reader: of each reader, also of those that
  // have gone, those that it lost.
  [[nodiscard]] std::uint64_t lost_to_readers() const;

  // The same for the packets that the Tracers' providers tell (PacketTap), of which each reader
  // gets all from when its stream begins: Ethernet frames in pcapng, where statistics (isb_ifrecv,
  // isb_ifdrop) tell of those that were lost to it, now and then and at the end. Its socket is
  // NAME.PID.packets.sock. They are taken out of their rings by a thread of their own, and only
  // while somebody reads.
  [[nodiscard]] base::Expected<void> open_packet_socket();
  [[nodiscard]] std::string packet_socket_path() const;  // empty without one

  // All that is told from when this returns is recorded in a pcapng file, or in a ring of files
  // each of which can be read by itself (base/pcapng/recorder.h has the names). Written each
  // quarter of a second, in whole blocks, by a thread of its own. Errors: those of
  // base::open_recorder().
  [[nodiscard]] base::Expected<void> record(const std::string& path,
                                            const base::RingOptions& ring = {});
  // In the order of record().
  [[nodiscard]] std::vector<RecordCounters> recordings() const;
  // Ends all that are under way, while the endpoint goes on: what was told until now is in their
  // files when this returns. They are forgotten; what recordings() would have said of them comes
  // back.
  std::vector<RecordCounters> end_recordings();

  // Takes what is left in the rings, tells each reader its sums, and ends all streams and files.
  // The endpoint's threads tell no more then, or it is lost. A reader of the socket that does not
  // read is waited for a quarter of a second.
  void stop();

 private:
  class Impl;
  explicit Hub(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::trace
