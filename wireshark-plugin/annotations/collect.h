// The inside of a Session: hears what the analyzer says and writes it down.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include <rpcrdma/annotations/session.h>
#include <rpcrdma/filter/model_fields.h>
#include <rpcrdma/report/context.h>
#include <rpcrdma/session/session.h>

namespace rpcrdma::annotations {

struct Session::Impl final : model::Observer, trace_reader::Observer {
  explicit Impl(const Options& options);

  // model::Observer
  void on_message(const model::MessageSeen& event) override;
  void on_identified(const model::Call& call) override;
  void on_call_end(const model::CallEnded& event) override;
  void on_cm(const roce::CmMessage& event) override;
  void on_evict(const roce::Connection& connection) override;
  void on_refusal(const roce::Acknowledgement& event) override;
  void on_sent_again(const roce::RepeatedRequest& event) override;
  void on_operation(const model::OperationSeen& event) override;
  void on_operation_data(const model::OperationProgress& event) override;
  void on_operation_end(const model::OperationSeen& event) override;
  // trace_reader::Observer
  void on_event(const trace_reader::Event& event) override;

  void on_finding(const rules::Occurrence& o);
  void sum_up(const rules::Occurrence& o);

  [[nodiscard]] const ConnectionRow* row(std::uint32_t id) const;
  [[nodiscard]] bool speaks_rpc(std::uint32_t index) const;

  void take(const capture::Frame& frame) noexcept;

  // The note of a frame, made if it is not there: of the newest one, that of the packet that is
  // being looked at; of others, that of their first packet.
  FrameAnnotation& note(std::uint64_t frame);
  FrameAnnotation& note_of_packet(std::uint64_t frame, std::uint32_t packet);
  FrameAnnotation& note(std::uint64_t frame, const roce::Connection& connection);
  // `side` of the connection tells of itself, in a recording.
  void reported_by(FrameAnnotation& note, const roce::Connection& connection, std::size_t side);
  MessageNote& message(std::uint64_t id);
  // Writes down what is concluded of `m`, over what was there.
  void conclude(MessageNote& note, const model::Message& m, const model::Call* call);
  void write(FieldLog& field_log, const filter::Inputs& in, const filter::FieldSet& fields);
  // Its RPC message is known as far as it ever will be: goes to the frame that is being looked at.
  void call_is_here(const model::Call& call);
  // `call`: null where it is not known.
  void reply_is_here(const model::Message& reply, const model::Call* call);
  void option_is_here(const model::Message& option);
  // The RPC message in the Send of `m`: all of it, or as much as is as it was before chunks or
  // padding changed it.
  [[nodiscard]] static RpcNote inline_rpc(const model::Message& m);
  [[nodiscard]] static RpcNote front_of_inline_rpc(const model::Message& m);
  void place(const model::Message& m, RpcNote rpc);
  void attach(Ref message, std::uint64_t frame, RpcNote rpc);
  [[nodiscard]] bool is_being_read(Ref call) const;
  [[nodiscard]] std::uint32_t conversation(const model::Message& m) const;
  [[nodiscard]] const RpcNote* hold_rpc(std::span<const std::uint8_t> address, std::uint32_t qpn,
                                        std::span<const std::uint8_t> send);

  // Those of the frame before, where nobody looks at frames again.
  void forget_rpcs();

  Use use = Use::kAgain;
  std::size_t first_kept_rpc = 0;
  bool (*is_dissected)(std::uint32_t);
  session::Session session;
  const report::Context& context;

  std::vector<std::uint32_t> frame_refs;  // by frame number
  std::deque<FrameAnnotation> frames;
  std::deque<MessageNote> messages;  // by the model's ID
  std::deque<OperationNote> operations;
  std::deque<RpcNote> rpcs;
  std::deque<FindingNote> findings;
  std::deque<EventNote> events;
  mutable std::vector<ConnectionRow> rows;  // by ID - 1; ID 0: it has none yet
  std::unordered_map<std::uint32_t, std::array<capture::Address, 2>> ends;  // by ID
  // Addresses and QPNs to which messages were sent: as keys, to be found for any packet.
  struct Receiver {
    std::uint32_t connection = 0;  // index
    std::uint8_t side = 0;
  };
  std::unordered_map<std::string, Receiver> receivers;
  [[nodiscard]] static std::string receiver(std::span<const std::uint8_t> address,
                                            std::uint32_t qpn);
  // Of messages that are held back, or were: by frame.
  std::unordered_map<std::uint64_t, RpcNote> held_rpcs;
  // Of Calls that were answered while their Read chunks were being read: by message.
  std::unordered_map<Ref, RpcNote> late_calls;
  // Those under way, by connection, initiator and first PSN.
  std::unordered_map<std::uint64_t, Ref> open_operations;

  FieldLog draft;  // of one that is being written

  std::uint64_t newest = 0;         // the frame that is being looked at
  std::uint32_t newest_packet = 0;  // and which of its packets
  std::uint64_t newest_other = 0;   // the last frame without RDMA
  std::int64_t newest_other_ns = 0;
  bool finished = false;
  const char* failure = nullptr;
};

}  // namespace rpcrdma::annotations
