#include "object.h"

#include <set>
#include <string>

#include <gmock/gmock.h>

namespace rpcrdma::kernel {

extern const unsigned char scope_object_begin[];
extern const std::size_t scope_object_bytes;

namespace {

TEST(RefusalTest, NamesTheProgramAndTheVerdict) {
  EXPECT_EQ(
      refusal("libbpf: prog 'event_reply': BPF program load failed: Permission denied\n"
              "libbpf: prog 'event_reply': -- BEGIN PROG LOAD LOG --\n"
              "0: R1=ctx(off=0,imm=0) R10=fp0\n"
              "; if (!rep) return 0;\n"
              "12: (07) r3 += 16\n"
              "R3 pointer arithmetic on trusted_ptr_or_null_ prohibited, null-check it first\n"
              "processed 13 insns (limit 1000000) max_states_per_insn 0 total_states 1\n"
              "-- END PROG LOAD LOG --\n"
              "libbpf: prog 'event_reply': failed to load: -13\n"),
      "event_reply: R3 pointer arithmetic on trusted_ptr_or_null_ prohibited, null-check it "
      "first");
}

TEST(RefusalTest, IsEmptyWithoutAVerdict) {
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal("libbpf: failed to find valid kernel BTF\n"), "");
  EXPECT_EQ(refusal("prog 'x': -- BEGIN PROG LOAD LOG --\n-- END PROG LOAD LOG --"), "");
}

TEST(RefusalTest, IsOneShortLine) {
  const std::string text =
      refusal("prog 'x': -- BEGIN PROG LOAD LOG --\n" + std::string(5000, 'a'));
  EXPECT_LT(text.size(), 400U);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

// A program belongs to one kind, by its name, and hangs on a tracepoint.
TEST(ObjectTest, ProgramsHaveKindsAndTracepoints) {
  const std::unique_ptr<bpf_object, CloseObject> object(
      bpf_object__open_mem(scope_object_begin, scope_object_bytes, nullptr));
  ASSERT_NE(object, nullptr);
  std::set<std::string> events, sums;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get()) {
    const std::string name = bpf_program__name(program),
                      section = bpf_program__section_name(program);
    EXPECT_TRUE(section.starts_with("tp_btf/")) << section;
    if (name.starts_with("event_")) {
      EXPECT_TRUE(events.insert(section).second) << section;
    } else if (name.starts_with("sum_")) {
      EXPECT_TRUE(sums.insert(section).second) << section;
    } else {
      EXPECT_TRUE(name.starts_with("both_")) << name;
    }
  }
  EXPECT_TRUE(events.contains("tp_btf/xprtrdma_post_send"));
  EXPECT_TRUE(sums.contains("tp_btf/svcrdma_post_send"));
  for (const char* map : {"ring", "connections", "procedures", "held", ".bss", ".rodata"}) {
    EXPECT_NE(bpf_object__find_map_by_name(object.get(), map), nullptr) << map;
  }
}

}  // namespace
}  // namespace rpcrdma::kernel
