// The implementation of a Session: observes the analyzer and writes notes.
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
  void on_reply_read(const model::ReplyRead& event) override;
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

  // Returns the note of a frame, and creates it if needed. For the newest frame, it is the note of
  // the current packet; for others, of their first packet.
  FrameAnnotation& note(std::uint64_t frame);
  FrameAnnotation& note_of_packet(std::uint64_t frame, std::uint32_t packet);
  FrameAnnotation& note(std::uint64_t frame, const roce::Connection& connection);
  // In a recording: marks the note as reported by `side` of the connection.
  void reported_by(FrameAnnotation& note, const roce::Connection& connection, std::size_t side);
  MessageNote& message(std::uint64_t id);
  // Writes the conclusions about `m`, in place of earlier ones.
  void conclude(MessageNote& note, const model::Message& m, const model::Call* call);
  void write(FieldLog& field_log, const filter::Inputs& in, const filter::FieldSet& fields);
  // Called when no more of the Call's RPC message can arrive: attaches it to the current frame.
  void call_is_here(const model::Call& call);
  // `call`: null if it is not known.
  void reply_is_here(const model::Message& reply, const model::Call* call);
  // Returns the RPC message in the Send of `m`: all of it, or the part in front of the first chunk
  // or padding.
  [[nodiscard]] static RpcNote inline_rpc(const model::Message& m);
  [[nodiscard]] static RpcNote front_of_inline_rpc(const model::Message& m);
  void place(const model::Message& m, RpcNote rpc);
  void attach(Ref message, std::uint64_t frame, RpcNote rpc);
  [[nodiscard]] bool is_being_read(Ref call) const;
  [[nodiscard]] std::uint32_t conversation(const model::Message& m) const;
  [[nodiscard]] const RpcNote* hold_rpc(std::span<const std::uint8_t> address, std::uint32_t qpn,
                                        std::span<const std::uint8_t> send);

  // Frees the RPC messages of the previous frame, if frames are not shown again.
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
  mutable std::vector<ConnectionRow> rows;  // by ID - 1; a connection with ID 0 has no row yet
  std::unordered_map<std::uint32_t, std::array<capture::Address, 2>> ends;  // by ID
  // Addresses and QPNs that messages were sent to, as keys to look up for any packet.
  struct Receiver {
    std::uint32_t connection = 0;  // index
    std::uint8_t side = 0;
  };
  std::unordered_map<std::string, Receiver> receivers;
  [[nodiscard]] static std::string receiver(std::span<const std::uint8_t> address,
                                            std::uint32_t qpn);
  // RPC messages that are or were held back: by frame.
  std::unordered_map<std::uint64_t, RpcNote> held_rpcs;
  // RPC messages of Calls that were answered while their Read chunks were being read: by message.
  std::unordered_map<Ref, RpcNote> late_calls;
  // Operations in flight, by connection, initiator and first PSN.
  std::unordered_map<std::uint64_t, Ref> open_operations;

  FieldLog draft;  // the log of a note that is being written

  std::uint64_t newest = 0;         // the current frame
  std::uint32_t newest_packet = 0;  // the current packet of it
  std::uint64_t newest_other = 0;   // the last frame without RDMA
  std::int64_t newest_other_ns = 0;
  bool finished = false;
  const char* failure = nullptr;
};

}  // namespace rpcrdma::annotations
