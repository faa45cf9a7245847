#include <gmock/gmock.h>
#include <support/trace_dat_builder.h>

#include <rpcrdma/tracepoints/ring_page.h>

namespace rpcrdma::tracepoints {
namespace {

using ::testing::ElementsAre;

std::vector<std::uint64_t> times_of(RingPage page) {
  std::vector<std::uint64_t> times;
  RingPage::Entry entry;
  while (page.next(entry)) times.push_back(entry.time);
  return times;
}

class RingPageOrder : public ::testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] PageLayout layout() const {
    PageLayout l;
    l.order = {.swapped = GetParam()};
    l.big_endian = GetParam();
    return l;
  }
};

TEST_P(RingPageOrder, RecordsHaveTheirTimesAndBytes) {
  test::PagesBuilder pages(GetParam());
  pages.add(1000, {1, 2, 3, 4});
  pages.add(1010, {5, 6, 7, 8, 9});
  pages.add(5'000'000'000, test::TraceBytes(200, 7));  // a long time, and a long record
  RingPage page(pages.pages(), layout());
  RingPage::Entry entry;
  ASSERT_TRUE(page.next(entry));
  EXPECT_EQ(entry.time, 1000U);
  EXPECT_THAT(entry.data, ElementsAre(1, 2, 3, 4));
  ASSERT_TRUE(page.next(entry));
  EXPECT_EQ(entry.time, 1010U);
  EXPECT_THAT(entry.data, ElementsAre(5, 6, 7, 8, 9, 0, 0, 0));
  ASSERT_TRUE(page.next(entry));
  EXPECT_EQ(entry.time, 5'000'000'000U);
  EXPECT_EQ(entry.data.size(), 200U);
  EXPECT_FALSE(page.next(entry));
  EXPECT_FALSE(page.malformed());
  EXPECT_EQ(page.lost(), 0U);
}

TEST_P(RingPageOrder, LostRecordsAreCounted) {
  test::PagesBuilder pages(GetParam());
  pages.lose(42);
  pages.add(1, {1, 0, 0, 0});
  EXPECT_EQ(RingPage(pages.pages(), layout()).lost(), 42U);
  test::PagesBuilder unknown(GetParam());
  unknown.lose(0);
  unknown.add(1, {1, 0, 0, 0});
  EXPECT_EQ(RingPage(unknown.pages(), layout()).lost(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Orders, RingPageOrder, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Big" : "Little"; });

test::TraceBytes page_with(const test::TraceBytes& data) {
  test::OrderedBytes page;
  page.u64(100).u64(data.size()).raw(data);
  page.bytes.resize(4096);
  return page.bytes;
}

TEST(RingPage, TakesAbsoluteTimes) {
  test::OrderedBytes data;
  data.u32(5U << 5U | 31U).u32(2);  // 2 << 27 | 5
  data.u32(1U << 5U | 1U).u32(0);
  const auto page = page_with(data.bytes);
  EXPECT_THAT(times_of(RingPage(page, {})), ElementsAre((2ULL << 27U) + 6));
}

TEST(RingPage, SkipsDiscardedRecords) {
  test::OrderedBytes data;
  data.u32(3U << 5U | 29U).u32(12).u64(0);
  data.u32(1U << 5U | 1U).u32(0);
  const auto page = page_with(data.bytes);
  EXPECT_THAT(times_of(RingPage(page, {})), ElementsAre(104U));
}

TEST(RingPage, EndsAtARecordThatLeavesThePage) {
  test::OrderedBytes data;
  data.u32(1U << 5U | 1U).u32(0);
  data.u32(1U << 5U | 28U).u32(0);
  const auto bytes = page_with(data.bytes);
  RingPage page(bytes, {});
  RingPage::Entry entry;
  EXPECT_TRUE(page.next(entry));
  EXPECT_FALSE(page.next(entry));
  EXPECT_TRUE(page.malformed());
}

TEST(RingPage, RefusesLengthsBeyondThePage) {
  test::OrderedBytes page;
  page.u64(100).u64(5000);
  page.bytes.resize(4096);
  EXPECT_TRUE(RingPage(page.bytes, {}).malformed());
  EXPECT_TRUE(RingPage(std::span(page.bytes).first(10), {}).malformed());
  for (const std::uint32_t length : {0U, 1U, 3U, 4000U, 0xffffffffU}) {
    test::OrderedBytes data;
    data.u32(0).u32(length).u64(0);
    const auto bytes = page_with(data.bytes);
    RingPage bad(bytes, {});
    RingPage::Entry entry;
    EXPECT_FALSE(bad.next(entry)) << length;
    EXPECT_TRUE(bad.malformed()) << length;
  }
}

TEST(PageLayout, TakesOffsetsAndSizesFromTheKernel) {
  PageLayout layout;
  EXPECT_TRUE(
      layout.take("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
                  "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
                  "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n"));
  EXPECT_EQ(layout.long_bytes, 4U);
  EXPECT_EQ(layout.data_at, 12U);
  EXPECT_FALSE(layout.take(""));
  EXPECT_FALSE(
      layout.take("\tfield: local_t commit;\toffset:8;\tsize:3;\n"
                  "\tfield: char data;\toffset:16;\tsize:1;\n"));
  EXPECT_FALSE(
      layout.take("\tfield: local_t commit;\toffset:8;\tsize:8;\n"
                  "\tfield: char data;\toffset:99999;\tsize:1;\n"));
}

}  // namespace
}  // namespace rpcrdma::tracepoints
