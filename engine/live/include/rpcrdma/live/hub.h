// Hub, one per process: connects the rings, to which an endpoint's threads emit events, with
// readers. It hands out Tracers, and its thread drains all rings and feeds the readers of the live
// socket and the recordings.
//
// An endpoint never waits for the hub. Tracers emit events only while there is a reader or a
// recording. Until then the hub polls the rings five times a second for opened and closed
// connections. With a reader it polls every 0.2 to 2 ms, more often the fuller the rings are, so an
// event reaches its readers after about 2 ms. A ring must hold the events emitted in between.
// Writers do not wake the hub.
//
// Each reader first gets an Endpoint event, then the open connections (`replayed`) with their known
// credits, then all events. Events of several rings are merged by time within each poll. Events
// that do not reach a reader, because a ring or its reader queue was full, are reported to it by
// Loss events: see trace::Loss.
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
  std::string name = {};  // of the endpoint, chosen by the user; also in the name of its socket
  std::string role = {};  // what it does, for display: "server on 10.0.0.1"
  EventSource source = EventSource::kEndpoint;    // what emits the events
  std::uint64_t left_out = 0;                     // see Endpoint::left_out
  std::uint32_t one_in = 1;                       // see Tracer::in_sample(); 0 counts as 1
  std::size_t ring_bytes = std::size_t{4} << 20;  // per Tracer; rounded up to a power of two
  // Bytes that may wait for one reader of the socket, and for one recording; at least 256 KiB and 1
  // MiB. An endpoint at full speed produces half a gigabyte per second, and a reader may have to
  // wait tens of milliseconds for a processor.
  std::size_t reader_bytes = std::size_t{16} << 20;
  std::size_t recording_bytes = std::size_t{16} << 20;
  // The same for packets: the ring of each Tracer's provider, which is allocated for the first
  // reader, and the bytes that may wait for one reader; at least 128 KiB and 256 KiB.
  std::size_t packet_ring_bytes = std::size_t{8} << 20;
  std::size_t packet_reader_bytes = std::size_t{16} << 20;
  // Called with the error, by the writing thread, when a recording cannot be continued. May be
  // empty.
  std::function<void(const std::string& error)> recording_failed = {};
  // Called with the name of the file, by the hub's thread, for the first event that a recording has
  // no room for because the disk is slower. Must neither block nor call the hub. May be empty.
  std::function<void(const std::string& file)> recording_losing = {};
  // Called by the hub's thread when the first reader or recording has got its snapshot, and when
  // the last one has gone, for an owner whose events come from elsewhere. Must neither block nor
  // call the hub. May be empty.
  std::function<void(bool on)> listening = {};
};

struct RecordCounters {
  std::string file;  // the newest of a ring of files
  std::uint64_t events = 0;
  std::uint64_t lost = 0;  // as its Loss events state
  // Events that were drained from the rings but did not fit into the queue to the disk. Counted at
  // once; included in `lost` once the queue has been written.
  std::uint64_t not_taken = 0;
  std::string error;  // why recording stopped; empty while it works
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

  // Returns a Tracer for one thread of the endpoint; it lives as long as the hub. Returns null,
  // which trace::on() accepts, if there are kMostTracers.
  [[nodiscard]] Tracer* add();

  // Opens the live socket: a Unix stream socket NAME.PID.sock of mode 0600 in the user's runtime
  // folder (endpoints.h), removed when the hub stops. Only the same user and root are accepted, 16
  // readers at a time. They get a pcapng stream (upper_pdu.h). Errors: the folder cannot be created
  // or is not safe to use, the socket cannot be created, or it is already open.
  [[nodiscard]] base::Expected<void> open_socket();
  [[nodiscard]] std::string socket_path() const;  // empty without a socket
  // Events that did not fit into reader queues, summed over all readers, including those that have
  // disconnected.
  [[nodiscard]] std::uint64_t lost_to_readers() const;

  // Opens the packet socket NAME.PID.packets.sock. It serves the packets that the Tracers'
  // providers emit (PacketTap), as Ethernet frames in pcapng; each reader gets all packets from the
  // start of its stream. Interface statistics (isb_ifrecv, isb_ifdrop) state how many packets were
  // lost to a reader, periodically and at the end. A dedicated thread drains the rings, and only
  // while there is a reader.
  [[nodiscard]] base::Expected<void> open_packet_socket();
  [[nodiscard]] std::string packet_socket_path() const;  // empty without a socket

  // Lets list_endpoints() show where the endpoint serves its metrics, until the hub stops: an
  // address with a port, as in a URL. Does nothing without a live socket, which is what is listed.
  // Error: the address cannot be written down.
  [[nodiscard]] base::Expected<void> announce_metrics(const std::string& address);

  // Records all events emitted from its return on, in a pcapng file or in a ring of files, each of
  // which can be read on its own (for the names see base/pcapng/recorder.h). A dedicated thread
  // writes whole blocks every quarter of a second. Errors: those of base::open_recorder().
  [[nodiscard]] base::Expected<void> record(const std::string& path,
                                            const base::RingOptions& ring = {});
  // In the order of the calls of record().
  [[nodiscard]] std::vector<RecordCounters> recordings() const;
  // Ends the oldest recordings, or all, while the endpoint continues: when it returns, all events
  // emitted so far are in the files. Returns the final counters; recordings() no longer lists them.
  std::vector<RecordCounters> end_recordings(std::size_t oldest = SIZE_MAX);

  // Drains the rings, sends each reader its sums, and ends all streams and files. The endpoint's
  // threads must not emit any more, or those events are lost. Waits up to a quarter of a second for
  // a reader of the socket that does not read.
  void stop();

 private:
  class Impl;
  explicit Hub(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace rpcrdma::trace
