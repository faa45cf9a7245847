#include "load/ssh/agent.h"

#include "commands.h"
#include "load/options.h"
#include "load/own_address.h"
#include "load/round_run.h"
#include "load/server_child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <rpcrdma/base/clock.h>
#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/command_line/parse.h>
#include <rpcrdma/load_agents/frame.h>
#include <rpcrdma/load_agents/messages.h>
#include <rpcrdma/load_ranks/results.h>
#include <rpcrdma/load_ranks/tick.h>
#include <rpcrdma/version/version.h>

namespace rpcrdma::cli {
namespace {

using load_agents::Bytes;
using load_agents::FrameType;

// Between two looks at the load, which runs in a thread of its own.
constexpr int kTurnMs = 10;
// For all work of this process, after its input has ended.
constexpr unsigned kPatienceSeconds = 5;
// Distance of the seeds of two ranks: those of a rank's threads lie in between.
constexpr std::uint64_t kSeedStep = 0x9e3779b97f4a7c15U;

// The third word of SSH_CONNECTION: the address at which the client reached this machine.
std::string ssh_address() {
  const char* const variable = std::getenv("SSH_CONNECTION");
  if (variable == nullptr) return {};
  std::string_view rest = variable;
  for (int word = 0; word < 2; ++word) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return {};
    rest.remove_prefix(space + 1);
  }
  return std::string(rest.substr(0, rest.find(' ')));
}

class LoadAgent {
 public:
  explicit LoadAgent(base::FileDescriptor output) : output_(std::move(output)) {}

  int run() {
    send(FrameType::kHello,
         load_agents::Hello{load_agents::kProtocol, std::string(version::text()), ssh_address()}
             .encode());
    while (!over_) {
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (::poll(&input, 1, kTurnMs) > 0) read_input();
      look_at_server();
      look_at_round();
    }
    // Whatever hangs now does not keep this process.
    ::alarm(kPatienceSeconds);
    round_.reset();
    server_.reset();
    return failed_ ? kUnreadable : kOk;
  }

 private:
  void send(FrameType type, Bytes body = {}) {
    std::vector<std::uint8_t> bytes;
    load_agents::append_frame(bytes, type, body);
    for (std::span<const std::uint8_t> rest = bytes; !rest.empty() && !over_;) {
      const ssize_t n = ::write(output_.get(), rest.data(), rest.size());
      if (n > 0) {
        rest = rest.subspan(static_cast<std::size_t>(n));
      } else if (n < 0 && errno != EINTR) {
        over_ = true;  // the coordinator has gone
      }
    }
  }

  void refuse(std::string why) {
    if (over_) return;
    send(FrameType::kRefusal, load_agents::Refusal{std::move(why)}.encode());
    failed_ = true;
    over_ = true;
  }

  void read_input() {
    std::array<std::uint8_t, 4096> buffer;
    const ssize_t n = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
      over_ = true;
      return;
    }
    reader_.append(Bytes(buffer).first(static_cast<std::size_t>(n)));
    while (!over_) {
      const auto frame = reader_.next();
      if (!frame) return refuse(frame.error().message);
      if (!*frame) return;
      handle((*frame)->type, (*frame)->body);
    }
  }

  void handle(FrameType type, Bytes body) {
    switch (type) {
      case FrameType::kPing:
        if (const auto ping = load_agents::Ping::decode(body)) {
          return send(FrameType::kPong,
                      load_agents::Pong{ping->number, base::monotonic_ns()}.encode());
        }
        break;
      case FrameType::kLocate:
        if (const auto locate = load_agents::Locate::decode(body)) {
          const auto address = own_address(locate->network);
          if (!address) return refuse(address.error());
          return send(FrameType::kLocated, load_agents::Located{*address}.encode());
        }
        break;
      case FrameType::kOptions:
        if (const auto options = load_agents::Options::decode(body); options && !ready_) {
          return prepare(*options);
        }
        break;
      case FrameType::kConnect:
        if (auto connect = load_agents::Connect::decode(body); connect && ready_ && !round_) {
          round_.emplace(options_, connect->servers);
          connect_ = std::move(*connect);
          connected_ = false;
          return;
        }
        break;
      case FrameType::kStart:
        if (const auto start = load_agents::Start::decode(body); start && connected_) {
          return begin(*start);
        }
        break;
      case FrameType::kStop:
        if (round_) round_->stop();
        return;
      default:
        break;
    }
    refuse(
        fmt::format("a message of type {} from the coordinator is malformed, or came at the "
                    "wrong time",
                    static_cast<std::uint32_t>(type)));
  }

  void prepare(const load_agents::Options& message) {
    command_line::Command program("rpcrdma", "");
    command_line::Command& load = program.command("load", "");
    add_load_hosts(load, options_, false);
    add_load_options(load, options_);
    std::vector<std::string> words{"rpcrdma", "load"};
    words.insert(words.end(), message.words.begin(), message.words.end());
    const command_line::Parsed parsed = command_line::parse(program, words);
    if (parsed.outcome != command_line::Parsed::Outcome::kRun) return refuse(parsed.text);
    options_.seed += message.rank * kSeedStep;
    rank_ = message.rank;
    name_ = message.name;
    if (message.serve.empty()) {
      become_ready();
    } else {
      serve(message.serve);
    }
  }

  void serve(const std::vector<std::string>& options) {
    auto server = ServerChild::start(options);
    if (server) {
      server_.emplace(std::move(*server));
    } else {
      refuse(server.error());
    }
  }

  void become_ready() {
    ready_ = true;
    send(FrameType::kReady);
  }

  void look_at_server() {
    if (!server_ || over_) return;
    const auto listens = server_->poll();
    if (listens && !*listens) return refuse(listens->error());
    if (listens && !ready_) become_ready();
  }

  void begin(const load_agents::Start& start) {
    LoadRole role;
    role.rank = rank_;
    role.round = connect_.round;
    role.host = name_;
    role.offset = load_ranks::ClockOffset{connect_.clock_offset, connect_.clock_error};
    role.since_first = start.since_first;
    round_->start(start.at, role);
  }

  void look_at_round() {
    if (!round_ || over_) return;
    if (!connected_) {
      const auto connected = round_->connected();
      if (!connected) return;
      if (!*connected) return refuse(connected->error());
      connected_ = true;
      send(FrameType::kConnected);
    }
    // Asked for first: its ticks come before it.
    const auto result = round_->take_result();
    while (const auto tick = round_->take_tick()) {
      send(FrameType::kInterval, load_ranks::encode(*tick));
    }
    if (!result) return;
    const std::vector<std::uint8_t> bytes = load_ranks::encode(*result);
    if (bytes.size() > load_agents::most_body_bytes(FrameType::kResult)) {
      return refuse("its result is too long");
    }
    send(FrameType::kResult, bytes);
    round_.reset();
    connected_ = false;
  }

  base::FileDescriptor output_;
  load_agents::FrameReader reader_{0};
  LoadOptions options_;
  std::uint32_t rank_ = 0;
  std::string name_;
  std::optional<ServerChild> server_;
  bool ready_ = false;
  load_agents::Connect connect_;  // of the present round
  std::optional<RoundRun> round_;
  bool connected_ = false;
  bool over_ = false, failed_ = false;
};

}  // namespace

int run_load_agent() {
  std::signal(SIGPIPE, SIG_IGN);
  // Standard output is the coordinator's: what else would be printed there goes to standard error.
  base::FileDescriptor output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return LoadAgent(std::move(output)).run();
}

}  // namespace rpcrdma::cli
