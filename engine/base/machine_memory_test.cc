// The machine's memory and the limits of control groups, from folders that look like /proc and
// /sys/fs/cgroup.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <rpcrdma/base/machine_memory.h>

namespace rpcrdma::base {
namespace {

class MachineMemory : public ::testing::Test {
 protected:
  MachineMemory() {
    std::string name = ::testing::TempDir() + "machine_memory.XXXXXX";
    root = ::mkdtemp(name.data()) != nullptr ? name : "";
    put("/proc/meminfo", "MemTotal:        8388608 kB\nMemFree:  17 kB\n");
  }
  ~MachineMemory() override {
    std::error_code ignored;
    std::filesystem::remove_all(root, ignored);
  }

  void put(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  }
  void mount_two(const std::string& group_at_mount = "/") const {
    put("/proc/self/mountinfo",
        "31 23 0:28 / /sys rw,relatime - sysfs sysfs rw\n"
        "32 31 0:29 " +
            group_at_mount +
            " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  }

  std::string root;
};

TEST_F(MachineMemory, WithoutControlGroupsItIsTheMachines) {
  EXPECT_EQ(machine_memory(root), 8ULL << 30);
}

TEST_F(MachineMemory, WithoutProcItIsNotKnown) {
  EXPECT_EQ(machine_memory(root + "/nowhere"), 0U);
}

TEST_F(MachineMemory, OfThisMachineThereIsSome) {
  EXPECT_GT(machine_memory(), 0U);
}

TEST_F(MachineMemory, ALimitOfVersionTwo) {
  mount_two();
  put("/proc/self/cgroup", "0::/system.slice/rpcrdma.service\n");
  put("/sys/fs/cgroup/system.slice/rpcrdma.service/memory.max", "536870912\n");
  EXPECT_EQ(machine_memory(root), 512ULL << 20);
}

TEST_F(MachineMemory, ALimitOfAGroupAboveCounts) {
  mount_two();
  put("/proc/self/cgroup", "0::/user.slice/a/b\n");
  put("/sys/fs/cgroup/user.slice/a/b/memory.max", "max\n");
  put("/sys/fs/cgroup/user.slice/memory.max", "1073741824\n");
  EXPECT_EQ(machine_memory(root), 1ULL << 30);
}

TEST_F(MachineMemory, NoLimitAndALimitAboveTheMachinesAreTheMachines) {
  mount_two();
  put("/proc/self/cgroup", "0::/a\n");
  put("/sys/fs/cgroup/a/memory.max", "max\n");
  EXPECT_EQ(machine_memory(root), 8ULL << 30);
  put("/sys/fs/cgroup/a/memory.max", "9223372036854771712\n");
  EXPECT_EQ(machine_memory(root), 8ULL << 30);
}

// A container sees its own group at the mount point, whatever path it has outside.
TEST_F(MachineMemory, TheGroupAtTheMountPoint) {
  mount_two("/kubepods/pod1");
  put("/proc/self/cgroup", "0::/kubepods/pod1/inner\n");
  put("/sys/fs/cgroup/memory.max", "268435456\n");
  EXPECT_EQ(machine_memory(root), 256ULL << 20);
  put("/proc/self/cgroup", "0::/elsewhere\n");
  EXPECT_EQ(machine_memory(root), 256ULL << 20);
}

TEST_F(MachineMemory, ALimitOfVersionOne) {
  put("/proc/self/mountinfo",
      "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  put("/proc/self/cgroup", "3:cpuset:/\n4:memory:/batch/job\n0::/\n");
  put("/sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes", "2147483648\n");
  put("/sys/fs/cgroup/cpuset/batch/job/memory.limit_in_bytes", "1\n");
  EXPECT_EQ(machine_memory(root), 2ULL << 30);
}

TEST_F(MachineMemory, DamagedFilesAreNoLimit) {
  mount_two();
  put("/proc/self/cgroup", "\n0\n0:\n::\n0::relative");
  EXPECT_EQ(machine_memory(root), 8ULL << 30);
  put("/proc/self/mountinfo", "\n-\n1 2 3 4 5 -\n - cgroup2\n");
  EXPECT_EQ(machine_memory(root), 8ULL << 30);
}

}  // namespace
}  // namespace rpcrdma::base
