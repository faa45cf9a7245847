// The coordinator's end of one agent: the process that runs it, such as an ssh client, and frames
// over its standard input and output. Nothing here waits.
#pragma once

#include "line_cutter.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include <rpcrdma/base/child_process.h>
#include <rpcrdma/load_agents/frame.h>

namespace rpcrdma::load_agents {

class Channel {
 public:
  // Error: the program cannot be started.
  [[nodiscard]] static base::Expected<Channel> start(const std::vector<std::string>& words);

  // Appends what poll() has to wait for; `polled` has the same order in exchange().
  void add_to(std::vector<pollfd>& polled) const;
  // Reads and writes what is possible now. Returns whether output has arrived.
  bool exchange();

  // Sends a frame when there is room. After the end of the agent nobody receives it.
  void send(FrameType type, Bytes body);
  // The next frame that has arrived. Error: the other end is no agent.
  [[nodiscard]] base::Expected<std::optional<Frame>> next() { return reader_.next(); }

  // The output of the agent has ended: with the process, or before.
  [[nodiscard]] bool output_ended() const { return child_.output.get() < 0; }
  // The agent sees the end of its input when all frames are sent, and nobody reads its output.
  void close();
  // The status of waitpid(); nothing: the process runs.
  [[nodiscard]] std::optional<int> ended() { return child_.ended(); }
  void signal(int number) const { child_.signal(number); }

  // What it printed before the first frame, and whether there was one.
  [[nodiscard]] const std::string& banner() const { return reader_.banner(); }
  [[nodiscard]] bool is_agent() const { return reader_.begun(); }
  [[nodiscard]] LineCutter& errors() { return errors_; }

 private:
  explicit Channel(base::ChildProcess child)
      : child_(std::move(child)), reader_(kMostBannerBytes) {}
  void write_some();
  bool read_output();
  void read_errors();

  base::ChildProcess child_;
  FrameReader reader_;
  LineCutter errors_;
  std::vector<std::uint8_t> unsent_;
  bool closed_ = false;
};

}  // namespace rpcrdma::load_agents
