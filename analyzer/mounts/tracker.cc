// Groups Calls by session or by addresses, follows slots and credits, and reads the operations that
// set up sessions, callbacks and layouts. Most Calls cost one look at their SEQUENCE.
#include "layouts.h"
#include "printable.h"
#include "spell.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <tsl/robin_map.h>

#include <rpcrdma/decode/nfs_items.h>
#include <rpcrdma/decode/nfs_layouts.h>
#include <rpcrdma/decode/nfs_operations.h>
#include <rpcrdma/decode/nfs_sessions.h>
#include <rpcrdma/decode/programs.h>
#include <rpcrdma/decode/upper_layer.h>
#include <rpcrdma/mounts/tracker.h>
#include <rpcrdma/wire/rpc.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::mounts {

namespace {

using model::Kind;

constexpr std::size_t kMaxPending = 1024;  // set-up Calls in flight
constexpr std::size_t kMaxClients = 256;   // results of EXCHANGE_ID
constexpr std::uint32_t kNone = UINT32_MAX;

constexpr std::uint32_t kOpClose = 4;
constexpr std::uint32_t kOpGetFh = 10;
constexpr std::uint32_t kOpRead = 25;
constexpr std::uint32_t kOpWrite = 38;

// A set of operation numbers.
class OpSet {
 public:
  constexpr OpSet(std::initializer_list<std::uint32_t> ops) {
    for (const std::uint32_t op : ops) bits_[op / 64] |= std::uint64_t{1} << (op % 64);
  }
  [[nodiscard]] constexpr bool has(std::uint32_t op) const {
    return op < 128 && (bits_[op / 64] >> (op % 64) & 1) != 0;
  }
  [[nodiscard]] bool any_of(const decode::CompoundOps& ops) const { return end_in(ops) != 0; }
  // The index behind the last operation of the set.
  [[nodiscard]] std::uint32_t end_in(const decode::CompoundOps& ops) const {
    std::uint32_t end = ops.kept;
    while (end != 0 && !has(ops.op[end - 1])) --end;
    return end;
  }

 private:
  std::array<std::uint64_t, 2> bits_{};
};

// Their arguments are needed when the Reply comes, or at once.
constexpr OpSet kSetUpCalls{decode::kOpSetClientId,   decode::kOpExchangeId,
                            decode::kOpCreateSession, decode::kOpDestroySession,
                            decode::kOpLayoutGet,     decode::kOpLayoutReturn,
                            decode::kOpLayoutError};
constexpr OpSet kOfLayouts{kOpClose, kOpRead, kOpWrite};
constexpr OpSet kSetUpReplies{
    decode::kOpOpen,           decode::kOpSetClientId,       decode::kOpExchangeId,
    decode::kOpCreateSession,  decode::kOpBindConnToSession, decode::kOpDestroySession,
    decode::kOpGetDeviceInfo,  decode::kOpLayoutGet,         decode::kOpLayoutReturn,
    decode::kOpReclaimComplete};
constexpr OpSet kChangesFile{6, 15, 16, 18, 23, 24};  // the current file handle, to an unknown one
constexpr std::uint32_t kOpRestoreFh = 31;
constexpr std::uint32_t kOpSaveFh = 32;

// The RPC message without data in chunks, as far as it was captured.
wire::Bytes rpc_message(const model::Message& m, const model::Call* call) {
  if (!model::is_external(m)) return m.payload;
  if (call == nullptr) return {};
  const auto list = m.kind == Kind::kCall ? model::ChunkList::kRead : model::ChunkList::kReply;
  for (const model::CallChunk& c : call->chunks) {
    if (c.list == list && c.position == 0) return c.data.head();
  }
  return {};
}

// Bytes of the RPC header. The model has decoded it before, so only lengths are read here.
std::size_t rpc_header_length(const model::Message& m, wire::Bytes rpc) {
  constexpr std::size_t kCall = 24;   // in front of the credential
  constexpr std::size_t kReply = 12;  // in front of the verifier
  wire::XdrReader in(rpc);
  in.skip(m.kind == Kind::kCall ? kCall + 4 : kReply + 4);
  (void)in.opaque(wire::kMaxAuthBytes);
  in.skip(4);  // a Call's verifier's flavor, a Reply's accept_stat
  if (m.kind == Kind::kCall) (void)in.opaque(wire::kMaxAuthBytes);
  return in.ok() ? in.offset() : rpc.size();
}

// The readable arguments of a Call, up to the first data that a Read chunk removed, or the results
// of a successful Reply. Empty: there are none.
wire::Bytes body_of(const model::Message& m, const model::Call* call) {
  if (!m.rpc.header_seen || model::may_be_padded(m)) return {};
  if (m.kind == Kind::kReply && (m.rpc.reply_stat != wire::ReplyStat::kAccepted ||
                                 m.rpc.accept_stat != wire::AcceptStat::kSuccess)) {
    return {};
  }
  const wire::Bytes rpc = rpc_message(m, call);
  const std::size_t header = rpc_header_length(m, rpc);
  const auto plain = decode::unwrap(m.rpc.wrapping, rpc.subspan(header));
  if (!plain) return {};
  if (m.kind == Kind::kReply || m.reads.empty()) return plain->bytes;
  const std::uint64_t before = std::uint64_t{header} + plain->offset;
  const std::uint64_t first = model::first_position(m);
  return plain->bytes.first(static_cast<std::size_t>(
      std::min<std::uint64_t>(plain->bytes.size(), first > before ? first - before : 0)));
}

// What a set-up Call holds that its Reply needs.
struct Pending {
  std::string owner;
  std::string netid, address;
  std::optional<decode::CreateSessionArguments> create;
  std::optional<decode::SessionId> destroyed;
  std::optional<std::uint32_t> file;  // of LAYOUTGET or LAYOUTRETURN
  std::optional<decode::Returned> returned;
};

// What EXCHANGE_ID showed.
struct Client {
  std::string owner, server_owner, server_scope;
  std::uint32_t flags = 0;
};

struct Held {
  Mount mount;
  decode::SessionId id{};
  std::vector<std::uint32_t> slots;  // in use: index of the connection + 1; 0: free
  std::uint32_t in_use = 0;
  std::uint32_t in_use_max = 0;
  Spell slots_full, credits_full;
  std::uint32_t full_connections = 0;
  FilesWithLayout files;
};

// The mount that a connection was last used for.
struct Link {
  std::uint32_t mount = kNone;
  std::uint32_t place = kNone;  // in Mount::connections; kNone: not listed there
  bool full = false;            // all its credits are in use
  bool omitted = false;         // of a mount beyond the bound: not searched for again
};

// By the index of the connection. There may be very many connections, and a Link is small, so they
// lie together instead of being allocated one by one. A reference is valid until the next
// insertion.
class Links {
 public:
  [[nodiscard]] Link* find(std::uint32_t connection) {
    const auto it = map_.find(connection);
    return it == map_.end() ? nullptr : &it.value();
  }
  Link& operator[](std::uint32_t connection) { return map_[connection]; }
  void erase(std::uint32_t connection) { map_.erase(connection); }

 private:
  tsl::robin_map<std::uint32_t, Link> map_;
};

// The file that an operation of a COMPOUND is about.
class CurrentFile {
 public:
  void passed(const decode::NfsOperation& o) {
    if (o.op == decode::kOpPutFh) {
      wire::XdrReader in(o.bytes);
      now_ = decode::handle_hash(in.opaque());
    } else if (o.op == kOpSaveFh) {
      saved_ = now_;
    } else if (o.op == kOpRestoreFh) {
      now_ = saved_;
    } else if (kChangesFile.has(o.op)) {
      now_.reset();
    }
  }
  [[nodiscard]] std::optional<std::uint32_t> get() const { return now_; }

 private:
  std::optional<std::uint32_t> now_, saved_;
};

}  // namespace

struct Tracker::Impl {
  const session::Context* context = nullptr;
  std::vector<std::unique_ptr<Held>> mounts;
  std::map<decode::SessionId, std::uint32_t> by_session;
  std::map<std::pair<std::string, std::uint64_t>, Client> clients;  // by server and client ID
  std::unordered_map<std::uint64_t, Pending> pending;               // by message
  Links links;
  std::uint64_t omitted_calls = 0;
  std::uint64_t not_followed = 0;

  // The addresses of caller and responder.
  [[nodiscard]] std::string address(const model::Message& m, bool of_sender) const {
    const roce::Connection& c = context->connection(m);
    const std::size_t sender = context->sender(m);
    return c.side[of_sender ? sender : 1 - sender].address.to_string();
  }

  // `by_client`: the client sent the message.
  std::uint32_t create(const model::Message& m, bool by_client) {
    if (mounts.size() == kMaxMounts) return kNone;
    Mount& mount = mounts.emplace_back(std::make_unique<Held>())->mount;
    mount.client = address(m, by_client);
    mount.server = address(m, !by_client);
    mount.first_frame = m.first_frame;
    mount.first_ns = m.time_ns;
    return static_cast<std::uint32_t>(mounts.size() - 1);
  }

  // Returns kNone if the session is not known. Most often it is the one that the connection was
  // last used for.
  [[nodiscard]] std::uint32_t find_session(const decode::SessionId& id, const Link* last) const {
    if (last != nullptr && last->mount != kNone) {
      const Held& held = *mounts[last->mount];
      if (held.id == id && !held.mount.session.empty()) return last->mount;
    }
    const auto known = by_session.find(id);
    return known != by_session.end() ? known->second : kNone;
  }

  std::uint32_t of_session(const decode::SessionId& id, const model::Message& m, bool by_client,
                           std::uint32_t minor) {
    const std::uint32_t known = find_session(id, links.find(m.connection));
    if (known != kNone) return known;
    const std::uint32_t at = create(m, by_client);
    if (at == kNone) return kNone;
    by_session.emplace(id, at);
    Held& held = *mounts[at];
    held.id = id;
    held.mount.version = 4;
    held.mount.minor = minor;
    held.mount.session = hex(id);
    return at;
  }

  // A mount without a session. An unknown minor version is that of any mount between the same
  // addresses.
  std::uint32_t of_addresses(std::uint32_t version, std::optional<std::uint32_t> minor,
                             const model::Message& m) {
    const auto fits = [&](const Mount& mount) {
      return mount.version == version &&
             (version != 4 || !minor || (mount.session.empty() && mount.minor == minor));
    };
    const Link* const link = links.find(m.connection);
    if (link != nullptr && link->mount != kNone && fits(mounts[link->mount]->mount)) {
      return link->mount;
    }
    if (link != nullptr && link->omitted) return kNone;
    const std::string client = address(m, true);
    const std::string server = address(m, false);
    for (std::uint32_t i = 0; i < mounts.size(); ++i) {
      const Mount& mount = mounts[i]->mount;
      if (fits(mount) && mount.client == client && mount.server == server) return i;
    }
    const std::uint32_t at = create(m, true);
    if (at == kNone) {
      links[m.connection].omitted = true;
      return kNone;
    }
    mounts[at]->mount.version = version;
    mounts[at]->mount.minor = minor;
    return at;
  }

  // The mount of a Call of the client; kNone: it has none, or there are too many.
  std::uint32_t mount_of(const model::Message& m, wire::Bytes args,
                         std::optional<decode::SequenceArguments>& sequence) {
    const model::RpcInfo& rpc = m.rpc;
    if (rpc.version != 4) return of_addresses(rpc.version, std::nullopt, m);
    if (rpc.ops.kept == 0) return of_addresses(4, std::nullopt, m);
    if (rpc.ops.minor == 0) return of_addresses(4, 0, m);
    if (rpc.ops.op[0] != decode::kOpSequence) return kNone;
    sequence = decode::first_sequence(args);
    return sequence ? of_session(sequence->session, m, true, rpc.ops.minor) : kNone;
  }

  static bool belongs(const model::RpcInfo& rpc) {
    return rpc.version != 4 || rpc.ops.kept == 0 || rpc.ops.minor == 0 ||
           rpc.ops.op[0] == decode::kOpSequence;
  }

  static std::uint32_t place(Mount& mount, std::uint32_t connection) {
    auto& list = mount.connections;
    for (std::uint32_t i = 0; i < list.size(); ++i) {
      if (list[i].id == connection) return i;
    }
    if (list.size() == kMaxMountConnections) {
      ++mount.more_connections;
      return kNone;
    }
    list.emplace_back().id = connection;
    return static_cast<std::uint32_t>(list.size() - 1);
  }

  void release_credits(Link& link, std::int64_t now) {
    if (!link.full) return;
    link.full = false;
    Held& held = *mounts[link.mount];
    if (held.full_connections != 0) --held.full_connections;
    held.credits_full.set(held.full_connections != 0, now);
  }

  // The connection of the message is used for this mount from now on.
  Link& use(std::uint32_t at, const model::Message& m) {
    Link& link = links[m.connection];
    Held& held = *mounts[at];
    if (link.mount != at) {
      release_credits(link, m.time_ns);
      link.mount = at;
      link.place = place(held.mount, m.connection);
    }
    held.mount.last_frame = m.frame;
    held.mount.last_ns = m.time_ns;
    return link;
  }

  MountConnection* listed(const Link& link) {
    return link.place == kNone ? nullptr : &mounts[link.mount]->mount.connections[link.place];
  }

  void note_credits(Link& link, const model::Message& m) {
    Held& held = *mounts[link.mount];
    if (MountConnection* c = listed(link)) {
      if (m.credits.granted_known) c->credits_granted = m.credits.granted;
      c->credits_in_use_max = std::max(c->credits_in_use_max, m.credits.in_use);
    }
    std::uint32_t limit = m.credits.granted_known ? m.credits.granted : 0;
    if (m.credits.requested_known && m.credits.requested != 0) {
      limit = std::min(limit, m.credits.requested);
    }
    const bool full = limit != 0 && m.credits.in_use >= limit;
    if (full == link.full) return;
    if (!full) return release_credits(link, m.time_ns);
    link.full = true;
    ++held.full_connections;
    held.credits_full.set(true, m.time_ns);
  }

  static void note_slots(Held& held, std::int64_t now) {
    held.slots_full.set(held.mount.slots.value_or(0) != 0 && held.in_use >= *held.mount.slots, now);
  }

  static void take_slot(Held& held, std::uint32_t slot, const model::Message& m) {
    if (slot >= kMaxSlots) {
      ++held.mount.slots_beyond;
      return;
    }
    if (slot >= held.slots.size()) held.slots.resize(slot + std::size_t{1});
    if (held.slots[slot] == 0) ++held.in_use;
    held.slots[slot] = m.connection + 1;
    held.in_use_max = std::max(held.in_use_max, held.in_use);
    note_slots(held, m.time_ns);
  }

  static void free_slot(Held& held, std::uint32_t slot) {
    if (slot >= held.slots.size() || held.slots[slot] == 0) return;
    held.slots[slot] = 0;
    --held.in_use;
  }

  void count_io(MountConnection& c, const model::RpcInfo& rpc) {
    constexpr std::uint32_t kRead3 = 6, kWrite3 = 7, kWrite2 = 8;
    if (rpc.version == 4) {
      for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) {
        c.reads += rpc.ops.op[i] == kOpRead ? 1U : 0U;
        c.writes += rpc.ops.op[i] == kOpWrite ? 1U : 0U;
      }
    } else if (rpc.procedure == kRead3) {
      ++c.reads;
    } else if (rpc.procedure == (rpc.version == 2 ? kWrite2 : kWrite3)) {
      ++c.writes;
    }
  }

  void fore_call(const model::Message& m, const model::Call* call) {
    const model::RpcInfo& rpc = m.rpc;
    if (rpc.procedure == 0) return;  // NULL is of no mount
    const bool compound = rpc.version == 4 && rpc.ops.kept != 0;
    const wire::Bytes args = compound && rpc.ops.minor != 0 ? body_of(m, call) : wire::Bytes{};
    std::optional<decode::SequenceArguments> sequence;
    const std::uint32_t at = mount_of(m, args, sequence);
    if (at != kNone) {
      Link& link = use(at, m);
      Held& held = *mounts[at];
      ++held.mount.calls;
      if (MountConnection* c = listed(link)) {
        c->fore = true;
        ++c->calls;
        count_io(*c, rpc);
      }
      note_credits(link, m);
      if (sequence) take_slot(held, sequence->slot, m);
    } else if (belongs(rpc)) {
      ++omitted_calls;
    }
    if (!compound) return;
    const bool io = at != kNone && !mounts[at]->files.empty() && kOfLayouts.any_of(rpc.ops);
    if (io || kSetUpCalls.any_of(rpc.ops))
      read_arguments(m, rpc.ops.minor != 0 ? args : body_of(m, call), at);
  }

  void read_arguments(const model::Message& m, wire::Bytes args, std::uint32_t at);
  void read_results(const model::Message& m, const model::Call& call, wire::Bytes results,
                    std::uint32_t at);

  void note_sequence(Held& held, const decode::SequenceResults& s, const model::Message& m) {
    Mount& mount = held.mount;
    free_slot(held, s.slot);
    mount.slots = std::min(std::min(s.highest_slot, s.target_highest_slot), UINT32_MAX - 1) + 1;
    note_slots(held, m.time_ns);
    Backchannel& back = mount.backchannel;
    back.status_flags |= s.status_flags;
    back.down_at_end = (s.status_flags & (decode::kCbPathDown | decode::kCbPathDownSession |
                                          decode::kBackchannelFault)) != 0;
    if (!back.down_at_end) return;
    ++back.down_replies;
    if (back.down_first_frame == 0) back.down_first_frame = m.frame;
    back.down_last_frame = m.frame;
  }

  void fore_reply(const model::Message& m, const model::Call& call) {
    const model::RpcInfo& rpc = m.rpc;
    if (rpc.procedure == 0) return;
    const bool compound = rpc.version == 4 && rpc.ops.kept != 0;
    const bool sequenced = compound && rpc.ops.op[0] == decode::kOpSequence;
    const wire::Bytes results = sequenced ? body_of(m, &call) : wire::Bytes{};
    const auto sequence = sequenced ? decode::first_sequence_results(results) : std::nullopt;
    const Link* const known = links.find(m.connection);
    std::uint32_t at = known != nullptr && belongs(rpc) ? known->mount : kNone;
    if (sequence) {
      const std::uint32_t session = find_session(sequence->session, known);
      if (session != kNone) at = session;
    }
    if (at != kNone) {
      Link& link = use(at, m);
      Held& held = *mounts[at];
      ++held.mount.replies;
      note_credits(link, m);
      if (sequence) note_sequence(held, *sequence, m);
    }
    if (compound && kSetUpReplies.any_of(rpc.ops)) {
      read_results(m, call, sequenced ? results : body_of(m, &call), at);
    }
  }

  void callback(const model::Message& m, const model::Call* call) {
    const model::RpcInfo& rpc = m.rpc;
    if (decode::program_name(rpc.program, rpc.version, rpc.procedure) == nullptr) return;
    const Link* const known = links.find(m.connection);
    std::uint32_t at = known != nullptr ? known->mount : kNone;
    const bool sequenced = rpc.ops.kept != 0 && rpc.ops.op[0] == decode::kOpCbSequence;
    if (m.kind == Kind::kCall && sequenced) {
      if (const auto s = decode::first_callback_sequence(body_of(m, call))) {
        at = of_session(s->session, m, false, rpc.ops.minor);
      }
    }
    if (at == kNone) return;
    Held& held = *mounts[at];
    Backchannel& back = held.mount.backchannel;
    if (m.kind == Kind::kReply) {
      ++back.answered;
      if (back.last && back.last->frame == m.match_frame && m.rpc.has_status) {
        const char* const name = decode::nfs4_status_name(m.rpc.status);
        back.last->status = name != nullptr ? name : std::to_string(m.rpc.status);
      }
      return;
    }
    ++back.callbacks;
    if (MountConnection* c = listed(use(at, m))) ++c->callbacks;
    Callback last{m.frame, m.time_ns, rpc.procedure == 0 ? "CB_NULL" : "", ""};
    for (std::uint32_t i = 0; i < rpc.ops.kept; ++i) {
      const std::uint32_t op = rpc.ops.op[i];
      if (op == decode::kOpCbLayoutRecall) ++held.mount.layouts.recalled;
      if (op == decode::kOpCbSequence || !last.operation.empty()) continue;
      const char* const name = decode::nfs4_op_name(op, true);
      last.operation = name != nullptr ? name : std::to_string(op);
    }
    back.last = std::move(last);
  }

  // MNT: the path that is mounted.
  void mount_call(const model::Message& m, const model::Call* call) {
    constexpr std::uint32_t kMnt = 1;
    if (m.rpc.procedure != kMnt) return;
    wire::XdrReader in(body_of(m, call));
    const std::string path = printable(in.opaque());
    if (!in.ok()) return;
    const std::uint32_t at = of_addresses(m.rpc.version == 3 ? 3 : 2, std::nullopt, m);
    if (at == kNone) return;
    (void)use(at, m);
    add_export(mounts[at]->mount, path);
  }

  void message(const model::Message& m, const model::Call* call) {
    if (!m.rpc.known) return;
    const bool is_call = m.kind == Kind::kCall;
    if (!is_call && (m.kind != Kind::kReply || call == nullptr)) return;
    if (m.rpc.program == decode::kProgNfs) {
      is_call ? fore_call(m, call) : fore_reply(m, *call);
    } else if (decode::is_transient_program(m.rpc.program)) {
      callback(m, call);
    } else if (m.rpc.program == decode::kProgMount && is_call) {
      mount_call(m, call);
    }
  }

  void free_slots_of(std::uint32_t connection, Link& link, std::int64_t now) {
    if (link.mount == kNone) return;
    Held& held = *mounts[link.mount];
    release_credits(link, now);
    for (std::uint32_t& owner : held.slots) {
      if (owner != connection + 1) continue;
      owner = 0;
      --held.in_use;
    }
    note_slots(held, now);
  }

  void created(const decode::CreateSessionResults& r, const Pending* call,
               const model::Message& m) {
    // The Reply's receiver is the client.
    const std::uint32_t at = of_session(r.session, m, false, m.rpc.ops.minor);
    if (at == kNone) return;
    Link& link = use(at, m);
    Mount& mount = mounts[at]->mount;
    const auto channel = [](const decode::ChannelAttributes& a) {
      return Channel{a.max_requests, a.max_request_size, a.max_response_size, a.max_operations};
    };
    mount.created_frame = m.frame;
    mount.fore = channel(r.fore);
    mount.back = channel(r.back);
    if (!mount.slots) mount.slots = r.fore.max_requests;
    mount.backchannel.granted = (r.flags & decode::kSessionBackChannel) != 0;
    if (MountConnection* c = listed(link)) {
      c->fore = true;
      c->back_bound |= *mount.backchannel.granted;
    }
    if (call == nullptr || !call->create) return;
    mount.backchannel.requested = (call->create->flags & decode::kSessionBackChannel) != 0;
    mount.client_id = call->create->client_id;
    const auto client = clients.find({mount.server, *mount.client_id});
    if (client == clients.end()) return;
    mount.client_owner = client->second.owner;
    mount.server_owner = client->second.server_owner;
    mount.server_scope = client->second.server_scope;
    mount.exchange_flags = client->second.flags;
  }

  void bound(const decode::BindConnection& b, const model::Message& m) {
    const std::uint32_t at = of_session(b.session, m, false, m.rpc.ops.minor);
    if (at == kNone) return;
    if (MountConnection* c = listed(use(at, m))) {
      c->fore |= b.fore;
      c->back_bound |= b.back;
    }
  }

  void exchanged(const decode::ExchangeIdResults& r, const Pending* call, const model::Message& m) {
    std::pair<std::string, std::uint64_t> key(address(m, true), r.client_id);
    if (clients.size() >= kMaxClients && !clients.contains(key)) {
      ++not_followed;
      return;
    }
    Client& client = clients[std::move(key)];
    if (call != nullptr) client.owner = call->owner;
    client.server_owner = printable(r.server_owner);
    client.server_scope = printable(r.server_scope);
    client.flags = r.flags;
  }

  void destroyed(const decode::SessionId& id, const model::Message& m) {
    const auto at = by_session.find(id);
    if (at != by_session.end()) mounts[at->second]->mount.destroyed_frame = m.frame;
  }
};

namespace {

// Keeps what Replies need of the arguments of a set-up Call.
class Arguments final : public decode::NfsOperationSink {
 public:
  // `held`: null if the mount is not known. `until`: index of the READ or WRITE whose file is
  // wanted.
  Arguments(Held* held, std::uint32_t until) : held_(held), until_(until) {}

  bool operation(const decode::NfsOperation& o) override {
    switch (o.op) {
      case decode::kOpExchangeId:
        if (const auto e = decode::decode_exchange_id(o.bytes)) pending.owner = printable(e->owner);
        break;
      case decode::kOpSetClientId:
        if (const auto s = decode::decode_set_client_id(o.bytes)) {
          pending.owner = printable(s->owner);
          const decode::NetAddress a = decode::parse_universal(s->netid, s->address);
          pending.netid = printable(a.netid);
          pending.address =
              printable(a.port ? a.host + " port " + std::to_string(*a.port) : a.host);
        }
        break;
      case decode::kOpCreateSession:
        pending.create = decode::decode_create_session(o.bytes);
        break;
      case decode::kOpDestroySession:
        pending.destroyed = decode::decode_destroy_session(o.bytes);
        break;
      case decode::kOpLayoutReturn:
        pending.returned = decode::decode_layout_return(o.bytes);
        pending.file = file_.get();
        break;
      case decode::kOpLayoutGet:
        pending.file = file_.get();
        break;
      case decode::kOpLayoutError:
        if (held_ != nullptr) ++held_->mount.layouts.errors;
        break;
      case kOpClose:
        if (held_ != nullptr && file_.get()) held_->files.closed(*file_.get());
        break;
      default:
        break;
    }
    file_.passed(o);
    next_ = o.index + 1;
    return next_ < until_;
  }

  // The file of the READ or WRITE.
  [[nodiscard]] std::optional<std::uint32_t> file() const {
    return next_ >= until_ ? file_.get() : std::nullopt;
  }

  Pending pending;

 private:
  Held* held_;
  std::uint32_t until_;
  std::uint32_t next_ = 0;
  CurrentFile file_;
};

std::uint32_t first_io(const decode::CompoundOps& ops) {
  for (std::uint32_t i = 0; i < ops.kept; ++i) {
    if (ops.op[i] == kOpRead || ops.op[i] == kOpWrite) return i;
  }
  return kNone;
}

// Adds the addresses of a device to the data servers of a mount.
class Devices final : public decode::DeviceAddressSink {
 public:
  explicit Devices(Layouts& layouts) : layouts_(layouts) {}

  void address(std::uint32_t /*server*/, const decode::NetAddress& a) override {
    const std::string netid = printable(a.netid);
    const std::string host = printable(a.host);
    for (DataServer& s : layouts_.servers) {
      if (s.netid != netid || s.address != host || s.port != a.port) continue;
      ++s.devices;
      return;
    }
    if (layouts_.servers.size() == kMaxDataServers) {
      ++layouts_.more_servers;
      return;
    }
    DataServer& s = layouts_.servers.emplace_back();
    s.netid = netid;
    s.address = host;
    s.port = a.port;
    s.rdma = decode::is_rdma_netid(netid);
    s.devices = 1;
  }

 private:
  Layouts& layouts_;
};

}  // namespace

void Tracker::Impl::read_arguments(const model::Message& m, wire::Bytes args, std::uint32_t at) {
  Held* const held = at == kNone ? nullptr : mounts[at].get();
  const std::uint32_t io = first_io(m.rpc.ops);
  Arguments found(held, io);
  decode::visit_operations(model::procedure_of(m.rpc), args, found);
  if (held != nullptr && io != kNone && found.file() && held->files.has(*found.file())) {
    Layouts& layouts = held->mount.layouts;
    ++(m.rpc.ops.op[io] == kOpRead ? layouts.mds_reads : layouts.mds_writes);
  }
  if (!kSetUpCalls.any_of(m.rpc.ops)) return;
  if (pending.size() >= kMaxPending) {
    ++not_followed;
    return;
  }
  pending[m.id] = std::move(found.pending);
}

void Tracker::Impl::read_results(const model::Message& m, const model::Call& call,
                                 wire::Bytes results, std::uint32_t at) {
  const auto kept = pending.find(call.message.id);
  const Pending* const of_call = kept == pending.end() ? nullptr : &kept->second;
  std::vector<std::uint64_t> lengths;
  model::for_each_write_chunk(m, [&](std::uint32_t, std::span<const wire::Segment> segments) {
    std::uint64_t sum = 0;
    for (const wire::Segment& s : segments) sum += s.length;
    lengths.push_back(sum);
  });

  class Results final : public decode::NfsOperationSink {
   public:
    Results(Impl& impl, const model::Message& m, const Pending* call, std::uint32_t at)
        : impl_(impl), m_(m), call_(call), held_(at == kNone ? nullptr : impl.mounts[at].get()) {
      if (call != nullptr) file_ = call->file;
      end_ = kSetUpReplies.end_in(m.rpc.ops);
    }

    bool operation(const decode::NfsOperation& o) override {
      if (o.status != 0) {
        if (o.op == decode::kOpLayoutGet && held_ != nullptr) refused(o.status);
        return false;
      }
      switch (o.op) {
        case decode::kOpExchangeId:
          if (const auto r = decode::decode_exchange_id_results(o.bytes)) {
            impl_.exchanged(*r, call_, m_);
          }
          break;
        case decode::kOpCreateSession:
          if (const auto r = decode::decode_create_session_results(o.bytes)) {
            impl_.created(*r, call_, m_);
          }
          break;
        case decode::kOpBindConnToSession:
          if (const auto r = decode::decode_bind_results(o.bytes)) impl_.bound(*r, m_);
          break;
        case decode::kOpDestroySession:
          if (call_ != nullptr && call_->destroyed) impl_.destroyed(*call_->destroyed, m_);
          break;
        default:
          if (held_ != nullptr) of_mount(o);
          break;
      }
      return o.index + 1 < end_;
    }

   private:
    void of_mount(const decode::NfsOperation& o) {
      Mount& mount = held_->mount;
      switch (o.op) {
        case decode::kOpOpen:
          mount.delegations += decode::grants_delegation(o.bytes) ? 1U : 0U;
          break;
        case kOpGetFh: {
          wire::XdrReader in(o.bytes);
          file_ = decode::handle_hash(in.opaque());
          break;
        }
        case decode::kOpSetClientId:
          set_client_id(mount, o);
          break;
        case decode::kOpReclaimComplete:
          mount.reclaim_complete = true;
          break;
        case decode::kOpGetDeviceInfo: {
          Devices devices(mount.layouts);
          (void)decode::decode_device(o.bytes, devices);
          break;
        }
        case decode::kOpLayoutGet:
          granted(mount.layouts, o);
          break;
        case decode::kOpLayoutReturn:
          returned(mount.layouts);
          break;
        default:
          break;
      }
    }

    void set_client_id(Mount& mount, const decode::NfsOperation& o) {
      mount.client_id = decode::decode_set_client_id_results(o.bytes);
      if (call_ == nullptr) return;
      mount.client_owner = call_->owner;
      mount.backchannel.netid = call_->netid;
      mount.backchannel.address = call_->address;
    }

    void refused(std::uint32_t status) {
      Layouts& layouts = held_->mount.layouts;
      ++layouts.refused;
      const char* const name = decode::nfs4_status_name(status);
      layouts.last_refusal = name != nullptr ? name : std::to_string(status);
    }

    void granted(Layouts& layouts, const decode::NfsOperation& o) {
      const auto layout = decode::decode_layout_get_results(o.bytes);
      ++layouts.granted;
      if (!layout) return;
      ++layouts.types[layout->type < layouts.types.size() ? layout->type : 0];
      if (!file_ || !held_->files.add(*file_, layout->return_on_close)) ++layouts.not_followed;
    }

    void returned(Layouts& layouts) {
      ++layouts.returned;
      if (call_ == nullptr || !call_->returned) return;
      if (*call_->returned == decode::Returned::kAll) held_->files.clear();
      if (*call_->returned == decode::Returned::kFile && call_->file) {
        held_->files.remove(*call_->file);
      }
    }

    Impl& impl_;
    const model::Message& m_;
    const Pending* call_;
    Held* held_;
    std::optional<std::uint32_t> file_;
    std::uint32_t end_ = 0;
  };

  Results sink(*this, m, of_call, at);
  decode::visit_result_operations(model::procedure_of(m.rpc), results, lengths, sink);
}

Tracker::Tracker() : impl_(std::make_unique<Impl>()) {}
Tracker::~Tracker() = default;

void Tracker::attach(const session::Context& context) {
  impl_->context = &context;
}

void Tracker::on_message(const model::MessageSeen& event) {
  impl_->message(event.message, event.call);
}

void Tracker::on_identified(const model::Call& call) {
  impl_->message(call.message, &call);
}

void Tracker::on_call_end(const model::CallEnded& event) {
  if (!impl_->pending.empty()) impl_->pending.erase(event.call.message.id);
}

void Tracker::on_merge(const roce::Merge& event) {
  const Link* const from = impl_->links.find(event.from.index);
  if (from == nullptr) return;
  Link moved = *from;
  if (moved.mount != kNone) {
    for (std::uint32_t& owner : impl_->mounts[moved.mount]->slots) {
      if (owner == event.from.index + 1) owner = event.into.index + 1;
    }
  }
  impl_->links.erase(event.from.index);
  if (impl_->links.find(event.into.index) == nullptr) {
    impl_->links[event.into.index] = moved;
  } else if (moved.mount != kNone) {
    impl_->release_credits(moved, impl_->mounts[moved.mount]->mount.last_ns);
  }
}

void Tracker::on_close(const roce::Connection& connection) {
  Link* const link = impl_->links.find(connection.index);
  if (link != nullptr) impl_->free_slots_of(connection.index, *link, connection.last_ns);
}

void Tracker::on_evict(const roce::Connection& connection) {
  on_close(connection);
  impl_->links.erase(connection.index);
}

Mounts Tracker::mounts(std::int64_t last_ns) const {
  Mounts all;
  all.omitted_calls = impl_->omitted_calls;
  all.not_followed = impl_->not_followed;
  for (const std::unique_ptr<Held>& held : impl_->mounts) {
    Mount mount = held->mount;
    mount.slots_full = held->slots_full.until(last_ns);
    mount.credits_full = held->credits_full.until(last_ns);
    if (mount.replies != 0 && !mount.session.empty()) mount.slots_in_use_max = held->in_use_max;
    // Connections that were merged count as one.
    std::vector<MountConnection> connections = std::move(mount.connections);
    mount.connections.clear();
    for (MountConnection& c : connections) {
      c.id = impl_->context->connection_id(c.id);
      Mount one;
      one.connections.push_back(c);
      one.first_frame = mount.first_frame;
      one.first_ns = mount.first_ns;
      add(mount, std::move(one));
    }
    all.list.push_back(std::move(mount));
  }
  find_data_servers(all);
  return all;
}

}  // namespace rpcrdma::mounts
