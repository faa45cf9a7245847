// Tests what `rpcrdma doctor` says about tracing the kernel, on simulated machines.
#include "system_for_tests.h"

#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>
#include <linux/capability.h>

#include <rpcrdma/doctor/verdict.h>

namespace rpcrdma::doctor {
namespace {

using rpcrdma::testing::FakeRoot;
using ::testing::HasSubstr;

class DoctorOfKernels : public ::testing::Test {
 protected:
  DoctorOfKernels() {
    root_.put_folder("/sys");
    root_.put("/proc/self/status", "CapEff:\t0000000000000000");
    root_.put("/proc/sys/kernel/osrelease", "6.1.0-56-amd64");
  }
  Line line(const std::string& subject, const KernelProgram& program = {"/usr/libexec/k", "", 0}) {
    Build build{true, true, {}};
    build.kernel = program;
    const auto lines = judge(look_at_machine(root_.path(), "", "").value(), build);
    const auto found = std::ranges::find(lines, subject, &Line::subject);
    return found != lines.end() ? *found : Line();
  }

  FakeRoot root_;
};

TEST_F(DoctorOfKernels, ReleaseAndModules) {
  EXPECT_EQ(line("kernel").text, "6.1.0-56-amd64");
  EXPECT_EQ(line("NFS/RDMA in the kernel").health, Health::kNote);
  EXPECT_THAT(line("NFS/RDMA in the kernel").advice, HasSubstr("modprobe rpcrdma"));
  root_.put_folder("/sys/module/rpcrdma");
  root_.put_folder("/sys/module/nfsd");
  EXPECT_EQ(line("NFS/RDMA in the kernel").health, Health::kGood);
  EXPECT_EQ(line("NFS/RDMA in the kernel").text, "rpcrdma is loaded (nfs is not, nfsd is loaded)");
}

TEST_F(DoctorOfKernels, TypesOfTheKernelAndOfTheModule) {
  EXPECT_THAT(line("kernel's types (BTF)").text, HasSubstr("/sys/kernel/btf/vmlinux is missing"));
  EXPECT_THAT(line("kernel's types (BTF)").advice, HasSubstr("CONFIG_DEBUG_INFO_BTF"));
  root_.put("/sys/kernel/btf/vmlinux");
  EXPECT_EQ(line("kernel's types (BTF)").health, Health::kGood);
  root_.put_folder("/sys/module/rpcrdma");
  EXPECT_THAT(line("kernel's types (BTF)").text, HasSubstr("the module rpcrdma has none"));
  root_.put("/sys/kernel/btf/rpcrdma");
  EXPECT_EQ(line("kernel's types (BTF)").text, "of the kernel and of rpcrdma");
}

TEST_F(DoctorOfKernels, Tracefs) {
  EXPECT_THAT(line("tracefs").advice, HasSubstr("mount -t tracefs"));
  root_.put("/proc/self/mounts",
            "proc /proc proc rw 0 0\nnodev /sys/kernel/tracing tracefs rw,nosuid 0 0");
  EXPECT_EQ(line("tracefs").health, Health::kGood);
}

TEST_F(DoctorOfKernels, Lockdown) {
  EXPECT_EQ(line("lockdown").text, "");
  root_.put("/sys/kernel/security/lockdown", "none [integrity] confidentiality");
  EXPECT_EQ(line("lockdown").health, Health::kGood);
  root_.put("/sys/kernel/security/lockdown", "none integrity [confidentiality]");
  EXPECT_EQ(line("lockdown").health, Health::kNote);
  EXPECT_THAT(line("lockdown").advice, HasSubstr("lockdown=integrity"));
}

TEST_F(DoctorOfKernels, PrivilegesOfTheCallerOrOfTheProgram) {
  const Line without = line("tracing the kernel");
  EXPECT_EQ(without.health, Health::kNote);
  EXPECT_THAT(without.advice, HasSubstr("sudo rpcrdma top kernel"));
  EXPECT_THAT(without.advice, HasSubstr("cap_dac_read_search+ep /usr/libexec/k`"));
  EXPECT_THAT(line("tracing the kernel", {"/usr/libexec/k", "", kAllKernelRights}).text,
              HasSubstr("by the capabilities of /usr/libexec/k"));
  // CAP_BPF and CAP_PERFMON without CAP_SYS_ADMIN do not suffice.
  root_.put("/proc/self/status", "CapEff:\t000000c000000000");
  EXPECT_EQ(line("tracing the kernel").health, Health::kNote);
  root_.put("/proc/self/status", "CapEff:\t000001ffffffffff");
  EXPECT_EQ(line("tracing the kernel").health, Health::kGood);
  const Line none = line("tracing the kernel", {"", "it was built without libbpf", 0});
  EXPECT_EQ(none.text, "rpcrdma-kernel is not installed");
  EXPECT_EQ(none.advice, "it was built without libbpf");
}

TEST_F(DoctorOfKernels, FileCapabilitiesCountIfTheyAreEffective) {
  const auto attribute = [](std::uint32_t magic, std::uint64_t permitted) {
    vfs_cap_data data{};
    data.magic_etc = magic;
    data.data[0].permitted = static_cast<std::uint32_t>(permitted);
    data.data[1].permitted = static_cast<std::uint32_t>(permitted >> 32U);
    std::string value(sizeof data, '\0');
    std::memcpy(value.data(), &data, sizeof data);
    return value;
  };
  constexpr std::uint64_t kAll = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON | 1ULL << CAP_SYS_ADMIN;
  EXPECT_EQ(rights_of_attribute(attribute(VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE, kAll)),
            kAllKernelRights);
  EXPECT_EQ(
      rights_of_attribute(attribute(VFS_CAP_REVISION_3 | VFS_CAP_FLAGS_EFFECTIVE, 1ULL << CAP_BPF)),
      kBpf);
  EXPECT_EQ(rights_of_attribute(attribute(VFS_CAP_REVISION_2, kAll)), 0);
  EXPECT_EQ(rights_of_attribute(attribute(0, kAll)), 0);
  EXPECT_EQ(rights_of_attribute("ab"), 0);
}

}  // namespace
}  // namespace rpcrdma::doctor
