// Hosts for tests: network namespaces with host names of their own on one bridge, and mpirun over
// them. Open MPI's daemons run on these hosts as over ssh, and the ranks are their children.
#pragma once

#include "support/background.h"
#include "support/command.h"

#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rpcrdma::load_mpi {

// Host 0 has the bridge, and mpirun runs there; ranks run on hosts 1 and up.
class Cluster {
 public:
  static bool permitted() { return ::geteuid() == 0; }

  explicit Cluster(int hosts) : hosts_(hosts) {
    static int made = 0;
    // The network itself is the same in each cluster: clusters do not see each other.
    prefix_ = fmt::format("rpcrdma-mpi-{}-{}-", ::getpid(), made++);
    std::string script = "set -e\n";
    script += fmt::format(
        "ip netns add {0}\nip -n {0} link set lo up\n"
        "ip -n {0} link add br0 type bridge\nip -n {0} addr add 10.77.0.10/24 dev br0\n"
        "ip -n {0} link set br0 up\n",
        space(0));
    for (int i = 1; i <= hosts_; ++i) {
      script += fmt::format(
          "ip netns add {0}\nip -n {0} link set lo up\n"
          "ip -n {1} link add v{2} type veth peer name eth0 netns {0}\n"
          "ip -n {1} link set v{2} master br0 up\n"
          "ip -n {0} addr add {3}/24 dev eth0\nip -n {0} link set eth0 up\n",
          space(i), space(0), i, address(i));
    }
    const e2e::Result made_them = e2e::run(script);
    ok_ = made_them.status == 0;
    EXPECT_TRUE(ok_) << made_them.err;
    // mpirun calls it as ssh: AGENT HOST COMMAND LINE. Each host's monotonic clock is its own.
    e2e::write_file(agent(), fmt::format("#!/bin/bash\n"
                                         "host=$1\nshift\n"
                                         "exec ip netns exec {}$host unshare --uts --time "
                                         "--monotonic $((${{host#h}} * 1000)) --fork --kill-child "
                                         "bash -c \"hostname $host; $*\"\n",
                                         prefix_));
    ::chmod(agent().c_str(), 0700);
  }
  ~Cluster() {
    std::string script;
    for (int i = 0; i <= hosts_; ++i) script += fmt::format("ip netns del {}\n", space(i));
    (void)e2e::run(script);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] static std::string address(int host) { return fmt::format("10.77.0.1{}", host); }
  [[nodiscard]] std::string space(int host) const { return fmt::format("{}h{}", prefix_, host); }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  [[nodiscard]] std::string agent() const { return folder_.file("agent"); }

  // Runs `rpcrdma serve` on this host; returns when it listens.
  [[nodiscard]] std::unique_ptr<e2e::Background> serve(int host,
                                                       std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"netns", "exec",     space(host),  RPCRDMA_COMMAND,
                                   "serve", "--listen", address(host)};
    words.insert(words.end(), more.begin(), more.end());
    auto server = std::make_unique<e2e::Background>(words, std::string(), "ip");
    EXPECT_TRUE(server->wait_for("listening")) << server->out;
    return server;
  }

  // The words after `ip` that run a job: a rank on each host, `mpi`: more options of mpirun.
  [[nodiscard]] std::vector<std::string> job(const std::vector<std::string>& arguments,
                                             const std::vector<std::string>& mpi = {}) const {
    std::string hosts;
    for (int i = 1; i <= hosts_; ++i) hosts += fmt::format("{}h{}", i == 1 ? "" : ",", i);
    std::vector<std::string> words{"netns",
                                   "exec",
                                   space(0),
                                   "unshare",
                                   "--uts",
                                   "bash",
                                   "-c",
                                   "hostname h0; exec \"$@\"",
                                   "mpirun",
                                   RPCRDMA_MPIRUN,
                                   "--allow-run-as-root",
                                   "--oversubscribe",
                                   "--host",
                                   hosts,
                                   "--mca",
                                   "plm_rsh_agent",
                                   agent(),
                                   "--mca",
                                   "oob_tcp_if_include",
                                   "10.77.0.0/24",
                                   "--mca",
                                   "btl",
                                   "self,tcp",
                                   "--mca",
                                   "btl_tcp_if_include",
                                   "10.77.0.0/24"};
    words.insert(words.end(), mpi.begin(), mpi.end());
    words.emplace_back(RPCRDMA_LOAD_MPI);
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }

  // Runs a job to its end.
  [[nodiscard]] e2e::Result run(const std::vector<std::string>& arguments,
                                const std::vector<std::string>& mpi = {}) const {
    std::string line = "ip";
    for (const std::string& word : job(arguments, mpi)) line += " '" + word + "'";
    return e2e::run("timeout 90 " + line);
  }

 private:
  int hosts_;
  std::string prefix_;
  e2e::TemporaryFolder folder_;
  bool ok_ = false;
};

}  // namespace rpcrdma::load_mpi
