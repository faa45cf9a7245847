// A nats-server of a test, on a port of the loopback that the system chose.
#pragma once

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rpcrdma::e2e {

class NatsServer {
 public:
  struct Options {
    bool jetstream = true;
    std::string address = "127.0.0.1";
    std::string more = {};  // lines of its configuration: users, TLS
  };

  // Whether the machine has nats-server.
  static bool installed() { return std::system("command -v nats-server >/dev/null 2>&1") == 0; }

  // `folder`: an existing folder of the test; all files of the server are in it.
  NatsServer(std::string folder, Options options)
      : folder_(std::move(folder)), options_(std::move(options)) {}
  explicit NatsServer(std::string folder) : NatsServer(std::move(folder), Options()) {}
  ~NatsServer() { stop(SIGKILL); }
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  // Starts it; after the first time with the same port and the same store. False: it does not
  // answer within 50 s, or ends.
  bool start() {
    const std::string config = folder_ + "/nats.conf";
    {
      std::ofstream out(config);
      out << "listen: \"" << options_.address << ":" << (port_ == 0 ? -1 : port_) << "\"\n"
          << "ports_file_dir: \"" << folder_ << "\"\n"
          << "pid_file: \"" << folder_ << "/nats.pid\"\n";
      if (options_.jetstream) out << "jetstream { store_dir: \"" << folder_ << "/store\" }\n";
      out << options_.more;
    }
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int log = ::open((folder_ + "/nats.log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(log, STDOUT_FILENO);
      ::dup2(log, STDERR_FILENO);
      ::execlp("nats-server", "nats-server", "-c", config.c_str(), nullptr);
      ::_exit(127);
    }
    const std::string ports = folder_ + "/nats-server_" + std::to_string(child_) + ".ports";
    for (int tries = 0; tries < 5000; ++tries) {
      if (const int port = port_in(ports); port != 0) {
        port_ = port;
        return true;
      }
      if (::waitpid(child_, nullptr, WNOHANG) == child_) {
        child_ = -1;
        return false;
      }
      ::poll(nullptr, 0, 10);
    }
    return false;
  }

  // Ends it and waits for its end.
  void stop(int signal = SIGTERM) {
    if (child_ <= 0) return;
    ::kill(child_, signal);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  void signal(int number) const { ::kill(child_, number); }

  // Used by the next start().
  void configure(Options options) { options_ = std::move(options); }

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] pid_t process() const { return child_; }
  [[nodiscard]] std::string url(const std::string& scheme = "nats") const {
    return scheme + "://" + options_.address + ":" + std::to_string(port_);
  }
  [[nodiscard]] std::string log() const {
    std::ifstream in(folder_ + "/nats.log");
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  // {"nats":["nats://127.0.0.1:4222"]}
  static int port_in(const std::string& file) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    const std::string ports = text.str();
    if (ports.find('}') == std::string::npos) return 0;
    const std::size_t end = ports.find_first_of("\"", ports.find("://"));
    const std::size_t colon = ports.rfind(':', end);
    return std::atoi(ports.substr(colon + 1, end - colon - 1).c_str());
  }

  std::string folder_;
  Options options_;
  int port_ = 0;
  pid_t child_ = -1;
};

}  // namespace rpcrdma::e2e
