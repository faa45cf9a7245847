// Arguments and results of the NFSv4 operations that set up and use sessions (RFC 8881 section 18),
// and of NFSv4.0's SETCLIENTID (RFC 7530 section 16.33). Views point into the bytes that were
// decoded. Each function returns nothing if the bytes do not hold the whole value.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <rpcrdma/wire/error.h>

namespace rpcrdma::decode {

// Operation numbers; with kOpCreateSession and kOpBindConnToSession of upper_layer.h.
inline constexpr std::uint32_t kOpOpen = 18;
inline constexpr std::uint32_t kOpPutFh = 22;
inline constexpr std::uint32_t kOpSetClientId = 35;
inline constexpr std::uint32_t kOpExchangeId = 42;
inline constexpr std::uint32_t kOpDestroySession = 44;
inline constexpr std::uint32_t kOpSequence = 53;
inline constexpr std::uint32_t kOpReclaimComplete = 58;
inline constexpr std::uint32_t kOpCbLayoutRecall = 5;
inline constexpr std::uint32_t kOpCbSequence = 11;

using SessionId = std::array<std::uint8_t, 16>;

// csa_flags, csr_flags.
inline constexpr std::uint32_t kSessionBackChannel = 2;

// eia_flags, eir_flags.
inline constexpr std::uint32_t kUsePnfsMds = 0x20000;
inline constexpr std::uint32_t kUsePnfsDs = 0x40000;

// sr_status_flags: those about the backchannel.
inline constexpr std::uint32_t kCbPathDown = 1;
inline constexpr std::uint32_t kCbPathDownSession = 0x200;
inline constexpr std::uint32_t kBackchannelFault = 0x400;
// "SEQ4_STATUS_CB_PATH_DOWN" of the lowest bit of `flag`; nullptr if the bit is not known.
[[nodiscard]] const char* sequence_flag_name(std::uint32_t flag);

// Of CB_SEQUENCE, too.
struct SequenceArguments {
  SessionId session{};
  std::uint32_t sequence = 0;
  std::uint32_t slot = 0;
  std::uint32_t highest_slot = 0;
};

struct SequenceResults {
  SessionId session{};
  std::uint32_t sequence = 0;
  std::uint32_t slot = 0;
  std::uint32_t highest_slot = 0;  // the server accepts no higher one
  std::uint32_t target_highest_slot = 0;
  std::uint32_t status_flags = 0;
};
// SEQUENCE as the first operation: arguments or results of a whole COMPOUND.
[[nodiscard]] std::optional<SequenceArguments> first_sequence(wire::Bytes compound_arguments);
[[nodiscard]] std::optional<SequenceResults> first_sequence_results(wire::Bytes compound_results);
// CB_SEQUENCE as the first operation of a CB_COMPOUND.
[[nodiscard]] std::optional<SequenceArguments> first_callback_sequence(wire::Bytes arguments);

struct ExchangeIdArguments {
  wire::Bytes owner;  // co_ownerid
  std::uint32_t flags = 0;
};
[[nodiscard]] std::optional<ExchangeIdArguments> decode_exchange_id(wire::Bytes arguments);

struct ExchangeIdResults {
  std::uint64_t client_id = 0;
  std::uint32_t flags = 0;
  wire::Bytes server_owner;  // so_major_id
  wire::Bytes server_scope;
};
// `results`: after the status NFS4_OK, as in all functions below.
[[nodiscard]] std::optional<ExchangeIdResults> decode_exchange_id_results(wire::Bytes results);

// channel_attrs4
struct ChannelAttributes {
  std::uint32_t max_request_size = 0;   // bytes
  std::uint32_t max_response_size = 0;  // bytes
  std::uint32_t max_operations = 0;
  std::uint32_t max_requests = 0;  // slots
};

struct CreateSessionArguments {
  std::uint64_t client_id = 0;
  std::uint32_t flags = 0;
  ChannelAttributes fore, back;
};
[[nodiscard]] std::optional<CreateSessionArguments> decode_create_session(wire::Bytes arguments);

struct CreateSessionResults {
  SessionId session{};
  std::uint32_t flags = 0;
  ChannelAttributes fore, back;
};
[[nodiscard]] std::optional<CreateSessionResults> decode_create_session_results(
    wire::Bytes results);

struct BindConnection {
  SessionId session{};
  bool fore = false;
  bool back = false;
};
[[nodiscard]] std::optional<BindConnection> decode_bind_results(wire::Bytes results);

[[nodiscard]] std::optional<SessionId> decode_destroy_session(wire::Bytes arguments);

struct SetClientId {
  wire::Bytes owner;
  wire::Bytes netid, address;  // of the callbacks
};
[[nodiscard]] std::optional<SetClientId> decode_set_client_id(wire::Bytes arguments);
[[nodiscard]] std::optional<std::uint64_t> decode_set_client_id_results(wire::Bytes results);

// Whether OPEN granted a delegation.
[[nodiscard]] bool grants_delegation(wire::Bytes open_results);

}  // namespace rpcrdma::decode
