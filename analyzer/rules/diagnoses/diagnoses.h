// Diagnoses beyond the rules of specifications: what caused delays, what broke connections, what
// wastes resources. There is one state for each open connection, freed when it closes; most
// findings are added then.
#pragma once

#include "first_calls.h"
#include "lately.h"
#include "stalls.h"

#include <array>
#include <deque>
#include <memory>

#include <tsl/robin_map.h>

#include <rpcrdma/rules/capture_quality.h>
#include <rpcrdma/rules/findings.h>
#include <rpcrdma/rules/sent_again.h>
#include <rpcrdma/rules/silence.h>

namespace rpcrdma::rules {

struct ConnectionHistory;
class History;

// Returns whether the set-up is for the port of NFS/RDMA (RFC 8267 section 9).
[[nodiscard]] bool asks_for_nfs(const roce::Connection& connection);

class Diagnoses {
 public:
  Diagnoses(Findings& findings, const roce::Connections& connections, const model::Model& model);
  ~Diagnoses();
  Diagnoses(const Diagnoses&) = delete;
  Diagnoses& operator=(const Diagnoses&) = delete;

  // `call`: the Call that the message is or answers. Returns whether it is, by its XID, a Call of
  // an earlier connection.
  bool message(const model::Message& m, const model::Call* call, const roce::Connection& on,
               const model::ConnectionModel& as);
  // `one_way`: it may have no answer by agreement of its program.
  void call_end(const model::Call& call, const model::Message* answer, bool one_way,
                const roce::Connection& on, const model::ConnectionModel& as);
  void refusal(const roce::Connection& connection, int sender, const wire::Aeth& aeth,
               std::uint32_t psn, const roce::PacketMeta& meta);
  void retransmission(const roce::Connection& connection, int sender, std::uint32_t psn,
                      std::int64_t idle_ns, bool begins, const roce::PacketMeta& meta);
  // An endpoint reported retransmissions; the packets themselves are not captured.
  void reported_again(const roce::Connection& connection, int sender, std::uint64_t count,
                      const roce::PacketMeta& meta);
  // An RDMA operation begins or ends.
  void worked(const roce::Connection& connection, const roce::Operation& op, bool ends);
  // See model::Observer::on_time().
  void time(std::int64_t now_ns, History& histories);
  // Two directions turned out to be one connection: the state of each is incomplete.
  void merge(const roce::Connection& into, const roce::Connection& from);
  // `history`: the state of the checks; null: none. Returns whether the connection is kept for
  // later ones to follow.
  bool close(const roce::Connection& connection, const ConnectionHistory* history);
  // Called when all connections are closed.
  void finish();
  void congestion(const roce::CongestionSignal& event);
  void pause(const model::PauseSeen& event);
  [[nodiscard]] const CaptureGaps& capture_gaps() const { return capture_gaps_; }
  [[nodiscard]] FirstCalls& first_calls() { return first_calls_; }
  // After finish(). Without lost Calls.
  [[nodiscard]] Handover handover() const;
  // After finish(): the longest silences, the longest first.
  [[nodiscard]] const std::vector<Silence>& silences() const { return silences_; }

 private:
  struct OfConnection;
  OfConnection& at(std::uint32_t index);
  void judge_stalls(OfConnection& c, const roce::Connection& connection, std::int64_t now_ns,
                    Stalls::State state);
  void end_silence(OfConnection& c, const roce::Connection& connection, std::size_t caller,
                   std::int64_t now_ns);
  [[nodiscard]] Lately::Knowledge knowledge(const OfConnection& c,
                                            const roce::Connection& connection,
                                            const ConnectionHistory* history);
  std::int64_t report_faults(OfConnection& c, const roce::Connection& connection,
                             const ConnectionHistory* history);
  void report_latency(OfConnection& c, const roce::Connection& connection,
                      const ConnectionHistory* history, std::int64_t stalled);
  void report_unanswered(const roce::Connection& connection);
  void keep_silences(const OfConnection& c, const roce::Connection& connection);
  void report_cut_off(const OfConnection& c, const roce::Connection& connection,
                      const ConnectionHistory& history);

  Findings& findings_;
  const roce::Connections& all_;
  const model::Model& model_;
  tsl::robin_map<std::uint32_t, std::unique_ptr<OfConnection>> connections_;
  std::uint32_t latest_index_ = UINT32_MAX;
  OfConnection* latest_ = nullptr;
  CaptureGaps capture_gaps_;
  capture::PauseFrames pauses_;
  bool paused_ = false;           // a pause frame was seen
  CaptureGaps::Gap set_up_only_;  // connections of which only the set-up was seen
  std::deque<std::shared_ptr<const Departed>> departed_;
  std::size_t departed_ever_ = 0;
  FirstCalls first_calls_;
  std::vector<Silence> silences_;  // at most kSilences
};

}  // namespace rpcrdma::rules
