// The endpoints of this host, as an agent follows them: finds new ones, reads their events as
// `rpcrdma top` does, and keeps those that have ended for a while.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>

#include <rpcrdma/agent/agent.h>
#include <rpcrdma/capture/live_stream.h>
#include <rpcrdma/fleet/summary.h>
#include <rpcrdma/live/endpoints.h>
#include <rpcrdma/top/gather.h>

namespace rpcrdma::agent {

// An endpoint whose events are read, or were.
class Followed {
 public:
  Followed(const trace::RunningEndpoint& found, base::FileDescriptor fd, std::uint64_t generation,
           rules::Profile profile);

  [[nodiscard]] int fd() const { return stream_.fd(); }
  // Reads what has come, if `ready`.
  void read(bool ready);
  void tick(std::int64_t now_ns) { gather_->tick(now_ns); }
  // Whether it ended so long ago that it need not be reported any more.
  [[nodiscard]] bool is_over(std::int64_t now_ns) const;

  [[nodiscard]] const std::string& path() const { return found_.path; }
  void forget_path() { found_.path.clear(); }
  [[nodiscard]] const trace::RunningEndpoint& found() const { return found_; }
  [[nodiscard]] const top::Gather& gather() const { return *gather_; }
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] const std::string& name() const { return gather_->endpoint(0).name; }
  [[nodiscard]] std::uint32_t process() const;
  // Without its recordings.
  [[nodiscard]] fleet::EndpointSummary summary() const;

 private:
  trace::RunningEndpoint found_;
  std::uint64_t generation_;
  capture::LiveStream stream_;
  std::unique_ptr<top::Gather> gather_;
  std::int64_t ended_ns_ = -1;  // monotonic
};

class Endpoints {
 public:
  Endpoints(rules::Profile profile, LogLine log) : profile_(profile), log_(std::move(log)) {}

  // Adds endpoints that have appeared, and drops those that have long ended; each a quarter of a
  // second.
  void look(std::int64_t now_ns);
  void add_to(std::vector<pollfd>& fds) const;
  // `fds`: those of add_to(), after poll().
  void read(const pollfd* fds);
  void tick(std::int64_t now_ns);

  [[nodiscard]] const std::vector<std::unique_ptr<Followed>>& all() const { return all_; }
  // Endpoints that run now and cannot be read.
  [[nodiscard]] std::uint64_t unread() const { return unread_.size() + beyond_; }
  // Returns the running endpoint with this name or process ID; any, if `which` is empty and there
  // is only one. Error: one clause.
  [[nodiscard]] base::Expected<const Followed*> find(const std::string& which) const;

 private:
  struct Unread {
    std::int64_t retry_ns = 0;
    std::string why;
  };
  void connect(const trace::RunningEndpoint& found, std::int64_t deadline_ns);

  rules::Profile profile_;
  LogLine log_;
  std::vector<std::unique_ptr<Followed>> all_;
  std::map<std::string, Unread> unread_;  // by path
  std::size_t beyond_ = 0;                // more than can be followed
  std::uint64_t generations_ = 0;
  std::int64_t look_at_ = 0;
  std::string search_error_;
};

}  // namespace rpcrdma::agent
