// A machine's /sys, /dev and /proc in a temporary folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace rpcrdma::testing {

class FakeRoot {
 public:
  FakeRoot() {
    std::string pattern = (std::filesystem::temp_directory_path() / "rpcrdma-root-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~FakeRoot() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  void put(const std::string& file, const std::string& text = "") const {
    const std::filesystem::path at = path_ + file;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text << '\n';
  }
  void put_folder(const std::string& folder) const {
    std::filesystem::create_directories(path_ + folder);
  }

  // A RoCE device with one port and the addresses 10.77.0.1 and fd77::1.
  void put_rxe() const {
    const std::string device = "/sys/class/infiniband/rxe0";
    put(device + "/node_type", "1: CA");
    const std::string port = device + "/ports/1";
    put(port + "/state", "4: ACTIVE");
    put(port + "/phys_state", "5: LinkUp");
    put(port + "/link_layer", "Ethernet");
    put(port + "/rate", "2.5 Gb/sec (1X SDR)");
    put(port + "/gids/0", "fe80:0000:0000:0000:5054:00ff:fe00:0001");
    put(port + "/gids/1", "0000:0000:0000:0000:0000:ffff:0a4d:0001");
    put(port + "/gids/2", "fd77:0000:0000:0000:0000:0000:0000:0001");
    put(port + "/gids/3", "0000:0000:0000:0000:0000:0000:0000:0000");
    for (const char* const index : {"0", "1", "2"}) {
      put(port + "/gid_attrs/types/" + index, "RoCE v2");
      put(port + "/gid_attrs/ndevs/" + index, "eth0");
    }
    put("/sys/class/infiniband_verbs/uverbs0/ibdev", "rxe0");
    put_folder("/sys/class/misc/rdma_cm");
    put("/dev/infiniband/uverbs0");
    put("/dev/infiniband/rdma_cm");
  }

 private:
  std::string path_;
};

}  // namespace rpcrdma::testing
