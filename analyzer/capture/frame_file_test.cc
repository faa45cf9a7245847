#include "capture_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <rpcrdma/capture/frame_file.h>

namespace rpcrdma::capture {
namespace {

using ::testing::HasSubstr;

Frame frame(std::int64_t time_ns, std::uint32_t file, std::uint32_t interface, LinkType link,
            std::span<const std::uint8_t> data) {
  Frame f;
  f.time_ns = time_ns;
  f.file = file;
  f.interface = interface;
  f.link = link;
  f.data = data;
  f.original = static_cast<std::uint32_t>(data.size()) + 1;
  return f;
}

TEST(FrameFile, KeepsFramesOfSeveralInterfacesToBeReadFromAnyPlace) {
  const auto file = FrameFile::temporary(::testing::TempDir());
  ASSERT_TRUE(file) << file.error().message;
  const std::vector<ByteVector> data{{1}, {2, 2}, {3, 3, 3}, {4}};
  const std::vector<Frame> frames{
      frame(5, 0, 0, LinkType::kEthernet, data[0]), frame(6, 1, 0, LinkType::kUpperPdu, data[1]),
      frame(7, 1, 1, LinkType::kUpperPdu, data[2]), frame(8, 0, 0, LinkType::kEthernet, data[3])};
  std::vector<Mark> marks;
  for (const Frame& f : frames) {
    marks.push_back((*file)->mark());
    ASSERT_TRUE((*file)->write(f));
  }
  // flush() makes all frames readable through path().
  ASSERT_TRUE((*file)->flush());
  EXPECT_EQ((*file)->frames(), 4u);
  for (std::size_t from = 0; from < frames.size(); ++from) {
    const auto source = open_file_at((*file)->path(), marks[from]);
    ASSERT_TRUE(source) << source.error().message;
    for (std::size_t i = from; i < frames.size(); ++i) {
      Frame f;
      const auto more = (*source)->next(f);
      ASSERT_TRUE(more && *more) << from << " " << i << (*source)->stats().damage;
      EXPECT_EQ(f.number, i + 1);
      EXPECT_EQ(f.time_ns, frames[i].time_ns);
      EXPECT_EQ(f.link, frames[i].link);
      EXPECT_EQ(f.original, frames[i].original);
      EXPECT_EQ(ByteVector(f.data.begin(), f.data.end()), data[i]);
      EXPECT_EQ(f.interface, std::vector<std::uint32_t>({0, 1, 2, 0})[i]);
    }
  }
}

TEST(FrameFile, IsACaptureFileForOthers) {
  const std::string path = ::testing::TempDir() + "frame_file_test." + std::to_string(::getpid());
  const ByteVector data{1, 2, 3};
  {
    const auto file = FrameFile::create(path);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE((*file)->write(frame(1'000'000'007, 0, 3, LinkType::kRaw, data)));
    ASSERT_TRUE((*file)->finish());
  }
  const Walk w = walk(open_file(path));
  std::remove(path.c_str());
  ASSERT_EQ(w.frames.size(), 1u) << w.error << w.stats.damage;
  EXPECT_EQ(w.frames[0].frame.link, LinkType::kRaw);
  EXPECT_EQ(w.frames[0].data, data);
}

TEST(FrameFile, SaysWhereItCannotWrite) {
  const auto file = FrameFile::temporary("/nowhere/at/all");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("/nowhere/at/all"));
  EXPECT_FALSE(FrameFile::create("/nowhere/at/all"));
}

TEST(FrameFile, AFullDiskIsReportedAndNotFatal) {
  const auto file = FrameFile::create("/dev/full");
  ASSERT_TRUE(file) << file.error().message;
  const ByteVector data(1000);
  ASSERT_TRUE((*file)->write(frame(1, 0, 0, LinkType::kEthernet, data)));
  const auto done = (*file)->finish();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("/dev/full: No space left"));
}

}  // namespace
}  // namespace rpcrdma::capture
