#include <algorithm>
#include <bit>

#include <rpcrdma/decode/nfs_sessions.h>
#include <rpcrdma/wire/xdr.h>

namespace rpcrdma::decode {
namespace {

using wire::XdrReader;

constexpr std::uint32_t kMaxOwner = 1024;  // NFS4_OPAQUE_LIMIT
constexpr std::uint32_t kMaxBitmap = 64;   // words

void session_id(XdrReader& in, SessionId& to) {
  const wire::Bytes bytes = in.opaque_fixed(to.size());
  if (in.ok()) std::copy(bytes.begin(), bytes.end(), to.begin());
}

ChannelAttributes channel(XdrReader& in) {
  ChannelAttributes c;
  in.skip(4);  // ca_headerpadsize
  c.max_request_size = in.u32();
  c.max_response_size = in.u32();
  in.skip(4);  // ca_maxresponsesize_cached
  c.max_operations = in.u32();
  c.max_requests = in.u32();
  in.skip(4 * std::uint64_t{in.u32()});  // ca_rdma_ird
  return c;
}

template <typename T>
std::optional<T> whole(const XdrReader& in, const T& value) {
  return in.ok() ? std::optional(value) : std::nullopt;
}

void skip_bitmap(XdrReader& in) {
  const std::uint32_t words = in.u32();
  if (words > kMaxBitmap) return in.set_failed();
  in.skip(4 * std::uint64_t{words});
}

// state_protect4_r
void skip_protection(XdrReader& in) {
  const std::uint32_t how = in.u32();
  if (how > 2) return in.set_failed();
  if (how == 0) return;
  skip_bitmap(in);
  skip_bitmap(in);
  if (how == 1) return;
  in.skip(16);  // lengths and windows
  const std::uint32_t handles = in.u32();
  for (std::uint32_t i = 0; i < handles && in.ok(); ++i) (void)in.opaque();
}

SequenceArguments sequence(XdrReader& in) {
  SequenceArguments s;
  session_id(in, s.session);
  s.sequence = in.u32();
  s.slot = in.u32();
  s.highest_slot = in.u32();
  return s;
}

SequenceResults sequence_results(XdrReader& in) {
  SequenceResults s;
  session_id(in, s.session);
  s.sequence = in.u32();
  s.slot = in.u32();
  s.highest_slot = in.u32();
  s.target_highest_slot = in.u32();
  s.status_flags = in.u32();
  return s;
}

}  // namespace

const char* sequence_flag_name(std::uint32_t flag) {
  static constexpr std::array<const char*, 14> kNames = {"SEQ4_STATUS_CB_PATH_DOWN",
                                                         "SEQ4_STATUS_CB_GSS_CONTEXTS_EXPIRING",
                                                         "SEQ4_STATUS_CB_GSS_CONTEXTS_EXPIRED",
                                                         "SEQ4_STATUS_EXPIRED_ALL_STATE_REVOKED",
                                                         "SEQ4_STATUS_EXPIRED_SOME_STATE_REVOKED",
                                                         "SEQ4_STATUS_ADMIN_STATE_REVOKED",
                                                         "SEQ4_STATUS_RECALLABLE_STATE_REVOKED",
                                                         "SEQ4_STATUS_LEASE_MOVED",
                                                         "SEQ4_STATUS_RESTART_RECLAIM_NEEDED",
                                                         "SEQ4_STATUS_CB_PATH_DOWN_SESSION",
                                                         "SEQ4_STATUS_BACKCHANNEL_FAULT",
                                                         "SEQ4_STATUS_DEVID_CHANGED",
                                                         "SEQ4_STATUS_DEVID_DELETED",
                                                         nullptr};
  const auto bit = static_cast<std::size_t>(std::countr_zero(flag));
  return bit < kNames.size() ? kNames[bit] : nullptr;
}

std::optional<SequenceArguments> first_sequence(wire::Bytes compound_arguments) {
  XdrReader in(compound_arguments);
  (void)in.opaque();  // tag
  in.skip(8);         // minorversion, count of operations
  if (in.u32() != kOpSequence) return std::nullopt;
  const SequenceArguments s = sequence(in);
  return whole(in, s);
}

std::optional<SequenceResults> first_sequence_results(wire::Bytes compound_results) {
  XdrReader in(compound_results);
  in.skip(4);         // status
  (void)in.opaque();  // tag
  in.skip(4);         // count of operations
  if (in.u32() != kOpSequence || in.u32() != 0) return std::nullopt;
  const SequenceResults s = sequence_results(in);
  return whole(in, s);
}

std::optional<SequenceArguments> first_callback_sequence(wire::Bytes arguments) {
  XdrReader in(arguments);
  (void)in.opaque();  // tag
  in.skip(12);        // minorversion, callback_ident, count of operations
  if (in.u32() != kOpCbSequence) return std::nullopt;
  const SequenceArguments s = sequence(in);
  return whole(in, s);
}

std::optional<ExchangeIdArguments> decode_exchange_id(wire::Bytes arguments) {
  XdrReader in(arguments);
  ExchangeIdArguments e;
  in.skip(8);  // co_verifier
  e.owner = in.opaque(kMaxOwner);
  e.flags = in.u32();
  return whole(in, e);
}

std::optional<ExchangeIdResults> decode_exchange_id_results(wire::Bytes results) {
  XdrReader in(results);
  ExchangeIdResults e;
  e.client_id = in.u64();
  in.skip(4);  // eir_sequenceid
  e.flags = in.u32();
  skip_protection(in);
  in.skip(8);  // so_minor_id
  e.server_owner = in.opaque(kMaxOwner);
  e.server_scope = in.opaque(kMaxOwner);
  return whole(in, e);
}

std::optional<CreateSessionArguments> decode_create_session(wire::Bytes arguments) {
  XdrReader in(arguments);
  CreateSessionArguments c;
  c.client_id = in.u64();
  in.skip(4);  // csa_sequence
  c.flags = in.u32();
  c.fore = channel(in);
  c.back = channel(in);
  return whole(in, c);
}

std::optional<CreateSessionResults> decode_create_session_results(wire::Bytes results) {
  XdrReader in(results);
  CreateSessionResults c;
  session_id(in, c.session);
  in.skip(4);  // csr_sequence
  c.flags = in.u32();
  c.fore = channel(in);
  c.back = channel(in);
  return whole(in, c);
}

std::optional<BindConnection> decode_bind_results(wire::Bytes results) {
  XdrReader in(results);
  BindConnection b;
  session_id(in, b.session);
  const std::uint32_t direction = in.u32();  // channel_dir_from_server4
  b.fore = (direction & 1) != 0;
  b.back = (direction & 2) != 0;
  return whole(in, b);
}

std::optional<SessionId> decode_destroy_session(wire::Bytes arguments) {
  XdrReader in(arguments);
  SessionId id{};
  session_id(in, id);
  return whole(in, id);
}

std::optional<SetClientId> decode_set_client_id(wire::Bytes arguments) {
  XdrReader in(arguments);
  SetClientId s;
  in.skip(8);  // verifier
  s.owner = in.opaque(kMaxOwner);
  in.skip(4);  // cb_program
  s.netid = in.opaque(kMaxOwner);
  s.address = in.opaque(kMaxOwner);
  return whole(in, s);
}

std::optional<std::uint64_t> decode_set_client_id_results(wire::Bytes results) {
  XdrReader in(results);
  const std::uint64_t id = in.u64();
  return whole(in, id);
}

bool grants_delegation(wire::Bytes open_results) {
  constexpr std::size_t kBefore = 16 + 20 + 4;  // stateid, change_info4, rflags
  constexpr std::uint32_t kNoneExt = 3;         // OPEN_DELEGATE_NONE_EXT
  XdrReader in(open_results);
  in.skip(kBefore);
  skip_bitmap(in);  // attrset
  const std::uint32_t type = in.u32();
  return in.ok() && type != 0 && type != kNoneExt;
}

}  // namespace rpcrdma::decode
