// Files as procfs and sysfs of a host have them, in a folder of the test's own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace rpcrdma::testing {

class HostTree {
 public:
  HostTree() {
    std::string name = (std::filesystem::temp_directory_path() / "rpcrdma-host-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~HostTree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  HostTree(const HostTree&) = delete;
  HostTree& operator=(const HostTree&) = delete;

  // `path`: "proc/self/mountstats".
  void write(const std::string& path, std::string_view text) const {
    const std::filesystem::path at = path_ / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at, std::ios::binary) << text;
  }
  void make_folder(const std::string& path) const {
    std::filesystem::create_directories(path_ / path);
  }
  [[nodiscard]] std::string proc() const { return (path_ / "proc").string(); }
  [[nodiscard]] std::string sys() const { return (path_ / "sys").string(); }

  // Everything that a host with a mount, a server and a device states, in the format of Linux 6.12.
  void write_whole_host() const {
    write("proc/self/mountstats", kMountstats);
    const std::string svcrdma = "proc/sys/sunrpc/svc_rdma/";
    write(svcrdma + "max_requests", "64\n");
    write(svcrdma + "rdma_stat_read", "31\n");
    write(svcrdma + "rdma_stat_recv", "4711\n");
    write(svcrdma + "rdma_stat_rq_starve", "0\n");
    write(svcrdma + "rdma_stat_sq_starve", "2\n");
    write(svcrdma + "rdma_stat_write", "900\n");
    write("proc/net/rpc/nfsd",
          "rc 1 20 300\nfh 4 0 0 0 0\nio 5000 60000\nth 8 0\nra 0 0 0 0 0 0 0 0 0 0 0 0\n"
          "net 70 8 9 10\nrpc 800 6 1 2 3\nproc3 3 11 12 13\nproc4 2 14 15\n"
          "proc4ops 6 0 0 0 16 17 18\nwdeleg_getattr 19\n");
    const std::string bus = "sys/kernel/sunrpc/xprt-switches/switch-2/";
    write(bus + "xprt_switch_info",
          "num_xprts=1\nnum_active=1\nnum_unique_destaddr=1\nqueue_len=3\n");
    write(bus + "xprt-5-rdma/dstaddr", "10.0.0.1\n");
    write(bus + "xprt-5-rdma/xprt_state", "state= CONNECTED   BOUND   CWND_WAIT   \n");
    write(bus + "xprt-5-rdma/xprt_info",
          std::string("last_used=4295000000\ncur_cong=16384\ncong_win=32768\nmax_num_slots=128\n"
                      "num_reqs=2\nsending_q_len=4\npending_q_len=0\nbacklog_q_len=1\n"
                      "main_xprt=1\nsrc_port=0\ntasks_queuelen=7\ndst_port=0\n") +
              '\0');
    const std::string port = "sys/class/infiniband/mlx5_0/ports/1/";
    write(port + "state", "4: ACTIVE\n");
    write(port + "link_layer", "Ethernet\n");
    write(port + "counters/port_xmit_data", "1000\n");
    write(port + "counters/port_rcv_data", "2000\n");
    write(port + "counters/VL15_dropped", "0\n");
    write(port + "hw_counters/out_of_sequence", "21\n");
    write(port + "hw_counters/rnr_nak_retry_err", "22\n");
    write(port + "hw_counters/local_ack_timeout_err", "23\n");
    write(port + "hw_counters/np_cnp_sent", "24\n");
    write(port + "hw_counters/rp_cnp_handled", "25\n");
    write(port + "hw_counters/np_ecn_marked_roce_packets", "26\n");
    write(port + "hw_counters/packet_seq_err", "27\n");
    write(port + "hw_counters/out_of_buffer", "28\n");
    write(port + "hw_counters/lifespan", "10\n");
  }

  // A mount with nconnect=2, one by TCP, and one of a local filesystem.
  static constexpr std::string_view kMountstats =
      R"(device proc mounted on /proc with fstype proc
device server:/export mounted on /mnt/a\040b with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2,rsize=1048576,proto=rdma,nconnect=2,port=20049,addr=10.0.0.1
	age:	1234
	impl_id:	name='',domain='',date='0,0'
	caps:	caps=0xffbffff,wtmult=512,dtsize=1048576,bsize=0,namlen=255
	nfsv4:	bm0=0xfdffbfff,bm1=0x40f9be3e,sessions,pnfs=not configured
	sec:	flavor=1,pseudoflavor=1
	events:	1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 
	bytes:	31 32 33 34 35 36 37 38 
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
	xprt:	rdma 0 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66
	xprt:	rdma 0 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161 162 163 164 165 166
	per-op statistics
	        NULL: 0 0 0 0 0 0 0 0 0
	        READ: 71 72 73 74 75 76001 77 78 79
	       WRITE: 81 82 83 84 85 86 87 88 89

device other:/e mounted on /tcp with fstype nfs statvers=1.1
	opts:	rw,vers=3,proto=tcp,addr=10.0.0.9
	age:	5
	events:	0 0 0
	bytes:	0 0
	RPC iostats version: 1.1  p/v: 100003/3 (nfs)
	xprt:	tcp 790 1 2 3 4 5 6 7 8 9 10 11 12
	per-op statistics
	     GETATTR: 1 1 0 140 240 0 1 1
)";

 private:
  std::filesystem::path path_;
};

}  // namespace rpcrdma::testing
