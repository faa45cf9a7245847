// Recognizes that several sources show the same connection: the recordings of both its ends, or a
// recording and the packets of the same run. One of these views goes to the model, so each Call is
// counted once; the others are compared with it. See views.cc for how views are recognized.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rpcrdma/capture/source.h>
#include <rpcrdma/roce/by_connection.h>
#include <rpcrdma/roce/listener.h>
#include <rpcrdma/session/view_match.h>

namespace rpcrdma::session {

// Another view of a connection, compared with the one that the report follows.
struct View {
  roce::Origin origin = roce::Origin::kPackets;
  int recorder = -1;          // side of the connection whose endpoint recorded it; -1: packets
  std::string file;           // empty: unknown
  std::int64_t shift_ns = 0;  // how much was added to its times to align them with the other files
  std::uint64_t missing = 0;  // events or packets that this view is known to miss
  std::array<ViewCounts, 2> counts;  // by the sender's side
  std::vector<ViewDifference> differences;
  RoundTrips round_trips;
  std::optional<ClockOffset> offset;
};

// The same with the other numbering of the sides.
[[nodiscard]] View swapped_view(View view);

class Views final : public roce::Listener {
 public:
  // `to` must outlive it.
  explicit Views(roce::Listener& to);
  ~Views() override;
  Views(const Views&) = delete;
  Views& operator=(const Views&) = delete;

  // Several files will be read: views are expected from the start.
  void expect(std::span<const capture::MergedFile> files);
  // The file of the next events.
  void from(std::uint32_t file) { file_ = file; }

  // The other views of a connection that the report follows. Call finish() before.
  [[nodiscard]] std::vector<View> of(std::uint32_t connection) const;
  // The file that shows the connection; empty: unknown.
  [[nodiscard]] std::string file_of(std::uint32_t connection) const;
  // The files that show a connection which the report follows: first the one that it follows.
  [[nodiscard]] std::vector<std::uint32_t> files_of(std::uint32_t connection) const;
  // No more will come from this file. Other views do not wait for the connections that it shows.
  void source_ended(std::uint32_t file);
  // The connection is another view of one that the report follows.
  [[nodiscard]] bool is_other_view(std::uint32_t connection) const;
  // Messages that were not counted, since another view shows them.
  [[nodiscard]] std::uint64_t messages_of_other_views() const { return suppressed_; }
  void finish();

  void on_cm(const roce::CmMessage& event) override;
  void on_mpa(const roce::MpaMessage& event) override;
  void on_open(const roce::Connection& connection) override;
  void on_merge(const roce::Merge& event) override;
  void on_close(const roce::Connection& connection) override;
  void on_evict(const roce::Connection& connection) override;
  void on_send(const roce::Connection& connection, const roce::SendMessage& message) override;
  void on_call_recorded(const roce::IdentifiedCall& event) override;
  void on_operation(const roce::Connection& connection, roce::Operation& op) override;
  void on_data(const roce::OperationData& event) override;
  void on_operation_end(const roce::Connection& connection, const roce::Operation& op) override;
  void on_acknowledge(const roce::Acknowledgement& event) override;
  void on_retransmission(const roce::Retransmission& event) override;
  void on_sent_again(const roce::RepeatedRequest& event) override;
  void on_congestion(const roce::CongestionSignal& event) override;
  [[nodiscard]] bool answers(const roce::Connection& connection,
                             std::span<const std::uint8_t> first, std::uint32_t handle) override;
  [[nodiscard]] bool had_early_operations(const roce::Connection& connection) override;
  [[nodiscard]] roce::SeenAs seen_as(const roce::Connection& connection) const override;

 private:
  struct Member;
  struct Group;
  using Addresses = std::pair<capture::Address, capture::Address>;  // the lower one first

  [[nodiscard]] Member* find(std::uint32_t index) const;
  void note_source(const roce::Connection& c);
  static bool compatible(const Member& m, const Group& g, bool& flip, bool& qpn);
  static bool is_vacant(const Member& m, const Group& g);
  [[nodiscard]] bool is_same_run(const Member& m, const Group& g) const;
  Group* find_group(const Member& m, const ViewedMessage* first, std::size_t sender, bool& flip,
                    bool& possible);
  static Addresses key_of(const roce::Connection& c);
  static void add_to(Member& m, Group& g, bool flip);
  static void note_qpns(const Member& m);
  void own_group(Member& m);
  void leave(Member& m);
  void leave_for_good(Member& m);
  void join(Member& m, Group& g, bool flip);
  void compare(Member& m);
  void follow(Member& m);
  void follow_best(Group& g);
  void give_up(Member& m);
  void decide(Member& m, const roce::SendMessage* send);
  [[nodiscard]] bool followed(const roce::Connection& c, const roce::SendMessage* send = nullptr);
  static void show(Member& m, std::size_t side, const ViewedMessage& seen);
  void unite(Member& into, Member& from);
  static void finish_match(Member& m);
  [[nodiscard]] std::string file_name(std::uint32_t file) const;
  [[nodiscard]] View view(const Member& m) const;

  roce::Listener& to_;
  std::vector<capture::MergedFile> files_;
  bool active_ = false;  // more than one source is known or expected
  bool any_source_ = false;
  const void* source_ = nullptr;  // of the first connection
  std::uint32_t file_ = 0;
  std::uint64_t suppressed_ = 0;
  ViewBudget budget_;
  roce::ByConnection<std::unique_ptr<Member>> members_;
  std::map<Addresses, std::list<Group>> groups_;  // the newest last
};

}  // namespace rpcrdma::session
