#include <chrono>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <support/trace_dat_builder.h>
#include <sys/mman.h>

#include <rpcrdma/base/file_descriptor.h>
#include <rpcrdma/base/write_all.h>
#include <rpcrdma/trace_dat/convert.h>
#include <rpcrdma/trace_dat/trace_dat.h>

namespace rpcrdma::trace_dat {
namespace {

using test::EventFormat;
using test::PagesBuilder;
using test::TraceBytes;
using test::TraceDatBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using tracepoints::Field;
using tracepoints::Record;

const EventFormat kReserve("xprt_reserve", 7, {{"task_id"}, {"client_id"}, {"xid"}});
const EventFormat kOther("sched_switch", 8, {{"prev_pid"}});

struct Visited {
  std::vector<std::uint32_t> xids;
  std::vector<std::int64_t> times;
  std::vector<std::uint32_t> cpus;
  std::uint64_t lost = 0;
  std::string failure;
};

Visited visit(const TraceDat& file) {
  Visited v;
  const auto ok =
      visit_records(file, {.record =
                               [&v](const Record& r) {
                                 v.xids.push_back(r.u32(Field::kXid));
                                 v.times.push_back(r.time);
                                 v.cpus.push_back(r.cpu);
                               },
                           .lost = [&v](std::uint32_t, std::uint64_t n) { v.lost += n; }});
  if (!ok) v.failure = ok.error().message;
  return v;
}

Visited visit(const TraceBytes& bytes) {
  const auto file = read_trace_dat(bytes);
  if (!file) {
    Visited v;
    v.failure = file.error().message;
    return v;
  }
  return visit(*file);
}

TraceBytes reserve(std::uint32_t xid, bool big = false) {
  return kReserve.record(1, {1, 1, xid}, {}, big);
}

TraceDatBuilder two_cpus(bool big = false) {
  TraceDatBuilder b;
  b.big_endian = big;
  b.systems = {{"sunrpc", {kReserve.text()}}, {"sched", {kOther.text()}}};
  PagesBuilder first(big), second(big);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    (i % 3 == 0 ? second : first).add(1000 + i, reserve(i, big));
    first.add(1000 + i, kOther.record(1, {i}, {}, big));
  }
  b.buffers = {{first.pages(), second.pages()}};
  return b;
}

std::vector<std::uint32_t> up_to(std::uint32_t n) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < n; ++i) all.push_back(i);
  return all;
}

enum class Form { kVersion6, kVersion7, kZstd };

TraceBytes build(const TraceDatBuilder& b, Form form) {
  return form == Form::kVersion6 ? b.version6() : b.version7(form == Form::kZstd);
}

class TraceDatForms : public ::testing::TestWithParam<std::tuple<Form, bool>> {};

TEST_P(TraceDatForms, CpusAreMergedByTime) {
  const auto [form, big] = GetParam();
  const Visited v = visit(build(two_cpus(big), form));
  EXPECT_EQ(v.failure, "");
  EXPECT_EQ(v.xids, up_to(1000));
  EXPECT_TRUE(std::is_sorted(v.times.begin(), v.times.end()));
  EXPECT_EQ(v.cpus[0], 1U);
  EXPECT_EQ(v.cpus[1], 0U);
  EXPECT_EQ(v.lost, 0U);
}

TEST_P(TraceDatForms, AnyTruncationIsReported) {
  const auto [form, big] = GetParam();
  const TraceBytes whole = build(two_cpus(big), form);
  std::size_t failures = 0, tried = 0;
  for (std::size_t size = 0; size < whole.size(); size += size < 4096 ? 1 : 61) {
    const TraceBytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const Visited v = visit(cut);
    ++tried;
    // Padding behind the last page carries nothing.
    if (!v.failure.empty()) ++failures;
    EXPECT_LE(v.xids.size(), 1000U);
    EXPECT_TRUE(!v.failure.empty() || v.xids.size() == 1000) << size;
  }
  EXPECT_GT(failures, tried * 9 / 10);
}

TEST_P(TraceDatForms, FlippedBitsAreHarmless) {
  const auto [form, big] = GetParam();
  const TraceBytes whole = build(two_cpus(big), form);
  TraceBytes flipped = whole;
  for (std::size_t at = 0; at < whole.size(); at += at < 3000 ? 1 : 37) {
    const auto bit = static_cast<std::uint8_t>(1U << (at % 8));
    flipped[at] = static_cast<std::uint8_t>(flipped[at] ^ bit);
    (void)visit(flipped);
    flipped[at] = whole[at];
  }
}

INSTANTIATE_TEST_SUITE_P(All, TraceDatForms,
                         ::testing::Combine(::testing::Values(Form::kVersion6, Form::kVersion7,
                                                              Form::kZstd),
                                            ::testing::Bool()),
                         [](const auto& p) {
                           const Form form = std::get<0>(p.param);
                           return std::string(form == Form::kVersion6   ? "Version6"
                                              : form == Form::kVersion7 ? "Version7"
                                                                        : "Zstd") +
                                  (std::get<1>(p.param) ? "Big" : "Little");
                         });

TEST(TraceDat, InstancesAreMergedToo) {
  for (const Form form : {Form::kVersion6, Form::kVersion7, Form::kZstd}) {
    TraceDatBuilder b = two_cpus();
    PagesBuilder more;
    more.add(1500, reserve(5000));
    b.buffers.push_back({more.pages(), {}});
    const Visited v = visit(build(b, form));
    EXPECT_EQ(v.failure, "");
    ASSERT_THAT(v.xids, SizeIs(1001));
    EXPECT_THAT(v.xids, ::testing::Contains(5000U));
    EXPECT_TRUE(std::is_sorted(v.times.begin(), v.times.end()));
  }
}

TEST(TraceDat, AnEventInTwoInstancesCountsOnce) {
  TraceDatBuilder b;
  b.systems = {{"sunrpc", {kReserve.text()}}};
  PagesBuilder first, second;
  for (std::uint32_t i = 0; i < 100; ++i) {
    first.add(1000 + i * 1000, reserve(i));
    second.add(1300 + i * 1000, reserve(i));
  }
  // The same record much later is another event.
  second.add(900'000'000, reserve(7));
  b.buffers = {{first.pages()}, {second.pages()}};
  const Visited v = visit(b.version7(true));
  EXPECT_THAT(v.xids, SizeIs(101));
}

TEST(TraceDat, LostEventsAreCounted) {
  TraceDatBuilder b;
  b.systems = {{"sunrpc", {kReserve.text()}}};
  PagesBuilder pages;
  pages.add(1, reserve(1));
  pages.lose(300);
  pages.add(2, reserve(2));
  b.buffers = {{pages.pages()}};
  EXPECT_EQ(visit(b.version6()).lost, 300U);
  // The kernel's statistics count those after the last page too.
  b.options = {{2, TraceDatBuilder::option_text("CPU: 0\nentries: 2\noverrun: 310\n"
                                                "commit overrun: 0\ndropped events: 5\n")}};
  EXPECT_EQ(visit(b.version6()).lost, 315U);
  EXPECT_EQ(visit(b.version7(true)).lost, 315U);
}

TEST(TraceDat, ClocksAndHosts) {
  TraceDatBuilder b = two_cpus();
  b.options = {{4, TraceDatBuilder::option_text("local global counter [mono] boot\n")},
               {5, TraceDatBuilder::option_text("Linux nfs-server 6.1.0-56-amd64 x86_64")},
               {7, TraceDatBuilder::option_text("-100")},
               {1, TraceDatBuilder::option_text("0x10")}};
  for (const TraceBytes& bytes : {b.version6(), b.version7(false)}) {
    const auto file = read_trace_dat(bytes);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->clock.name, "mono");
    EXPECT_EQ(file->host, "nfs-server");
    EXPECT_EQ(file->kernel, "6.1.0-56-amd64");
    EXPECT_TRUE(file->clock.has_wall);
    EXPECT_EQ(file->clock.wall_offset, 16000);
    EXPECT_EQ(visit(*file).times[0], 900);
  }
}

TEST(TraceDat, CyclesBecomeNanoseconds) {
  Clock clock;
  clock.mult = 3;
  clock.shift = 1;
  EXPECT_EQ(clock.ns(300), 450);
  clock.offset = 5;
  EXPECT_EQ(clock.ns(300), 455);
}

TEST(TraceDat, AMillionCpus) {
  // Empty ones are harmless; pages of more than are plausible are refused.
  TraceDatBuilder b = two_cpus();
  b.buffers[0].resize(1'000'000);
  EXPECT_THAT(visit(b.version6()).xids, SizeIs(1000));
  TraceDatBuilder few = two_cpus();
  TraceBytes bytes = few.version6();
  // The count of CPUs follows three empty tables and the formats.
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::size_t cpus_at = text.find("options  ") - 4;
  bytes[cpus_at + 3] = 0x7f;
  EXPECT_THAT(visit(bytes).failure, HasSubstr("ends before the tables that locate its events"));
  for (std::size_t c = 0; c < 70000; ++c) b.buffers[0][c] = TraceBytes(64, 0);
  b.page_bytes = 64;
  EXPECT_EQ(visit(b.version7(false)).failure, "it has pages of more than 65536 CPUs");
}

TEST(TraceDat, HeadsThatMakeNoSense) {
  EXPECT_EQ(visit(TraceBytes{}).failure, "it is no trace.dat");
  TraceDatBuilder b = two_cpus();
  TraceBytes bytes = b.version6();
  bytes[10] = '5';
  EXPECT_EQ(visit(bytes).failure, "version 5 of trace.dat is not supported, only 6 and 7");
  b.page_bytes = 32;
  EXPECT_EQ(visit(b.version7(true)).failure, "its page size of 32 bytes is invalid");
  b = two_cpus();
  b.header_page = "nothing";
  EXPECT_EQ(visit(b.version6()).failure, "the description of its pages is invalid");
  b = two_cpus();
  b.buffers = {};
  EXPECT_EQ(visit(b.version6()).failure, "it has no pages of events");
  // A version without an end.
  TraceBytes endless{0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
  endless.resize(1 << 20, '7');
  EXPECT_THAT(visit(endless).failure, HasSubstr("ends before the tables that locate its events"));
}

TEST(TraceDat, SectionsOfOptionsWithoutEnd) {
  TraceBytes bytes = two_cpus().version7(false);
  // The last option names the section that holds it as the next.
  std::uint64_t at = 0;
  std::memcpy(&at, bytes.data() + 10 + 2 + 2 + 4 + 5 + 1, 8);
  std::memcpy(bytes.data() + bytes.size() - 8, &at, 8);
  const Visited v = visit(bytes);
  EXPECT_FALSE(v.failure.empty());
}

TEST(TraceDat, ChunksThatLie) {
  const TraceBytes whole = two_cpus().version7(true);
  // Each four bytes become the largest number in turn.
  for (std::size_t at = 0; at + 4 <= whole.size(); at += 3) {
    TraceBytes bytes = whole;
    std::memset(bytes.data() + at, 0xff, 4);
    (void)visit(bytes);
  }
}

TEST(TraceDat, AnUnknownCompressionIsNamed) {
  TraceBytes bytes = two_cpus().version7(true);
  std::memcpy(bytes.data() + 10 + 2 + 2 + 4, "zzzz", 4);
  EXPECT_THAT(visit(bytes).failure, HasSubstr("\"zzzz\" is not supported"));
}

TEST(TraceDat, AFullDiskIsReported) {
  const TraceBytes bytes = two_cpus().version6();
  const base::FileDescriptor input(::memfd_create("trace", MFD_CLOEXEC));
  ASSERT_EQ(base::write_all(input.get(), bytes).error, 0);
  ASSERT_EQ(::lseek(input.get(), 0, SEEK_SET), 0);
  const base::FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto converted = convert(input.get(), full.get(), "trace");
  ASSERT_FALSE(converted);
  EXPECT_EQ(converted.error().message, "cannot write: No space left on device");
}

TEST(TraceDat, MillionsOfEvents) {
  TraceDatBuilder b;
  b.systems = {{"sunrpc", {kReserve.text()}}};
  constexpr std::uint32_t kEvents = 1'000'000;
  std::vector<PagesBuilder> cpus(4);
  for (std::uint32_t i = 0; i < kEvents; ++i) {
    cpus[(i / 7) % 4].add(std::uint64_t{i} * 300, reserve(i));
  }
  b.buffers.emplace_back();
  for (PagesBuilder& cpu : cpus) b.buffers[0].push_back(cpu.pages());
  const TraceBytes bytes = b.version6();
  const auto file = read_trace_dat(bytes);
  ASSERT_TRUE(file);
  std::uint32_t expected = 0;
  const auto ok = visit_records(
      *file,
      {.record = [&](const Record& r) { expected += r.u32(Field::kXid) == expected ? 1 : 0; },
       .lost = [](std::uint32_t, std::uint64_t) {}});
  EXPECT_TRUE(ok);
  EXPECT_EQ(expected, kEvents);
}

}  // namespace
}  // namespace rpcrdma::trace_dat
