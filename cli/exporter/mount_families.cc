// Metrics of mounts: one family after the other, each over all mounts.
#include "families.h"

#include <array>
#include <vector>

namespace rpcrdma::exporter {

namespace {

using host::Mount;
using host::MountOperation;
using host::MountTransport;

// What a number means.
enum class Unit : std::uint8_t { kOne, kMilliseconds };
struct Field {
  std::string_view name;
  TextType type;
  std::string_view help;
  Unit unit = Unit::kOne;
};

// Longer ones come from no usual mount.
constexpr std::size_t kMostLabelBytes = 1024;

constexpr auto kCounter = TextType::kCounter;
constexpr auto kGauge = TextType::kGauge;

// Positions in a line `xprt:`. The protocols begin with the same ten; a name occurs once.
constexpr std::array kCommonFields{
    Field{"rpcrdma_mount_xprt_local_port", kGauge, "Local port; RDMA states 0."},
    Field{"rpcrdma_mount_xprt_binds_total", kCounter, "Queries of rpcbind for the server's port."},
    Field{"rpcrdma_mount_xprt_connects_total", kCounter,
          "Connections established, also after an idle transport was disconnected."},
    Field{"rpcrdma_mount_xprt_connect_seconds_total", kCounter,
          "Time spent connecting, in whole seconds."},
    Field{"rpcrdma_mount_xprt_idle_seconds", kGauge, "Time since the transport was used last."},
    Field{"rpcrdma_mount_xprt_sends_total", kCounter, "Calls sent."},
    Field{"rpcrdma_mount_xprt_receives_total", kCounter, "Replies received."},
    Field{"rpcrdma_mount_xprt_bad_xids_total", kCounter,
          "Replies with an XID that no Call waits for."},
    Field{"rpcrdma_mount_xprt_request_queue_total", kCounter,
          "Sum, over the Calls sent, of the Calls outstanding then."},
    Field{"rpcrdma_mount_xprt_backlog_queue_total", kCounter,
          "Sum, over the Calls sent, of the Calls that waited for a slot then."},
};
constexpr std::array kRdmaFields{
    Field{"rpcrdma_mount_xprt_read_chunks_total", kCounter, "Segments of Read chunks."},
    Field{"rpcrdma_mount_xprt_write_chunks_total", kCounter, "Segments of Write chunks."},
    Field{"rpcrdma_mount_xprt_reply_chunks_total", kCounter, "Segments of Reply chunks."},
    Field{"rpcrdma_mount_xprt_rdma_request_bytes_total", kCounter,
          "Bytes that Calls offered in Write and Reply chunks."},
    Field{"rpcrdma_mount_xprt_rdma_reply_bytes_total", kCounter,
          "Bytes that Replies returned in chunks."},
    Field{"rpcrdma_mount_xprt_pullup_copy_bytes_total", kCounter,
          "Bytes copied to send a Call in one piece."},
    Field{"rpcrdma_mount_xprt_fixup_copy_bytes_total", kCounter,
          "Bytes of Replies copied to where they belong."},
    Field{"rpcrdma_mount_xprt_hardway_register_bytes_total", kCounter,
          "Bytes of buffers that were allocated and registered again, being too small."},
    Field{"rpcrdma_mount_xprt_failed_marshals_total", kCounter,
          "Calls that could not be built for sending."},
    Field{"rpcrdma_mount_xprt_bad_replies_total", kCounter, "Replies that were not valid."},
    Field{"rpcrdma_mount_xprt_nomsg_calls_total", kCounter,
          "Calls sent in a Read chunk, being longer than a Send (RDMA_NOMSG)."},
    Field{"rpcrdma_mount_xprt_mrs_recycled_total", kCounter,
          "Memory regions released and set up again after an error."},
    Field{"rpcrdma_mount_xprt_mrs_orphaned_total", kCounter,
          "Memory regions that could not be recovered."},
    Field{"rpcrdma_mount_xprt_mrs_allocated_total", kCounter, "Memory regions allocated."},
    Field{"rpcrdma_mount_xprt_local_invalidates_total", kCounter,
          "Replies after which memory was invalidated here, not by the server."},
    Field{"rpcrdma_mount_xprt_empty_sendctx_queue_total", kCounter,
          "Times that the send queue was full."},
    Field{"rpcrdma_mount_xprt_reply_waits_for_send_total", kCounter,
          "Replies that came before the Send of their Call completed."},
};
constexpr std::array kSocketFields{
    Field{"rpcrdma_mount_xprt_max_slots", kGauge, "Most slots that were in use at a time."},
    Field{"rpcrdma_mount_xprt_sending_queue_total", kCounter,
          "Sum, over the Calls sent, of the Calls that waited to be sent then."},
    Field{"rpcrdma_mount_xprt_pending_queue_total", kCounter,
          "Sum, over the Calls sent, of the Calls that waited for a Reply then."},
};

constexpr std::array kOperationFields{
    Field{"rpcrdma_mount_operation_calls_total", kCounter, "Calls."},
    Field{"rpcrdma_mount_operation_transmissions_total", kCounter,
          "Transmissions of Calls, the first included."},
    Field{"rpcrdma_mount_operation_timeouts_total", kCounter, "Major timeouts."},
    Field{"rpcrdma_mount_operation_sent_bytes_total", kCounter, "Bytes of Calls."},
    Field{"rpcrdma_mount_operation_received_bytes_total", kCounter, "Bytes of Replies."},
    Field{"rpcrdma_mount_operation_queue_seconds_total", kCounter,
          "Time from the start of Calls to their transmission.", Unit::kMilliseconds},
    Field{"rpcrdma_mount_operation_reply_seconds_total", kCounter,
          "Time from the transmission of Calls to their Replies (rtt).", Unit::kMilliseconds},
    Field{"rpcrdma_mount_operation_execute_seconds_total", kCounter,
          "Time from the start of Calls to their end.", Unit::kMilliseconds},
    Field{"rpcrdma_mount_operation_errors_total", kCounter, "Calls that ended with an error."},
};

// enum nfs_stat_eventcounters of the kernel.
constexpr std::array<std::string_view, 27> kEvents{"inode_revalidate",
                                                   "dentry_revalidate",
                                                   "data_invalidate",
                                                   "attribute_invalidate",
                                                   "vfs_open",
                                                   "vfs_lookup",
                                                   "vfs_access",
                                                   "vfs_update_page",
                                                   "vfs_read_page",
                                                   "vfs_read_pages",
                                                   "vfs_write_page",
                                                   "vfs_write_pages",
                                                   "vfs_getdents",
                                                   "vfs_setattr",
                                                   "vfs_flush",
                                                   "vfs_fsync",
                                                   "vfs_lock",
                                                   "vfs_release",
                                                   "congestion_wait",
                                                   "setattr_truncate",
                                                   "extend_write",
                                                   "silly_rename",
                                                   "short_read",
                                                   "short_write",
                                                   "delay",
                                                   "pnfs_read",
                                                   "pnfs_write"};

// enum nfs_stat_bytecounters.
constexpr std::array kBytes{
    Field{"rpcrdma_mount_normal_read_bytes_total", kCounter, "Bytes that programs read."},
    Field{"rpcrdma_mount_normal_written_bytes_total", kCounter, "Bytes that programs wrote."},
    Field{"rpcrdma_mount_direct_read_bytes_total", kCounter,
          "Bytes that programs read with O_DIRECT."},
    Field{"rpcrdma_mount_direct_written_bytes_total", kCounter,
          "Bytes that programs wrote with O_DIRECT."},
    Field{"rpcrdma_mount_server_read_bytes_total", kCounter, "Bytes read from the server."},
    Field{"rpcrdma_mount_server_written_bytes_total", kCounter, "Bytes written to the server."},
    Field{"rpcrdma_mount_read_pages_total", kCounter, "Pages read."},
    Field{"rpcrdma_mount_written_pages_total", kCounter, "Pages written."},
};

// A mount, with the labels of its samples.
struct Labelled {
  struct Transport {
    const MountTransport* numbers;
    std::string labels;
  };
  const Mount* mount;
  std::string labels;
  std::vector<Transport> transports;
  std::vector<std::string> operations;  // labels beside those of the mount
};

Labelled labelled(const Mount& m) {
  Labelled l{&m, {}, {}, {}};
  label(l.labels, "mountpoint", m.mountpoint);
  label(l.labels, "export", m.device);
  for (std::size_t i = 0; i < m.transports.size(); ++i) {
    Labelled::Transport& t = l.transports.emplace_back();
    t.numbers = &m.transports[i];
    t.labels = l.labels;
    label(t.labels, "xprt", std::to_string(i));
    label(t.labels, "protocol", m.transports[i].protocol);
  }
  for (const MountOperation& o : m.operations) {
    label(l.operations.emplace_back(), "operation", o.name);
  }
  return l;
}

void write_info(TextWriter& to, const std::vector<Labelled>& all) {
  to.family("rpcrdma_mount_info", kGauge, "1; the labels describe the mount.");
  for (const Labelled& l : all) {
    std::string more;
    label(more, "fstype", l.mount->fstype);
    label(more, "version", l.mount->version);
    label(more, "protocol", l.mount->protocol);
    label(more, "server", l.mount->server);
    to.sample(l.labels, more, 1);
  }
  to.family("rpcrdma_mount_age_seconds", kGauge, "Time since the mount.");
  for (const Labelled& l : all) {
    if (l.mount->age_seconds) to.sample(l.labels, *l.mount->age_seconds);
  }
  to.family("rpcrdma_mount_fallback", kGauge,
            "1 if the mount has proto=rdma, and a transport that is not RDMA.");
  for (const Labelled& l : all) to.sample(l.labels, l.mount->fell_back() ? 1 : 0);
  to.family("rpcrdma_mount_transports", kGauge, "Transports: several with nconnect.");
  for (const Labelled& l : all) to.sample(l.labels, l.transports.size());
}

void write_events(TextWriter& to, const std::vector<Labelled>& all, std::uint64_t& left_out) {
  to.family("rpcrdma_mount_events_total", kCounter, "Events of the NFS client, by name.");
  std::vector<std::string> names;
  for (const std::string_view name : kEvents) label(names.emplace_back(), "event", name);
  for (const Labelled& l : all) {
    const auto& numbers = l.mount->events;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (i < names.size()) {
        to.sample(l.labels, names[i], numbers[i]);
      } else {
        ++left_out;
      }
    }
  }
  for (std::size_t i = 0; i < kBytes.size(); ++i) {
    to.family(kBytes[i].name, kBytes[i].type, kBytes[i].help);
    for (const Labelled& l : all) {
      if (i < l.mount->bytes.size()) to.sample(l.labels, l.mount->bytes[i]);
    }
  }
  for (const Labelled& l : all) {
    if (l.mount->bytes.size() > kBytes.size()) left_out += l.mount->bytes.size() - kBytes.size();
  }
}

bool is_rdma(const MountTransport& t) {
  return t.protocol == "rdma";
}

// Position of a number in the line of each protocol; not there: beyond all lines.
struct Position {
  std::size_t rdma, tcp, udp, local;
};
constexpr std::size_t kNowhere = SIZE_MAX;

std::size_t position(const Position& p, const MountTransport& t) {
  if (is_rdma(t)) return p.rdma;
  if (t.protocol == "tcp") return p.tcp;
  if (t.protocol == "udp") return p.udp;
  return t.protocol == "local" ? p.local : kNowhere;
}

void write_field(TextWriter& to, const std::vector<Labelled>& all, const Field& field,
                 const Position& at) {
  to.family(field.name, field.type, field.help);
  for (const Labelled& l : all) {
    for (const Labelled::Transport& t : l.transports) {
      const std::size_t i = position(at, *t.numbers);
      if (i >= t.numbers->numbers.size() || !t.numbers->numbers[i]) continue;
      to.sample(t.labels, *t.numbers->numbers[i]);
    }
  }
}

// Sockets of UDP have no connection, local ones no port.
constexpr std::array<Position, kCommonFields.size()> kCommonPositions{{
    {0, 0, 0, kNowhere},
    {1, 1, 1, 0},
    {2, 2, kNowhere, 1},
    {3, 3, kNowhere, 2},
    {4, 4, kNowhere, 3},
    {5, 5, 2, 4},
    {6, 6, 3, 5},
    {7, 7, 4, 6},
    {8, 8, 5, 7},
    {9, 9, 6, 8},
}};

std::size_t known_numbers(const MountTransport& t) {
  if (is_rdma(t)) return kCommonFields.size() + kRdmaFields.size();
  if (t.protocol == "tcp") return kCommonFields.size() + kSocketFields.size();
  if (t.protocol == "udp") return 7 + kSocketFields.size();
  return t.protocol == "local" ? 9 + kSocketFields.size() : 0;
}

void write_transports(TextWriter& to, const std::vector<Labelled>& all, std::uint64_t& left_out) {
  for (std::size_t i = 0; i < kCommonFields.size(); ++i) {
    write_field(to, all, kCommonFields[i], kCommonPositions[i]);
  }
  for (std::size_t i = 0; i < kRdmaFields.size(); ++i) {
    write_field(to, all, kRdmaFields[i], {10 + i, kNowhere, kNowhere, kNowhere});
  }
  for (std::size_t i = 0; i < kSocketFields.size(); ++i) {
    write_field(to, all, kSocketFields[i], {kNowhere, 10 + i, 7 + i, 9 + i});
  }
  for (const Labelled& l : all) {
    for (const Labelled::Transport& t : l.transports) {
      const std::size_t known = known_numbers(*t.numbers);
      if (t.numbers->numbers.size() > known) left_out += t.numbers->numbers.size() - known;
    }
  }
}

void write_operations(TextWriter& to, const std::vector<Labelled>& all) {
  for (std::size_t i = 0; i < kOperationFields.size(); ++i) {
    const Field& field = kOperationFields[i];
    to.family(field.name, field.type, field.help);
    for (const Labelled& l : all) {
      for (std::size_t k = 0; k < l.operations.size(); ++k) {
        const MountOperation& o = l.mount->operations[k];
        if (i >= o.count) continue;
        if (field.unit == Unit::kMilliseconds) {
          to.milliseconds(l.labels, l.operations[k], o.numbers[i]);
        } else {
          to.sample(l.labels, l.operations[k], o.numbers[i]);
        }
      }
    }
  }
}

}  // namespace

void write_mounts(TextWriter& to, const host::Mounts& mounts, std::uint64_t& left_out) {
  std::vector<Labelled> all;
  all.reserve(mounts.mounts.size());
  for (const Mount& m : mounts.mounts) {
    if (m.mountpoint.size() > kMostLabelBytes || m.device.size() > kMostLabelBytes) {
      ++left_out;
    } else {
      all.push_back(labelled(m));
    }
  }
  left_out += mounts.left_out_mounts + mounts.left_out_lines;
  write_info(to, all);
  write_transports(to, all, left_out);
  write_operations(to, all);
  write_events(to, all, left_out);
}

}  // namespace rpcrdma::exporter
